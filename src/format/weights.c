/* SPDX-License-Identifier: MIT */
/* see weights.h */
#include "format/weights.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/walk.h"
#include "reading/parts.h"

static bool is_clock(const struct coati_profile_event *e)
{
	return !strcmp(e->unit, "ns");
}

/* What one sample stands for. */
static uint64_t period_of(const struct coati_profile_event *e)
{
	if (!(e->attr.flags & COATI_ATTR_FREQ))
		return e->attr.sample_period;
	return is_clock(e) && e->attr.sample_period ? NSEC_PER_SEC / e->attr.sample_period : 0;
}

/* Does it tell what runs, rather than what waits? */
static bool is_cpu_time(const char *name)
{
	return !strncmp(name, "cpu-clock", 9) || !strncmp(name, "task-clock", 10) ||
	       !strcmp(name, COATI_LIVE_CPU);
}

int coati_weights_init(struct weights *w, const struct format_input *in)
{
	uint32_t nr_events = coati_profile_event_count(in->profile);
	struct coati_view_entry entry;
	uint64_t pos = 0;

	*w = (struct weights){ .counts = !strcmp(in->info.unit, "samples") };
	w->v = coati_alloc_array((size_t)nr_events + 1, sizeof(*w->v));
	w->of_event = coati_alloc_array((size_t)nr_events + 1, sizeof(*w->of_event));
	if (!w->v || !w->of_event)
		return -ENOMEM;
	while (coati_view_next(in->view, &pos, &entry))
		w->of_event[entry.entry->event] = 1;
	for (uint32_t i = 0; i < nr_events; i++) {
		const struct coati_profile_event *e = coati_profile_event(in->profile, i);
		bool has = w->of_event[i];

		w->of_event[i] = w->nr;
		if (has)
			w->v[w->nr++] = (struct weight){
				.type = e->name,
				.unit = is_clock(e) ? "nanoseconds" : "count",
				.period = period_of(e),
				.event = i,
			};
	}
	if (w->nr == 1 && is_cpu_time(w->v[0].type))
		w->v[0].type = "cpu";
	return 0;
}

void coati_weights_fini(struct weights *w)
{
	coati_free(w->v);
	coati_free(w->of_event);
}
