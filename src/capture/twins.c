/* SPDX-License-Identifier: MIT */
/* see twins.h */
#include "capture/twins.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/attr.h"
#include "event/list.h"

#define PROBE_RING_BYTES 4096
#define RECORD_LEAST	 8  /* the header */
#define TRAILER		 32 /* of records that are no samples: thread, time, CPU, id */
#define GROWING_BODY	 24 /* of a BPF_EVENT; in a KSYMBOL the name begins there */
/* of a sample: as far as it is looked at */
#define CAPTURE_HEAD (CAPTURE_TIME_AT + sizeof(uint64_t))

/* ---- the kernel ---- */

struct probe {
	struct coati_event *ev[2];
	struct coati_ring *ring[2];
	uint64_t id[2];
};

static int open_probe(struct probe *p)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = COATI_SW_PAGE_FAULTS,
				   .sample_period = 1,
				   .sample_type = COATI_SAMPLE_IDENTIFIER,
				   .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL |
					    COATI_ATTR_EXCLUDE_HV };
	struct coati_ring_opts o = { .size = sizeof(o), .data_bytes = PROBE_RING_BYTES };
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		r = coati_event_open(&attr, &COATI_SELF, NULL, &p->ev[i], NULL);
		if (r == 0)
			r = coati_event_id(p->ev[i], &p->id[i]);
		if (r == 0)
			r = coati_ring_open(coati_event_fd(p->ev[i]), &o, &p->ring[i], NULL);
	}
	for (int i = 0; i < 2 && r == 0; i++)
		r = coati_event_enable(p->ev[i]);
	return r;
}

static void close_probe(struct probe *p)
{
	for (int i = 0; i < 2; i++) {
		coati_ring_close(&p->ring[i]);
		coati_event_close(&p->ev[i]);
	}
}

static bool fault_once(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	*(volatile char *)p = 1;
	munmap(p, page);
	return true;
}

/* Two events, one page fault: does the first find its own id in its own ring? Where that cannot be
 * tried it is taken for good. */
static bool kernel_confuses(void)
{
	struct probe p = { 0 };
	struct coati_ring_item item;
	bool confuses = false;
	uint64_t id;

	if (open_probe(&p) == 0 && fault_once())
		while (coati_ring_next(p.ring[0], &item) > 0) {
			if (item.kind != COATI_ITEM_RECORD ||
			    item.size < CAPTURE_ID_AT + sizeof(id))
				continue;
			memcpy(&id, item.bytes + CAPTURE_ID_AT, sizeof(id));
			confuses = confuses || id == p.id[1];
		}
	close_probe(&p);
	return confuses;
}

/* ---- events ---- */

/* Clocks have a timer each; dummy events and those of BPF programs do not happen by themselves. */
static bool may_have_twin(const struct coati_attr *a)
{
	return a->type == COATI_TYPE_SOFTWARE && a->config >= COATI_SW_PAGE_FAULTS &&
	       a->config <= COATI_SW_EMULATION_FAULTS;
}

static bool are_twins(const struct coati_attr *a, const struct coati_attr *b)
{
	bool user = !((a->flags | b->flags) & COATI_ATTR_EXCLUDE_USER);
	bool kernel = !((a->flags | b->flags) & COATI_ATTR_EXCLUDE_KERNEL);

	return may_have_twin(a) && may_have_twin(b) && a->config == b->config && (user || kernel);
}

/* Those that sample at the same time; the two sets of switches take turns. */
static const int at_once[] = { SET_EVENTS, SET_WHEN, SET_OFF };

struct place {
	const struct coati_event_desc *desc;
	const struct coati_attr *attr;
};

/* Event @i of all that sample at once; false: there is none. */
static bool get(const struct coati_capture *cap, uint32_t i, struct place *ret)
{
	for (size_t n = 0; n < sizeof(at_once) / sizeof(*at_once); n++) {
		const struct capture_set_state *st = &cap->sets[at_once[n]];
		uint32_t nr = st->list ? coati_event_list_count(st->list) : 0;

		if (i < nr) {
			*ret = (struct place){ coati_event_list_get(st->list, i), &st->attrs[i] };
			return true;
		}
		i -= nr;
	}
	return false;
}

bool coati_capture_may_have_twins(const struct coati_capture *cap)
{
	struct place p;

	for (uint32_t i = 0; get(cap, i, &p); i++)
		if (may_have_twin(p.attr))
			return true;
	return false;
}

int coati_capture_check_twins(const struct coati_capture *cap, struct coati_error *err)
{
	struct place a, b;

	for (uint32_t i = 0; get(cap, i, &a); i++)
		for (uint32_t j = i + 1; may_have_twin(a.attr) && get(cap, j, &b); j++)
			if (are_twins(a.attr, b.attr) && kernel_confuses())
				return coati_fail(
					err, -EINVAL,
					"%s and %s are the same for the kernel, which would give "
					"the samples of both to one of them; record them one "
					"after the other",
					a.desc->name, b.desc->name);
	return 0;
}

/* ---- lanes ---- */

/* Events of @which that can have a twin; in @lanes each gets the next lane from @first on. */
static uint32_t count_twins(const struct capture_set_state *st, uint8_t *lanes, uint32_t first)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; st->list && i < coati_event_list_count(st->list); i++)
		if (may_have_twin(&st->attrs[i])) {
			if (lanes && first + nr < TWINS_LANES)
				lanes[i] = (uint8_t)(first + nr);
			nr++;
		}
	return nr;
}

int coati_twins_plan(struct coati_capture *cap, struct coati_error *err)
{
	struct capture_set_state *st = &cap->sets[SET_EVENTS];
	uint32_t nr = count_twins(st, NULL, 0), others = 0;

	for (size_t n = 1; n < sizeof(at_once) / sizeof(*at_once); n++)
		others += count_twins(&cap->sets[at_once[n]], NULL, 0);
	if (!nr || nr + others < 2 || !kernel_confuses())
		return 0;
	cap->twins.lanes = coati_alloc_array(coati_event_list_count(st->list), 1);
	if (!cap->twins.lanes)
		return coati_fail(err, -ENOMEM, "out of memory for rings");
	nr += others != 0; /* which have lane 0 for themselves */
	count_twins(st, cap->twins.lanes, others != 0);
	cap->twins.nr_lanes = nr < TWINS_LANES ? nr : TWINS_LANES;
	return 0;
}

void coati_twins_note(struct coati_capture *cap, int which, uint32_t event, uint64_t id)
{
	const struct coati_attr *attr = &cap->sets[which].attrs[event];
	struct twins *t = &cap->twins;
	uint8_t lane = which == SET_EVENTS && t->lanes ? t->lanes[event] : 0;

	if (!may_have_twin(attr))
		return;
	t->has_switches |= which == SET_OFF || which == SET_OFF_FAST;
	if (which == SET_OFF_FAST) {
		t->fast_id = id;
		return;
	}
	if (t->attrs[lane] && t->attrs[lane] != attr)
		t->several[lane] = true;
	t->attrs[lane] = attr;
	t->ids[lane] = id;
}

/* What a ring holds, or a copy of it. Records and rings are multiples of 8 bytes: no word wraps. */
struct look {
	struct coati_span first, second;
};

static uint64_t word_at(const struct look *l, size_t at)
{
	uint64_t v;

	memcpy(&v,
	       at < l->first.size ? l->first.bytes + at : l->second.bytes + (at - l->first.size),
	       sizeof(v));
	return v;
}

/* A record as far as it is looked at. */
struct seen {
	uint32_t type;
	uint16_t size;
	uint64_t id;	/* of a sample; 0: it is none */
	uint64_t time;	/* 0: it has none */
	size_t trailer; /* where it begins, when that is not at the end; else 0 */
};

/* Does this word have a byte that is 0? */
static bool ends_text(uint64_t word)
{
	return (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
}

/*
 * Kernels up to 6.18 at least make KSYMBOL and BPF_EVENT larger for each event that they write them
 * for, of whatever recorder: behind the trailer is what the ring held before. Where the trailer of
 * such a record is, by the id in it, which must be one of ours; 0: at the end, as it should be.
 */
static size_t misplaced_trailer(const struct coati_capture *cap, const struct look *l, size_t at,
				const struct seen *s)
{
	size_t end = GROWING_BODY;
	uint64_t unused;

	if (s->type == COATI_RECORD_KSYMBOL) {
		while (end + TRAILER < s->size && !ends_text(word_at(l, at + end)))
			end += 8;
		end += 8;
	} else if (s->type != COATI_RECORD_BPF_EVENT) {
		return 0;
	}
	if (end + TRAILER >= s->size)
		return 0;
	return coati_map_get(&cap->own_ids, word_at(l, at + end + TRAILER - 8), &unused) ? end : 0;
}

/* False: there is no whole record at @at. */
static bool see(const struct coati_capture *cap, const struct look *l, size_t at, struct seen *ret)
{
	size_t left = l->first.size + l->second.size - at, trailer;
	uint64_t head;

	if (left < RECORD_LEAST)
		return false;
	head = word_at(l, at);
	*ret = (struct seen){ .type = (uint32_t)head, .size = (uint16_t)(head >> 48) };
	if (ret->size < RECORD_LEAST || ret->size % 8 || ret->size > left)
		return false;
	if (ret->type == COATI_RECORD_SAMPLE && ret->size >= CAPTURE_HEAD) {
		ret->id = word_at(l, at + CAPTURE_ID_AT);
		ret->time = word_at(l, at + CAPTURE_TIME_AT);
	} else if (ret->type != COATI_RECORD_SAMPLE && ret->size >= RECORD_LEAST + TRAILER) {
		ret->trailer = misplaced_trailer(cap, l, at, ret);
		trailer = ret->trailer ? ret->trailer : (size_t)ret->size - TRAILER;
		ret->time = word_at(l, at + trailer + 8);
	}
	return true;
}

/* Is it a sample of one of the events of context switches in lane 0? *ret_set: of which; NR_SETS:
 * it has the id of another recorder's. */
static bool is_switch(const struct coati_capture *cap, const struct seen *s, uint64_t *ret_set)
{
	uint64_t unused;

	*ret_set = NR_SETS;
	if (!s->id || !cap->twins.has_switches)
		return false;
	if (!coati_map_get(&cap->own_ids, s->id, &unused))
		return true;
	return coati_map_get(&cap->off_ids, s->id, ret_set) &&
	       (*ret_set == SET_OFF || *ret_set == SET_OFF_FAST);
}

/* The id that a sample of a switch should have. */
static uint64_t switch_id(const struct coati_capture *cap, const struct seen *s, uint64_t set)
{
	if (!cap->twins.fast_id || coati_off_cpu_copies_at(&cap->off, s->time))
		return set == SET_OFF ? s->id : cap->twins.ids[0];
	return set == SET_OFF_FAST ? s->id : cap->twins.fast_id;
}

/* The id that a sample from a ring of @lane should have; its own when it is right, or not known. */
static uint64_t right_id(const struct coati_capture *cap, uint8_t lane, const struct seen *s)
{
	const struct twins *t = &cap->twins;
	uint64_t set, unused;

	if (!s->id || !t->ids[lane] || t->several[lane])
		return s->id;
	if (!lane && is_switch(cap, s, &set))
		return switch_id(cap, s, set);
	return coati_map_get(&cap->own_ids, s->id, &unused) ? s->id : t->ids[lane];
}

/* The time of a switch's sample, between those of the records around it, which no other event has a
 * part in. */
static uint64_t right_time(const struct coati_capture *cap, const struct look *l, size_t next_at,
			   const struct seen *s, uint64_t before)
{
	struct seen next;
	uint64_t set;

	if (s->time < before)
		return before;
	if (see(cap, l, next_at, &next) && !is_switch(cap, &next, &set) && next.time >= before &&
	    next.time < s->time)
		return next.time;
	return s->time;
}

/* The trailer to the end of the record, where everybody looks for it; zeros are no text. */
static void move_trailer(uint8_t *record, const struct seen *s)
{
	uint8_t *end = record + s->size - TRAILER;

	memmove(end, record + s->trailer, TRAILER);
	memset(record + s->trailer, 0, (size_t)(end - record) - s->trailer);
}

/* Go through all records of a ring; what should be different is put into @to, which holds the same
 * bytes. NULL: is there any? */
static bool put_right(struct coati_capture *cap, struct twins_ring ring, const struct look *l,
		      uint8_t *to)
{
	uint64_t none = 0, *last = ring.last_time ? ring.last_time : &none, before = *last;
	bool any = false;
	struct seen s;

	for (size_t at = 0; see(cap, l, at, &s) && (to || !any); at += s.size) {
		uint64_t id, time = s.time, set;

		if (!ring.lane && ring.last_time && is_switch(cap, &s, &set))
			s.time = right_time(cap, l, at + s.size, &s, before);
		if (s.time > before)
			before = s.time;
		id = right_id(cap, ring.lane, &s);
		if (id == s.id && time == s.time && !s.trailer)
			continue;
		any = true;
		if (to && s.trailer)
			move_trailer(to + at, &s);
		if (to && id != s.id)
			memcpy(to + at + CAPTURE_ID_AT, &id, sizeof(id));
		if (to && time != s.time)
			memcpy(to + at + CAPTURE_TIME_AT, &s.time, sizeof(s.time));
	}
	if (to || !any)
		*last = before;
	return any;
}

const uint8_t *coati_twins_claim(struct coati_capture *cap, uint8_t lane, const uint8_t *record)
{
	struct look l = { .first = { record, RECORD_LEAST } };
	struct seen s;
	uint64_t id;

	if (!cap->twins.ids[lane])
		return record;
	l.first.size = word_at(&l, 0) >> 48;
	if (!see(cap, &l, 0, &s))
		return record;
	id = right_id(cap, lane, &s);
	if (id == s.id)
		return record;
	memcpy(cap->twins.record, record, s.size);
	memcpy(cap->twins.record + CAPTURE_ID_AT, &id, sizeof(id));
	return cap->twins.record;
}

static int make_copy(struct twins *t, const struct look *l, size_t all)
{
	if (all > t->room) {
		coati_free(t->copy);
		t->room = 0;
		t->copy = coati_alloc(all);
		if (!t->copy)
			return -ENOMEM;
		t->room = all;
	}
	memcpy(t->copy, l->first.bytes, l->first.size);
	if (l->second.size)
		memcpy(t->copy + l->first.size, l->second.bytes, l->second.size);
	return 0;
}

int coati_twins_claim_spans(struct coati_capture *cap, struct twins_ring ring,
			    struct coati_span *first, struct coati_span *second)
{
	struct look l = { *first, *second }, copy;
	size_t all = first->size + second->size;

	if (!put_right(cap, ring, &l, NULL))
		return 0;
	if (make_copy(&cap->twins, &l, all) < 0)
		return -ENOMEM;
	*first = (struct coati_span){ cap->twins.copy, all };
	*second = (struct coati_span){ cap->twins.copy, 0 };
	copy = (struct look){ *first, *second };
	put_right(cap, ring, &copy, cap->twins.copy);
	return 0;
}

struct twins_ring coati_twins_ring(struct coati_capture *cap, uint32_t i)
{
	struct twins *t = &cap->twins;

	while (t->last_times.len <= i && ARRAY_ADD(&t->last_times))
		;
	return (struct twins_ring){ .lane = cap->rings.lanes.v[i],
				    .last_time =
					    i < t->last_times.len ? &t->last_times.v[i] : NULL };
}
