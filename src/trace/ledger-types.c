/* SPDX-License-Identifier: MIT */
/* Tasks and regions of one name together: how long they take, and what of. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

/* The duration of one of a type. */
struct one {
	uint64_t ns;
	uint32_t type;
};

struct ones {
	ARRAY(struct one) list;
};

static int add(struct coati_timeline *t, struct ones *ones, uint32_t type, uint32_t flags,
	       const struct coati_ledger *ledger)
{
	struct task_type *k = &t->types.v[type];
	struct one *one;

	if (flags & (COATI_TIMELINE_OPEN_BEGIN | COATI_TIMELINE_OPEN_END)) {
		k->nr_open++;
		k->nr_before += (flags & COATI_TIMELINE_OPEN_BEGIN) != 0;
		return 0;
	}
	one = ARRAY_ADD(&ones->list);
	if (!one)
		return -ENOMEM;
	*one = (struct one){ ledger->duration, type };
	k->nr++;
	k->sum += ledger->duration;
	coati_ledger_sum(&k->ledger, ledger);
	return 0;
}

static int add_tasks(struct coati_timeline *t, struct ones *ones)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->tasks.len; i++) {
		struct coati_ledger ledger;

		r = coati_ledger_task(t, i, &ledger);
		if (r == 0)
			r = add(t, ones, t->tasks.v[i].type, t->tasks.v[i].flags, &ledger);
	}
	return r;
}

static int add_regions(struct coati_timeline *t, struct ones *ones, const struct thread *th)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < th->regions.len; i++) {
		const struct region *g = &th->regions.v[i];
		struct coati_ledger ledger = { 0 };
		uint64_t type = 0;

		coati_ledger_range(th, g->begin, g->end, &ledger);
		if (coati_map_get_str(&t->region_types, g->name, &type))
			r = add(t, ones, (uint32_t)type, g->flags, &ledger);
	}
	return r;
}

static int by_type(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The smallest that so many of a hundred do not exceed. */
static uint64_t percentile(const struct one *ones, size_t nr, unsigned int percent)
{
	size_t rank = (nr * percent + 99) / 100;

	return ones[rank ? rank - 1 : 0].ns;
}

static void set_percentiles(struct coati_timeline *t, const struct ones *ones)
{
	const struct one *v = ones->list.v;

	for (size_t i = 0, next; i < ones->list.len; i = next) {
		struct task_type *k = &t->types.v[v[i].type];

		next = i + k->nr;
		k->p50 = percentile(&v[i], k->nr, 50);
		k->p90 = percentile(&v[i], k->nr, 90);
		k->p99 = percentile(&v[i], k->nr, 99);
		k->max = v[next - 1].ns;
	}
}

int coati_timeline_end_types(struct coati_timeline *t)
{
	struct ones ones = { .list.max = SIZE_MAX / sizeof(struct one) };
	int r = add_tasks(t, &ones);

	for (size_t i = 0; r == 0 && i < t->threads.len; i++)
		r = add_regions(t, &ones, &t->threads.v[i]);
	if (r == 0 && ones.list.len)
		qsort(ones.list.v, ones.list.len, sizeof(*ones.list.v), by_type);
	if (r == 0)
		set_percentiles(t, &ones);
	ARRAY_FINI(&ones.list);
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
