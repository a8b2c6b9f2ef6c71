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
	if (which == SET_OFF_FAST) {
		t->fast = true;
		return;
	}
	if (t->attrs[lane] && t->attrs[lane] != attr)
		t->several[lane] = true;
	t->attrs[lane] = attr;
	t->ids[lane] = id;
}

/* Whose samples those with unknown ids in the rings of @lane are; 0: that cannot be known. */
static uint64_t claimant(const struct coati_capture *cap, uint8_t lane)
{
	const struct twins *t = &cap->twins;

	if (t->several[lane] || (lane == 0 && t->fast && cap->off.fast_times))
		return 0;
	return t->ids[lane];
}

/* Is it a sample that @own must claim? @record is whole. */
static bool is_strange(const struct coati_capture *cap, const uint8_t *record)
{
	uint64_t id, unused;
	uint32_t type;
	uint16_t size;

	memcpy(&type, record, sizeof(type));
	memcpy(&size, record + 6, sizeof(size));
	if (type != COATI_RECORD_SAMPLE || size < CAPTURE_ID_AT + sizeof(id))
		return false;
	memcpy(&id, record + CAPTURE_ID_AT, sizeof(id));
	return !coati_map_get(&cap->own_ids, id, &unused);
}

const uint8_t *coati_twins_claim(struct coati_capture *cap, uint8_t lane, const uint8_t *record)
{
	uint64_t own = claimant(cap, lane);
	uint16_t size;

	if (!own || !is_strange(cap, record))
		return record;
	memcpy(&size, record + 6, sizeof(size));
	memcpy(cap->twins.record, record, size);
	memcpy(cap->twins.record + CAPTURE_ID_AT, &own, sizeof(own));
	return cap->twins.record;
}

/* Put the ids right in all whole records from @p on. */
static void claim_all(const struct coati_capture *cap, uint64_t own, uint8_t *p, size_t left)
{
	uint16_t size;

	for (; left >= CAPTURE_ID_AT; p += size, left -= size) {
		memcpy(&size, p + 6, sizeof(size));
		if (size < CAPTURE_ID_AT || size > left)
			return;
		if (is_strange(cap, p))
			memcpy(p + CAPTURE_ID_AT, &own, sizeof(own));
	}
}

/* Records and rings are multiples of 8 bytes: neither a header nor an id wraps. */
static bool any_strange(const struct coati_capture *cap, struct coati_span first,
			struct coati_span second)
{
	size_t all = first.size + second.size;
	uint8_t head[CAPTURE_ID_AT + sizeof(uint64_t)];
	uint16_t size;

	for (size_t at = 0; all - at >= sizeof(head); at += size) {
		for (size_t i = 0; i < sizeof(head); i += 8)
			memcpy(head + i,
			       at + i < first.size ? first.bytes + at + i
						   : second.bytes + (at + i - first.size),
			       8);
		memcpy(&size, head + 6, sizeof(size));
		if (size < CAPTURE_ID_AT || size > all - at)
			return false;
		if (is_strange(cap, head))
			return true;
	}
	return false;
}

int coati_twins_claim_spans(struct coati_capture *cap, uint8_t lane, struct coati_span *first,
			    struct coati_span *second)
{
	uint64_t own = claimant(cap, lane);
	size_t all = first->size + second->size;
	struct twins *t = &cap->twins;

	if (!own || !any_strange(cap, *first, *second))
		return 0;
	if (all > t->room) {
		coati_free(t->copy);
		t->room = 0;
		t->copy = coati_alloc(all);
		if (!t->copy)
			return -ENOMEM;
		t->room = all;
	}
	memcpy(t->copy, first->bytes, first->size);
	if (second->size)
		memcpy(t->copy + first->size, second->bytes, second->size);
	claim_all(cap, own, t->copy, all);
	*first = (struct coati_span){ t->copy, all };
	*second = (struct coati_span){ t->copy, 0 };
	return 0;
}
