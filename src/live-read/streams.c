/* SPDX-License-Identifier: MIT */
/* The streams of a process: one for each thread and slot. They are made when something comes for
 * them, and freed when their thread is gone. */
#include <errno.h>

#include "base/alloc.h"
#include "live-read/reader-parts.h"

#define REGIONS_MAX 4096u
#define QUEUE_MAX   (1u << 22)
#define SWEEP_AT    4096u /* streams of a process before those that have ended are looked for */

void coati_trace_stream_free(struct stream *s)
{
	ARRAY_FINI(&s->queue);
	ARRAY_FINI(&s->regions);
	coati_trace_ahead_free(s);
	coati_free(s);
}

int coati_trace_stream(struct coati_live_reader *t, struct process *p, uint64_t key,
		       struct stream **ret)
{
	struct stream *s;
	uint64_t v;

	if (coati_map_get(&p->streams, key, &v)) {
		*ret = (struct stream *)(uintptr_t)v;
		return 0;
	}
	if (t->nr_streams >= t->max_streams)
		return -E2BIG;
	s = coati_alloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->process = p;
	s->tid = (uint32_t)(key >> 16);
	s->slot = (uint16_t)key;
	s->queue.max = QUEUE_MAX;
	s->regions.max = REGIONS_MAX;
	if (coati_map_put(&p->streams, key, (uint64_t)(uintptr_t)s) < 0) {
		coati_trace_stream_free(s);
		return -ENOMEM;
	}
	t->nr_streams++;
	*ret = s;
	return 0;
}

static bool is_gone(const struct process *p, const struct stream *s)
{
	return s->at == s->queue.len && !s->in_heap && !s->regions.len && !s->deeper &&
	       (p->over || (p->newest > s->last_generation && p->newest - s->last_generation >= 2));
}

void coati_trace_sweep(struct coati_live_reader *t, struct process *p)
{
	uint64_t keys[256], key, value;
	size_t nr;

	if (!p->over && p->streams.len <= (p->sweep_at ? p->sweep_at : SWEEP_AT))
		return;
	do {
		nr = 0;
		for (size_t pos = 0; nr < 256 && coati_map_next(&p->streams, &pos, &key, &value);)
			if (is_gone(p, (struct stream *)(uintptr_t)value))
				keys[nr++] = key;
		for (size_t i = 0; i < nr; i++) {
			coati_map_get(&p->streams, keys[i], &value);
			coati_map_del(&p->streams, keys[i]);
			coati_trace_stream_free((struct stream *)(uintptr_t)value);
		}
		t->nr_streams -= nr;
	} while (nr == 256);
	/* looking at all of them takes no longer than making them did */
	p->sweep_at = 2 * p->streams.len > SWEEP_AT ? 2 * p->streams.len : SWEEP_AT;
}
