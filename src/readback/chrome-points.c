/* SPDX-License-Identifier: MIT */
/*
 * Live events in a Chrome trace that is read back: slices must lie in each other or beside each
 * other, pairs must have two ends, and everything is counted.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/map.h"
#include "readback/chrome-points.h"

#define TABLE_MAX ((size_t)1 << 28)

/* The slices of a thread that are open at the time of the last one. */
struct nest {
	ARRAY(uint64_t) ends;
	uint64_t last;
	uint64_t nr_open, last_sample; /* slices of samples, which say where they begin and end */
};

struct chrome_points {
	struct live_counts live;
	struct map threads; /* to their nest */
	struct map pairs;   /* to the begin */
	ARRAY(struct nest) nests;
};

struct chrome_points *coati_chrome_points_new(void)
{
	struct chrome_points *p = coati_alloc(sizeof(*p));

	if (!p)
		return NULL;
	coati_map_init(&p->threads, TABLE_MAX);
	coati_map_init(&p->pairs, TABLE_MAX);
	p->nests.max = TABLE_MAX;
	return p;
}

void coati_chrome_points_free(struct chrome_points *p)
{
	for (size_t i = 0; i < p->nests.len; i++)
		ARRAY_FINI(&p->nests.v[i].ends);
	ARRAY_FINI(&p->nests);
	coati_map_fini(&p->threads);
	coati_map_fini(&p->pairs);
	coati_free(p);
}

static struct nest *find_nest(struct chrome_points *p, const struct chrome_point *e)
{
	uint64_t key = (uint64_t)(uint32_t)e->pid << 32 | (uint32_t)e->tid, at;
	struct nest *n;

	if (coati_map_get(&p->threads, key, &at))
		return &p->nests.v[at];
	n = ARRAY_ADD(&p->nests);
	if (!n || coati_map_put(&p->threads, key, p->nests.len - 1) < 0)
		return NULL;
	n->ends.max = TABLE_MAX;
	return n;
}

static int add_slice(struct chrome_points *p, const struct chrome_point *e)
{
	struct nest *n = find_nest(p, e);
	uint64_t end, *slot;

	if (!n)
		return -ENOMEM;
	if (e->time < n->last || __builtin_add_overflow(e->time, e->duration, &end))
		return -EBADMSG;
	n->last = e->time;
	while (n->ends.len && n->ends.v[n->ends.len - 1] <= e->time)
		n->ends.len--;
	if (n->ends.len && n->ends.v[n->ends.len - 1] < end)
		return -EBADMSG;
	slot = ARRAY_ADD(&n->ends);
	if (!slot)
		return -ENOMEM;
	*slot = end;
	p->live.slices++;
	p->live.slice_ns += e->duration;
	return 0;
}

static int add_end(struct chrome_points *p, const struct chrome_point *e)
{
	const uint64_t words[3] = { (uint64_t)e->pid, e->category, e->id };
	uint64_t key = coati_hash_bytes(words, sizeof(words), 3), begin;

	if (e->phase == 'b')
		return coati_map_get(&p->pairs, key, &begin)
			       ? -EBADMSG
			       : coati_map_put(&p->pairs, key, e->time);
	if (!coati_map_get(&p->pairs, key, &begin) || e->time < begin)
		return -EBADMSG;
	coati_map_del(&p->pairs, key);
	p->live.slices++;
	p->live.slice_ns += e->time - begin;
	return 0;
}

/* The begin or end of a slice of samples: in order of time, and each end has its begin. */
static int add_edge(struct chrome_points *p, const struct chrome_point *e)
{
	struct nest *n = find_nest(p, e);

	if (!n)
		return -ENOMEM;
	if (e->time < n->last_sample || (e->phase == 'E' && !n->nr_open))
		return -EBADMSG;
	n->last_sample = e->time;
	n->nr_open += e->phase == 'B' ? 1 : -UINT64_C(1);
	return 0;
}

int coati_chrome_point(struct chrome_points *p, const struct chrome_point *e)
{
	int r;

	switch (e->phase) {
	case 'X':
		return add_slice(p, e);
	case 'B':
	case 'E':
		return add_edge(p, e);
	case 'b':
	case 'e':
		r = add_end(p, e);
		return r < 0 ? r : 0;
	case 'i':
		p->live.points += e->scope == 't'; /* what the kernel lost is of no thread */
		return 0;
	case 's':
	case 't':
	case 'f':
		p->live.points++;
		return 0;
	case 'C':
		p->live.counters++;
		return 0;
	default:
		return 0;
	}
}

int coati_chrome_points_end(struct chrome_points *p, struct tally *t)
{
	for (size_t i = 0; i < p->nests.len; i++)
		if (p->nests.v[i].nr_open)
			return -EBADMSG;
	if (p->pairs.len)
		return -EBADMSG;
	t->live = p->live;
	t->has_live = true;
	return 0;
}
