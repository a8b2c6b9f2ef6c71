/* SPDX-License-Identifier: MIT */
/* see tally.h */
#include "capture/tally.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "capture/attr.h"

#define WAKERS_MAX   65536
#define SAMPLE_LEAST (CAPTURE_TIME_AT + 8)

struct head {
	uint32_t type;
	uint16_t misc, size;
};

int coati_capture_tally_init(struct tally *t, const struct coati_attr *side, bool remember_tasks)
{
	*t = (struct tally){ 0 };
	coati_sample_format_init(side, &t->format);
	coati_images_init(&t->images);
	coati_map_init(&t->waker_index, WAKERS_MAX);
	t->wakers.max = WAKERS_MAX;
	tasks_init(&t->tasks, remember_tasks);
	t->joined = coati_alloc(TALLY_RECORD_MAX);
	return t->joined ? 0 : -ENOMEM;
}

void coati_capture_tally_fini(struct tally *t)
{
	coati_images_fini(&t->images);
	coati_map_fini(&t->waker_index);
	ARRAY_FINI(&t->wakers);
	tasks_fini(&t->tasks);
	coati_free(t->joined);
	t->joined = NULL;
}

static void decoded(struct tally *t, const struct coati_record *rec)
{
	switch (rec->type) {
	case COATI_RECORD_MMAP2:
		if (coati_images_add(&t->images, &rec->u.mmap) < 0)
			t->failed = -ENOMEM;
		break;
	case COATI_RECORD_LOST:
		t->lost += rec->u.lost.lost;
		break;
	case COATI_RECORD_LOST_SAMPLES:
		t->lost_samples += rec->u.lost_samples;
		break;
	case COATI_RECORD_FORK:
		tasks_started(&t->tasks, rec->u.task.pid, rec->u.task.tid);
		break;
	case COATI_RECORD_EXIT:
		tasks_ended(&t->tasks, rec->u.task.pid, rec->u.task.tid);
		break;
	default:
		break;
	}
}

static bool is_switch(uint32_t type)
{
	return type == COATI_RECORD_SWITCH || type == COATI_RECORD_SWITCH_CPU_WIDE;
}

/* Everything but samples: seldom, or short. */
static void other(struct tally *t, const uint8_t *bytes, const struct head *h)
{
	struct coati_raw raw = {
		.type = h->type, .misc = h->misc, .size = h->size, .body = bytes + COATI_RAW_HEADER
	};
	struct coati_record rec;

	if (h->type == COATI_RECORD_THROTTLE)
		t->throttled++;
	if (h->type == COATI_RECORD_EXIT)
		t->exits++;
	if (is_switch(h->type)) {
		t->switches += (h->misc & COATI_MISC_SWITCH_OUT) != 0;
		return;
	}
	if (h->type == COATI_RECORD_MMAP2 || h->type == COATI_RECORD_LOST ||
	    h->type == COATI_RECORD_LOST_SAMPLES ||
	    (t->tasks.on && (h->type == COATI_RECORD_FORK || h->type == COATI_RECORD_EXIT))) {
		if (coati_record_decode(&raw, &t->format, &rec) == 0)
			decoded(t, &rec);
	}
}

static bool is_of(const struct map *ids, const uint8_t *sample)
{
	uint64_t id, unused;

	memcpy(&id, sample + CAPTURE_ID_AT, sizeof(id));
	return coati_map_get(ids, id, &unused);
}

/* A waker without a name costs a name, not the recording. */
static void note_waker(struct tally *t, const uint8_t *sample)
{
	struct tally_waker *w, who;
	uint64_t unused;

	memcpy(who.ids, sample + CAPTURE_TID_AT, sizeof(who.ids));
	if (!who.ids[1] || coati_map_get(&t->waker_index, who.ids[1], &unused) ||
	    coati_map_put(&t->waker_index, who.ids[1], 1) < 0)
		return;
	w = ARRAY_ADD(&t->wakers);
	if (w)
		*w = who;
}

/* Records of one ring come in the order of time, nearly; the first and the last of a piece are
 * enough. */
static void note_time(struct tally *t, const uint8_t *sample)
{
	uint64_t time;

	memcpy(&time, sample + CAPTURE_TIME_AT, sizeof(time));
	if (!t->first_time || time < t->first_time)
		t->first_time = time;
	if (time > t->last_time)
		t->last_time = time;
}

/* Whole records from @p on; where the first begins that is not whole before @end. */
static const uint8_t *walk(struct tally *t, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *first = NULL, *last = NULL;
	uint64_t samples = 0, records = 0;
	struct head h;

	while ((size_t)(end - p) >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h)) {
			t->damaged_bytes += (uint64_t)(end - p);
			p = end;
			break;
		}
		if (h.size > (size_t)(end - p))
			break;
		records++;
		if (h.type == COATI_RECORD_SAMPLE && h.size >= SAMPLE_LEAST) {
			samples++;
			last = p;
			if (!first)
				first = p;
			if (t->when && is_of(t->when, p))
				t->when_seen = true;
			if (t->off)
				t->off_samples += is_of(t->off, p);
			if (t->wakes && is_of(t->wakes, p))
				note_waker(t, p);
			if (t->own && !is_of(t->own, p))
				t->unassigned++;
			if (t->coverage)
				coati_coverage_sample(t->coverage, p, h.size);
		} else {
			other(t, p, &h);
		}
		p += h.size;
	}
	t->records += records;
	t->samples += samples;
	if (first) {
		note_time(t, first);
		note_time(t, last);
	}
	return p;
}

void coati_capture_tally_walk(struct tally *t, struct coati_span first, struct coati_span second)
{
	const uint8_t *p = walk(t, first.bytes, first.bytes + first.size);
	size_t head = (size_t)(first.bytes + first.size - p), tail = 0;

	/* a header never wraps, so its length is there */
	if (head >= sizeof(struct head)) {
		struct head h;

		memcpy(&h, p, sizeof(h));
		tail = h.size - head;
		if (tail > second.size) {
			t->damaged_bytes += head + second.size;
			return;
		}
		memcpy(t->joined, p, head);
		memcpy(t->joined + head, second.bytes, tail);
		walk(t, t->joined, t->joined + h.size);
	}
	p = walk(t, second.bytes + tail, second.bytes + second.size);
	t->damaged_bytes += (uint64_t)(second.bytes + second.size - p);
}

uint64_t coati_capture_tally_lost(const struct tally *t, uint64_t counted)
{
	return (counted > t->lost ? counted : t->lost) + t->lost_samples;
}
