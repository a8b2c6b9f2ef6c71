/* SPDX-License-Identifier: MIT */
/* Tracks of a Perfetto trace that is read back: slices nest and have ends, times do not go back,
 * values are on tracks of counters. */
#include <errno.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/map.h"
#include "format/perfetto.h"
#include "readback/perfetto-tracks.h"

#define TRACKS_MAX ((size_t)1 << 28)

struct track {
	uint64_t last;
	uint64_t depth;
	bool is_counter;
};

struct perfetto_tracks {
	struct map index;
	ARRAY(struct track) v;
	struct map cpus; /* to the thread that is switched to */
	struct map cpu_times;
	struct live_counts live;
	uint64_t open; /* slices */
};

struct perfetto_tracks *coati_perfetto_tracks_new(void)
{
	struct perfetto_tracks *t = coati_alloc(sizeof(*t));

	if (!t)
		return NULL;
	coati_map_init(&t->index, TRACKS_MAX);
	coati_map_init(&t->cpus, TRACKS_MAX);
	coati_map_init(&t->cpu_times, TRACKS_MAX);
	t->v.max = TRACKS_MAX;
	return t;
}

void coati_perfetto_tracks_free(struct perfetto_tracks *t)
{
	coati_map_fini(&t->index);
	coati_map_fini(&t->cpus);
	coati_map_fini(&t->cpu_times);
	ARRAY_FINI(&t->v);
	coati_free(t);
}

int coati_perfetto_tracks_add(struct perfetto_tracks *t, uint64_t uuid, uint64_t parent,
			      bool is_counter)
{
	struct track *track;
	uint64_t at;

	if (parent && !coati_map_get(&t->index, parent, &at))
		return -EBADMSG;
	if (coati_map_get(&t->index, uuid, &at))
		return t->v.v[at].is_counter == is_counter ? 0 : -EBADMSG;
	track = ARRAY_ADD(&t->v);
	if (!track || coati_map_put(&t->index, uuid, t->v.len - 1) < 0)
		return -ENOMEM;
	track->is_counter = is_counter;
	return 0;
}

int coati_perfetto_tracks_event(struct perfetto_tracks *t, uint64_t uuid, uint64_t type,
				uint64_t time)
{
	struct track *track;
	uint64_t at;

	if (!coati_map_get(&t->index, uuid, &at))
		return -EBADMSG;
	if (uuid == PERFETTO_TRACK_LOSSES) /* as they were defined, and not of a program */
		return 0;
	track = &t->v.v[at];
	if (track->is_counter != (type == EVENT_TYPE_COUNTER) || time < track->last)
		return -EBADMSG;
	track->last = time;
	switch (type) {
	case EVENT_TYPE_BEGIN:
		track->depth++;
		t->open++;
		t->live.slices++;
		t->live.slice_ns -= time;
		return 0;
	case EVENT_TYPE_END:
		if (!track->depth)
			return -EBADMSG;
		track->depth--;
		t->open--;
		t->live.slice_ns += time;
		return 0;
	case EVENT_TYPE_INSTANT:
		t->live.points++;
		return 0;
	case EVENT_TYPE_COUNTER:
		t->live.counters++;
		return 0;
	default:
		return -EBADMSG;
	}
}

int coati_perfetto_tracks_switch(struct perfetto_tracks *t, uint64_t cpu, int64_t from, int64_t to,
				 uint64_t time)
{
	uint64_t before;
	int r;

	if (coati_map_get(&t->cpu_times, cpu, &before) && time < before)
		return -EBADMSG;
	r = coati_map_put(&t->cpu_times, cpu, time);
	if (r < 0 || from < 0)
		return r < 0 ? r : 0;
	if (coati_map_get(&t->cpus, cpu, &before) && before != (uint64_t)from)
		return -EBADMSG;
	r = coati_map_put(&t->cpus, cpu, (uint64_t)to);
	return r < 0 ? r : 0;
}

int coati_perfetto_tracks_end(struct perfetto_tracks *t, struct tally *tally)
{
	if (t->open)
		return -EBADMSG;
	tally->live = t->live;
	tally->has_live = true;
	return 0;
}
