/* SPDX-License-Identifier: MIT */
/* see tally.h */
#include "readback/tally.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define SUMS_MAX  ((size_t)1 << 28)
#define BYTES_MAX (UINT64_C(8) << 30)

static void init_table(struct tally_table *t)
{
	t->sums.max = SUMS_MAX;
	coati_map_init_strings(&t->index, SUMS_MAX);
}

static void fini_table(struct tally_table *t)
{
	ARRAY_FINI(&t->sums);
	coati_map_fini(&t->index);
}

void coati_tally_init(struct tally *t)
{
	*t = (struct tally){ .key = STRBUF_INIT(BYTES_MAX) };
	init_table(&t->threads);
	init_table(&t->functions);
	coati_arena_init(&t->arena, BYTES_MAX);
}

void coati_tally_fini(struct tally *t)
{
	fini_table(&t->threads);
	fini_table(&t->functions);
	coati_arena_fini(&t->arena);
	coati_strbuf_fini(&t->key);
}

static void add(uint64_t *sum, uint64_t weight)
{
	if (__builtin_add_overflow(*sum, weight, sum))
		*sum = UINT64_MAX;
}

void coati_tally_add(struct tally *t, uint32_t thread, uint32_t function, uint64_t weight)
{
	if (thread >= t->threads.sums.len || function >= t->functions.sums.len) {
		if (!t->failed)
			t->failed = -EINVAL;
		return;
	}
	add(&t->weight, weight);
	add(&t->threads.sums.v[thread].weight, weight);
	add(&t->functions.sums.v[function].weight, weight);
}

static uint32_t number_of(struct tally *t, struct tally_table *table, const char *name)
{
	struct tally_sum *sum;
	uint64_t number;
	char *copy;

	if (coati_map_get_str(&table->index, name, &number))
		return (uint32_t)number;
	copy = coati_arena_strdup(&t->arena, name);
	sum = copy ? ARRAY_ADD(&table->sums) : NULL;
	number = table->sums.len - 1;
	if (sum)
		sum->name = copy;
	if (!sum || coati_map_put_str(&table->index, copy, number) < 0) {
		t->failed = t->failed ? t->failed : -ENOMEM;
		return UINT32_MAX;
	}
	return (uint32_t)number;
}

uint32_t coati_tally_thread(struct tally *t, int64_t pid, int64_t tid, const char *name)
{
	coati_strbuf_clear(&t->key);
	coati_strbuf_printf(&t->key, "%lld/%lld %s", (long long)pid, (long long)tid, name);
	if (t->key.failed) {
		t->failed = t->key.failed;
		return UINT32_MAX;
	}
	return number_of(t, &t->threads, t->key.text);
}

uint32_t coati_tally_function(struct tally *t, const char *name)
{
	return number_of(t, &t->functions, name);
}

/* What both have must be the same; what one has alone must be nothing. */
static int compare_table(const char *what, const struct tally_table *wanted,
			 const struct tally_table *found, struct coati_error *err)
{
	uint64_t i;

	for (size_t n = 0; n < wanted->sums.len; n++) {
		const struct tally_sum *w = &wanted->sums.v[n];
		uint64_t has =
			coati_map_get_str(&found->index, w->name, &i) ? found->sums.v[i].weight : 0;

		if (has != w->weight)
			return coati_fail(err, -EBADMSG,
					  "%s %.200s: the profile has %llu, the file %llu", what,
					  w->name, (unsigned long long)w->weight,
					  (unsigned long long)has);
	}
	for (size_t n = 0; n < found->sums.len; n++) {
		const struct tally_sum *f = &found->sums.v[n];

		if (f->weight && !coati_map_get_str(&wanted->index, f->name, &i))
			return coati_fail(err, -EBADMSG,
					  "%s %.200s: the file has %llu, the profile none", what,
					  f->name, (unsigned long long)f->weight);
	}
	return 0;
}

static int compare_live(const struct live_counts *wanted, const struct live_counts *found,
			struct coati_error *err)
{
	const struct {
		const char *what;
		uint64_t wanted, found;
	} rows[] = { { "slices", wanted->slices, found->slices },
		     { "nanoseconds of slices", wanted->slice_ns, found->slice_ns },
		     { "points in time", wanted->points, found->points },
		     { "values of counters", wanted->counters, found->counters } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].wanted != rows[i].found)
			return coati_fail(err, -EBADMSG,
					  "%s: the live events have %llu, the file %llu",
					  rows[i].what, (unsigned long long)rows[i].wanted,
					  (unsigned long long)rows[i].found);
	return 0;
}

int coati_tally_compare(const struct tally *wanted, const struct tally *found,
			struct coati_error *err)
{
	int r = wanted->failed ? wanted->failed : found->failed;

	if (r < 0)
		return coati_fail(err, r, "adding up: %m");
	if (wanted->weight != found->weight)
		return coati_fail(err, -EBADMSG, "weight: the profile has %llu, the file %llu",
				  (unsigned long long)wanted->weight,
				  (unsigned long long)found->weight);
	if (found->has_samples && wanted->samples != found->samples)
		return coati_fail(err, -EBADMSG, "samples: the profile has %llu, the file %llu",
				  (unsigned long long)wanted->samples,
				  (unsigned long long)found->samples);
	r = wanted->has_live ? compare_live(&wanted->live, &found->live, err) : 0;
	if (r < 0)
		return r;
	r = compare_table("thread", &wanted->threads, &found->threads, err);
	return r < 0 ? r : compare_table("function", &wanted->functions, &found->functions, err);
}
