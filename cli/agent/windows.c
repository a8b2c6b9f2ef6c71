/* SPDX-License-Identifier: MIT */
/* Closing a window: it is built, completed with what the machine says, and given to the sinks. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "agent/machine.h"
#include "base/clock.h"
#include "capture/session.h"
#include "cli/agent/session.h"
#include "cli/talk.h"

static void describe(struct agent_session *s, struct agent_window *w)
{
	struct agent_quality *q = &w->quality;

	w->sequence = ++s->sequence;
	w->start_ns = s->closing_start_ns;
	w->end_ns = s->closing_ns;
	w->wall_start_ns = (uint64_t)((int64_t)w->start_ns + s->wall_offset_ns);
	w->wall_end_ns = (uint64_t)((int64_t)w->end_ns + s->wall_offset_ns);
	w->agent = s->agent;
	w->host = s->host;
	w->host_labels = s->labels;
	w->nr_host_labels = s->nr_labels;
	q->rate_hz = s->budget.open_hz;
	q->max_frames = s->budget.open_frames;
	q->nr_cpus = s->nr_cpus;
	q->own_cpu_ns = s->budget.own_cpu_ns;
	q->own_kernel_ns = s->budget.own_kernel_ns;
	q->own_memory_bytes = coati_machine_own_memory();
	q->clock_stepped = s->stepped;
	q->is_cut = s->is_first || s->is_last || s->stepped;
}

static void give(struct agent_session *s, const struct agent_window *w)
{
	for (uint32_t i = 0; i < s->sinks.nr; i++) {
		struct agent_sink *sink = &s->sinks.v[i];
		int r = sink->window ? sink->window(sink->ctx, w) : 0;
		const char *trouble = r < 0 && sink->trouble ? sink->trouble(sink->ctx) : NULL;

		if (r < 0)
			coati_note("window %llu is lost for %s: %s",
				   (unsigned long long)w->sequence, sink->name,
				   trouble ? trouble : strerror(-r));
	}
}

void coati_agent_window_close(struct agent_session *s)
{
	struct agent_feed *feeds[2];
	uint32_t nr = 0;
	int r;

	for (int i = 1; i >= 0; i--)
		if (s->has_feed[i])
			feeds[nr++] = &s->feeds[i];
	r = coati_agent_build(&s->build, feeds, nr, &s->live, s->closing_ns);
	if (r < 0)
		coati_note("out of memory: some samples of a window are left out");
	describe(s, &s->build.window);
	coati_agent_services_measure(s);
	give(s, &s->build.window);
	coati_agent_live_trim(&s->live, s->closing_ns);
	coati_agent_memory_trim(s);
	s->windows++;
	s->stepped = s->is_first = false;
	s->closing_ns = 0;
}
