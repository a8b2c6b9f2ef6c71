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

/* Two events, one page fault: does the first find its own id in its own ring? Where that cannot be tried it is taken for good. */
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

/* An id of the only event that can have a twin elsewhere; 0: there is none, or there are several. */
static uint64_t only_one(const struct coati_capture *cap)
{
	const struct coati_attr *only = NULL;
	struct coati_set_entry e;
	uint64_t ret = 0, id;

	for (int n = 0; n < NR_SETS; n++)
		for (uint32_t i = 0; i < coati_set_count(cap->sets[n].set); i++) {
			const struct coati_attr *attr;

			if (coati_set_entry(cap->sets[n].set, i, &e) < 0)
				continue;
			attr = &cap->sets[n].attrs[e.event];
			if (!may_have_twin(attr) || attr == only ||
			    (n == SET_OFF_FAST && !cap->off.fast_times))
				continue;
			if (only || coati_event_id(e.handle, &id) < 0)
				return 0;
			only = attr;
			ret = id;
		}
	return ret;
}

void coati_capture_adopt(struct coati_capture *cap)
{
	const struct tally *t = &cap->tally;
	uint64_t *ids, id, unused, own;
	uint32_t nr = 0;

	cap->adopted = false;
	if (!t->strange.len || t->strange_over)
		return;
	own = only_one(cap);
	ids = own ? coati_alloc_array(t->strange.len, sizeof(*ids)) : NULL;
	if (!ids)
		return; /* they stay nobody's */
	for (size_t pos = 0; coati_map_next(&t->strange, &pos, &id, &unused);)
		ids[nr++] = id;
	cap->adopted = coati_writer_add_ids(cap->writer, own, ids, nr) == 0;
	coati_free(ids);
}

int coati_capture_check_twins(const struct coati_capture *cap, struct coati_error *err)
{
	struct place a, b;

	for (uint32_t i = 0; get(cap, i, &a); i++)
		for (uint32_t j = i + 1; may_have_twin(a.attr) && get(cap, j, &b); j++)
			if (are_twins(a.attr, b.attr) && kernel_confuses())
				return coati_fail(
					err, -EINVAL,
					"%s and %s are the same for the kernel, which would give the samples of both to one of them; record them one after the other",
					a.desc->name, b.desc->name);
	return 0;
}
