/* SPDX-License-Identifier: MIT */
/* Bins of time in a list of their own: the same weight in the same bins as entries would have. */
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#include <coati/profile.h>

#include "reading/hooks.h"
#include "reading/profile.h"
#include "recording/writer.h"
#include "unit/profile-tape.h"

#define START UINT64_C(2000000000)

static struct coati_profile *read_series(uint32_t flags, uint32_t max_bins, uint64_t max_bytes)
{
	struct coati_profile_opts o = { .size = sizeof(o),
					.flags = flags,
					.bin_ns = 1000,
					.max_bins = max_bins,
					.max_bytes = max_bytes };

	return tape_read(&o, (const char *const[]){ "a", NULL });
}

static void put_at(struct tape *t, uint64_t time, bool leaf)
{
	if (leaf)
		tape_put(t, (struct tape_sample){
				    .pid = 10, .time = time, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	else
		tape_put(t, (struct tape_sample){
				    .pid = 10, .time = time, TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
}

/* Two stacks, now and then the one and now and then the other. */
static void write_two(uint64_t nr)
{
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t i = 0; i < nr; i++)
		put_at(&t, START + 300 * i, i * i % 7 < 3);
	tape_close(&t);
}

/* What a profile has of a stack in a bin. */
struct cell {
	uint64_t count, weight;
};

static struct cell cell_of_entries(const struct coati_profile *p, uint32_t stack, uint32_t bin)
{
	struct cell sum = { 0 };

	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];

		if (e->stack != stack || e->bin != bin)
			continue;
		sum.count += e->count;
		sum.weight += e->weight;
	}
	return sum;
}

static struct cell cell_of_series(const struct coati_profile *p, uint32_t stack, uint32_t bin)
{
	struct cell sum = { 0 };

	for (size_t i = 0; i < p->series.len; i++) {
		const struct series_item *item = &p->series.v[i];

		if (p->entries.v[item->entry].stack != stack || item->bin != bin)
			continue;
		sum.count += item->count;
		sum.weight += item->weight;
	}
	return sum;
}

static void check_same(uint32_t max_bins, uint32_t bins)
{
	struct coati_profile *by_entry = read_series(0, max_bins, 0);
	struct coati_profile *in_series = read_series(COATI_PROFILE_SERIES, max_bins, 0);

	CHECK_U64(by_entry->bin_ns, ==, in_series->bin_ns);
	CHECK_INT(in_series->entries.len, ==, 2);
	CHECK_INT(in_series->series.len, ==, by_entry->entries.len);
	for (uint32_t stack = 0; stack < 2; stack++) {
		uint64_t count = 0;

		for (uint32_t bin = 0; bin < bins; bin++) {
			struct cell a = cell_of_entries(by_entry, stack, bin);
			struct cell b = cell_of_series(in_series, stack, bin);

			CHECK_U64(a.count, ==, b.count);
			CHECK_U64(a.weight, ==, b.weight);
			count += b.count;
		}
		CHECK_U64(in_series->entries.v[stack].count, ==, count);
		CHECK_INT(in_series->entries.v[stack].bin, ==, 0);
	}
	coati_profile_free(&by_entry);
	coati_profile_free(&in_series);
}

TEST(series_has_the_weight_of_each_bin_that_entries_would_have)
{
	write_two(100);
	/* 30 us: 30 bins, and 8 of 4 us each where no more than 8 are allowed */
	check_same(0, 30);
	check_same(8, 8);
}

TEST(series_keeps_a_late_sample_in_its_own_bin)
{
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	put_at(&t, START, true);
	put_at(&t, START + 5000, true);
	put_at(&t, START + 9000, true);
	CHECK_OK(coati_writer_round(t.writer));
	CHECK_OK(coati_writer_round(t.writer));
	put_at(&t, START + 1000, true);
	tape_close(&t);
	p = read_series(COATI_PROFILE_SERIES, 0, 0);
	CHECK_INT(p->entries.len, ==, 1);
	CHECK_U64(cell_of_series(p, 0, 0).count, ==, 1);
	CHECK_U64(cell_of_series(p, 0, 1).count, ==, 1);
	CHECK_U64(cell_of_series(p, 0, 5).count, ==, 1);
	CHECK_U64(cell_of_series(p, 0, 9).count, ==, 1);
	/* the last bin stays the last */
	CHECK_INT(p->tails.v[0].bin, ==, 9);
	coati_profile_free(&p);
}

TEST(series_is_part_of_what_a_profile_may_take)
{
	struct coati_profile *p;
	uint64_t sum = 0;

	write_two(4000);
	p = read_series(COATI_PROFILE_SERIES, 0, 20000);
	CHECK_U64(p->quality.refused, >, 0);
	CHECK_U64(p->quality.refused + p->quality.samples, ==, 4000);
	for (size_t i = 0; i < p->entries.len; i++)
		sum += p->entries.v[i].count;
	CHECK_U64(sum, ==, p->quality.samples);
	for (size_t i = 0; i < p->series.len; i++)
		sum -= p->series.v[i].count;
	CHECK_U64(sum, ==, 0);
	coati_profile_free(&p);
}

TEST(series_leaves_views_without_a_condition_about_time)
{
	struct coati_filter f = { .size = sizeof(f), .time = "0-1" };
	struct coati_view_opts o = { .size = sizeof(o), .filter = &f };
	struct coati_error err = { 0 };
	struct coati_view *v = NULL;
	struct coati_profile *p;

	write_two(10);
	p = read_series(COATI_PROFILE_SERIES, 0, 0);
	CHECK_ERR(coati_view_new(p, &o, &v, &err), -EINVAL);
	CHECK(strstr(err.text, "time"));
	coati_profile_free(&p);
}
