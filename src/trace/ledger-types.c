/* SPDX-License-Identifier: MIT */
/* Tasks and regions of one name together: how long they take, and what of. */
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/rank.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

/* How long those of one type took. */
struct durations {
	ARRAY(uint64_t) list;
};

static int add(struct coati_timeline *t, struct durations *of_types, uint32_t type, uint32_t flags,
	       const struct coati_ledger *ledger)
{
	struct task_type *k = &t->types.v[type];
	uint64_t *duration;

	if (flags & (COATI_TIMELINE_OPEN_BEGIN | COATI_TIMELINE_OPEN_END)) {
		k->nr_open++;
		k->nr_before += (flags & COATI_TIMELINE_OPEN_BEGIN) != 0;
		return 0;
	}
	duration = ARRAY_ADD(&of_types[type].list);
	if (!duration)
		return -ENOMEM;
	*duration = ledger->duration;
	k->nr++;
	k->sum += ledger->duration;
	coati_ledger_sum(&k->ledger, ledger);
	return 0;
}

static int add_tasks(struct coati_timeline *t, struct durations *of_types)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->tasks.len; i++) {
		struct coati_ledger ledger;

		r = coati_ledger_task(t, i, &ledger);
		if (r == 0)
			r = add(t, of_types, t->tasks.v[i].type, t->tasks.v[i].flags, &ledger);
	}
	return r;
}

static int add_regions(struct coati_timeline *t, struct durations *of_types,
		       const struct thread *th)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < th->regions.len; i++) {
		const struct region *g = &th->regions.v[i];
		struct coati_ledger ledger = { 0 };
		uint64_t type = 0;

		coati_ledger_range(th, g->begin, g->end, &ledger);
		if (coati_map_get_str(&t->region_types, g->name, &type))
			r = add(t, of_types, (uint32_t)type, g->flags, &ledger);
	}
	return r;
}

/* The smallest that so many of a hundred do not exceed. */
static uint64_t percentile(struct durations *d, unsigned int percent)
{
	size_t rank = (d->list.len * percent + 99) / 100;

	return coati_rank(d->list.v, d->list.len, rank ? rank - 1 : 0);
}

static void set_percentiles(struct task_type *k, struct durations *d)
{
	if (!d->list.len)
		return;
	k->p50 = percentile(d, 50);
	k->p90 = percentile(d, 90);
	k->p99 = percentile(d, 99);
	k->max = percentile(d, 100);
}

int coati_timeline_end_types(struct coati_timeline *t)
{
	size_t nr = t->types.len;
	CLEANUP(freep) struct durations *of_types = coati_alloc_array(nr + 1, sizeof(*of_types));
	int r = of_types ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < nr; i++)
		of_types[i].list.max = SIZE_MAX / sizeof(uint64_t);
	if (r == 0)
		r = add_tasks(t, of_types);
	for (size_t i = 0; r == 0 && i < t->threads.len; i++)
		r = add_regions(t, of_types, &t->threads.v[i]);
	for (size_t i = 0; of_types && i < nr; i++) {
		if (r == 0)
			set_percentiles(&t->types.v[i], &of_types[i]);
		ARRAY_FINI(&of_types[i].list);
	}
	return r;
}

uint32_t coati_timeline_type_count(const struct coati_timeline *t)
{
	return (uint32_t)t->types.len;
}

int coati_timeline_type(const struct coati_timeline *t, uint32_t i, struct coati_timeline_type *ret)
{
	const struct task_type *k;

	if (i >= t->types.len)
		return -ENOENT;
	k = &t->types.v[i];
	*ret = (struct coati_timeline_type){ .name = k->name,
					     .is_region = k->is_region,
					     .nr = k->nr,
					     .nr_open = k->nr_open,
					     .nr_before = k->nr_before,
					     .p50 = k->p50,
					     .p90 = k->p90,
					     .p99 = k->p99,
					     .max = k->max,
					     .sum = k->sum,
					     .ledger = k->ledger };
	return 0;
}

uint32_t coati_timeline_find_type(const struct coati_timeline *t, const char *name)
{
	uint64_t at;

	if (coati_map_get_str(&t->task_types, name, &at) ||
	    coati_map_get_str(&t->region_types, name, &at))
		return (uint32_t)at;
	return COATI_TIMELINE_NONE;
}
