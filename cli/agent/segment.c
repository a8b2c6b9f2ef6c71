/* SPDX-License-Identifier: MIT */
/* The capture and the segments that it writes: see session.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/pace.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/session.h"
#include "cli/agent/session.h"
#include "cli/record/pack.h"
#include "cli/record/signals.h"
#include "cli/talk.h"
#include "record/batch.h"
#include "recording/writer.h"

#define FACTS_VERSION 1

/* ---- what a segment says of itself ---- */

static int put_facts(struct coati_capture *cap, const struct strbuf *s)
{
	struct coati_batch b = { .kind = COATI_BATCH_META,
				 .version = FACTS_VERSION,
				 .pid = (uint32_t)getpid(),
				 .tid = (uint32_t)gettid(),
				 .time_ns = 0, /* in front of all samples */
				 .payload = (const uint8_t *)s->text,
				 .payload_size = (uint32_t)s->len };

	return s->failed ? s->failed : s->len ? coati_capture_batch(cap, &b) : 0;
}

/* Labels of the machine and rules for services, so that readers use the same names. */
static int write_facts(struct agent_session *s)
{
	struct strbuf text = STRBUF_INIT(COATI_LIVE_BATCH_MAX - 1024);
	int r;

	coati_strbuf_printf(&text, "agent=%s\nhost=%s\nrate_hz=%.3f\n", s->agent, s->host,
			    s->budget.rate_hz);
	coati_strbuf_printf(&text, "clock_ns=%llu\nwall_ns=%llu\n", (unsigned long long)now_ns(),
			    (unsigned long long)clock_ns(CLOCK_REALTIME));
	for (uint32_t i = 0; i < s->nr_labels; i++)
		coati_strbuf_printf(&text, "label.%s=%s\n", s->labels[i].key, s->labels[i].value);
	for (size_t i = 0; i < s->rules.v.len; i++)
		coati_strbuf_printf(&text, "rule=%s\n", s->rules.v.v[i].text);
	r = put_facts(s->cap, &text);
	coati_strbuf_fini(&text);
	return r;
}

/* ---- the capture ---- */

/* All records are in the segment: read the rest of it, and pack the names of what occurred. */
static int before_end(void *ctx, struct coati_writer *w)
{
	struct agent_session *s = ctx;
	int r = s->has_feed[0] ? coati_agent_feed_end(&s->feeds[0]) : 0;

	if (r == 0 && s->has_feed[0] && s->folder.name[0])
		r = coati_record_pack_profile(s->feeds[0].profile, w, s->args->lines);
	/* names can be looked up later: a segment without them is worth keeping */
	return r == -ENOSPC || r == -EFBIG || r == -EDQUOT ? r : 0;
}

static int open_list(struct agent_session *s)
{
	const char *event = s->args->event ? s->args->event : "cpu-clock";
	int r = coati_event_list_new(NULL, &s->list, &s->err);

	return r < 0 ? r : coati_event_list_add(s->list, event, &s->err);
}

/* Clocks count ns; the kernel reports the period that a clock was opened with, so that it does not
 * change while the capture is open. */
int coati_agent_capture_open(struct agent_session *s)
{
	uint64_t hour = pace_hour(clock_ns(CLOCK_REALTIME));
	const struct agent_args *a = s->args;
	struct coati_capture_opts o = {
		.size = sizeof(o),
		.flags = COATI_CAPTURE_USER_OK | COATI_CAPTURE_LIVE | COATI_CAPTURE_HOLD |
			 COATI_CAPTURE_CGROUPS | COATI_CAPTURE_PARTS | COATI_CAPTURE_NO_IDLE |
			 COATI_CAPTURE_FEW_TABLES | (a->off_cpu ? COATI_CAPTURE_OFF_CPU : 0),
		.cpus = a->cpus,
		.freq_hz = (uint64_t)(s->budget.rate_hz + 0.5),
		.period = a->event ? 0 : coati_pace_period(s->budget.rate_hz, hour),
		.stacks = (enum coati_stacks)a->stacks,
		.max_stack = s->budget.max_frames,
	};
	int r = s->list ? 0 : open_list(s);

	if (r == 0)
		r = coati_capture_open(s->list, &o, &s->cap, &s->err);
	if (r < 0)
		return r;
	coati_capture_before_end(s->cap, before_end, s);
	coati_record_signals_wake(s->cap);
	coati_agent_memory_trim(s);
	s->capture_ns = now_ns();
	s->capture_hour = hour;
	s->budget.open_hz = s->budget.rate_hz;
	s->budget.open_frames = s->budget.max_frames;
	return 0;
}

/* ---- segments ---- */

static int open_feed(struct agent_session *s, int fd)
{
	const struct agent_feed_opts o = { .live = &s->live,
					   .images = coati_capture_images(s->cap),
					   .begin_ns = now_ns(),
					   .max_bytes = s->args->memory / 4 };
	int r = coati_agent_feed_open(&s->feeds[0], fd, &o, &s->err);

	s->has_feed[0] = true;
	return r;
}

/* Into the recording that was begun: what it says of itself; @fd: to read it. */
static int begin_segment(struct agent_session *s, int fd)
{
	int r = write_facts(s);

	s->segment_ns = now_ns();
	if (r == 0)
		return open_feed(s, fd);
	close(fd);
	/* without room for that it is none; the next one finds the capture free */
	coati_capture_finish(s->cap, NULL);
	return coati_fail(&s->err, r, "a segment: %m");
}

int coati_agent_segment_begin(struct agent_session *s)
{
	struct coati_writer *w = NULL;
	int fd = -1, r;

	r = coati_folder_next(&s->folder, clock_ns(CLOCK_REALTIME), &w, &fd, &s->err);
	if (r == 0)
		r = coati_capture_begin(s->cap, &w, &s->err);
	if (r == 0)
		return begin_segment(s, fd);
	if (fd >= 0)
		close(fd);
	return r;
}

int coati_agent_segment_end(struct agent_session *s)
{
	struct coati_error err = { 0 };
	int r = coati_capture_finish(s->cap, &err);

	if (s->folder.name[0] && r == 0)
		s->folder.stats.windows = s->windows;
	coati_folder_ended(&s->folder, r);
	if (r < 0)
		coati_note("%s", s->folder.trouble[0] ? s->folder.trouble : err.text);
	/* the one before waits for the labels of its last window */
	if (s->has_feed[1])
		coati_agent_feed_close(&s->feeds[1]);
	s->feeds[1] = s->feeds[0];
	s->has_feed[1] = s->has_feed[0];
	s->feeds[0] = (struct agent_feed){ 0 };
	s->has_feed[0] = false;
	return r;
}

/* CPUs came or went, or memory is to be given back: everything anew. Nothing refers to the old
 * capture any more. */
int coati_agent_restart(struct agent_session *s)
{
	coati_record_signals_wake(NULL);
	for (int i = 0; i < 2; i++)
		if (s->has_feed[i]) {
			coati_agent_feed_close(&s->feeds[i]);
			s->has_feed[i] = false;
		}
	coati_agent_build_clear(&s->build);
	coati_capture_close(&s->cap);
	s->restarts++;
	s->budget.wants_restart = false;
	return coati_agent_capture_open(s);
}
