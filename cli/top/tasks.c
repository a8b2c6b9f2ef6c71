/* SPDX-License-Identifier: MIT */
/* Latencies of task types, out of the buckets of the model: see rows.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buckets.h"
#include "base/cleanup.h"
#include "cli/top/rows.h"

#define TYPES_MAX 65536
#define BUCKETS	  2048

struct sums {
	uint64_t v[BUCKETS];
};

static uint64_t percentile(const struct sums *s, uint64_t count, unsigned int percent)
{
	uint64_t want = (count * percent + 99) / 100, seen = 0;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		seen += s->v[i];
		if (seen >= want && seen)
			return bucket_end(i);
	}
	return 0;
}

static uint64_t add_type(const struct top_model *m, uint64_t from, uint64_t to, uint32_t type,
			 struct sums *s)
{
	uint64_t count = 0;

	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < m->seconds.len; i++) {
		const struct top_second *at = &m->seconds.v[i];

		for (size_t k = 0; at->number >= from && at->number <= to && k < at->latencies.len;
		     k++) {
			const struct top_latency *l = &at->latencies.v[k];

			if (l->type != type || l->bucket >= BUCKETS)
				continue;
			s->v[l->bucket] += l->count;
			count += l->count;
		}
	}
	return count;
}

static int by_count(const void *x, const void *y)
{
	const struct top_task *a = x, *b = y;

	return a->count < b->count ? 1 : a->count > b->count ? -1 : strcmp(a->type, b->type);
}

int coati_top_tasks(const struct top_model *m, uint64_t from, uint64_t to, top_tasks *ret)
{
	CLEANUP(freep) struct sums *s = coati_alloc(sizeof(*s));

	ret->max = TYPES_MAX;
	ret->len = 0;
	for (uint32_t i = 0; s && i < m->types.len; i++) {
		uint64_t count = add_type(m, from, to, i, s);
		struct top_task *t = count ? ARRAY_ADD(ret) : NULL;

		if (!count)
			continue;
		if (!t)
			return -ENOMEM;
		*t = (struct top_task){ .type = m->types.v[i],
					.count = count,
					.p50 = percentile(s, count, 50),
					.p90 = percentile(s, count, 90),
					.p99 = percentile(s, count, 99),
					.max = percentile(s, count, 100) };
	}
	if (ret->len)
		qsort(ret->v, ret->len, sizeof(*ret->v), by_count);
	return s ? 0 : -ENOMEM;
}
