/* SPDX-License-Identifier: MIT */
/* Code without symbols: one function for each image, or split into ranges that add up to it. */
#include "lib/test.h"

#include <errno.h>

#include "base/alloc.h"
#include "unit/profile-tape.h"

#define ANON	UINT64_C(0x7e0000000000) /* mapped in processes 10 and 20, 4096 bytes */
#define NOWHERE UINT64_C(0x123456)
#define TOP	UINT64_C(0xfffffffffffff000) /* no marker of a chain lies below 4095 from the end */

/* Weights in thousands, innermost frame first: */
static const struct {
	uint32_t pid;
	uint64_t weight, chain[3];
} stacks[] = {
	{ 10, 1, { ANON + 0x10, TAPE_WORK, TAPE_MAIN } },
	{ 10, 2, { ANON + 0xff, TAPE_WORK, TAPE_MAIN } },
	{ 10, 4, { ANON + 0x100, ANON + 0x20, TAPE_MAIN } },
	{ 20, 8, { ANON + 0x10, TAPE_WORK, TAPE_MAIN } },
	{ 20, 16, { NOWHERE, TAPE_WORK, TAPE_MAIN } },
	{ 20, 32, { TOP - 1, TAPE_WORK, TAPE_MAIN } },
	{ 20, 64, { TAPE_LEAF, TAPE_WORK, TAPE_MAIN } },
};
#define NR_STACKS (sizeof(stacks) / sizeof(stacks[0]))
#define WEIGHT	  127000

static struct coati_profile *write_and_read(void)
{
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	for (uint32_t pid = 10; pid <= 20; pid += 10) {
		tape_process(&t, pid, "app");
		tape_map(&t, pid, ANON, "//anon");
	}
	for (size_t i = 0; i < NR_STACKS; i++)
		tape_put(&t,
			 (struct tape_sample){ .pid = stacks[i].pid,
					       .period = 1000 * stacks[i].weight,
					       TAPE_STACK(stacks[i].chain[0], stacks[i].chain[1],
							  stacks[i].chain[2]) });
	tape_close(&t);
	return tape_read(NULL, (const char *const[]){ "a", NULL });
}

static struct coati_view *split(struct coati_profile *p, uint64_t bytes)
{
	struct coati_view_opts o = { .size = sizeof(o), .nameless_bytes = bytes };
	struct coati_view *v = NULL;

	CHECK_OK(coati_view_new(p, &o, &v, NULL));
	return v;
}

static void check_row(struct coati_view *v, const char *name, uint64_t self, uint64_t total)
{
	struct coati_row row = tape_row(v, COATI_BY_FUNCTION, name);

	if (row.self != self || row.total != total)
		test_fail_at(__FILE__, __LINE__, "%s: self %llu, total %llu", name,
			     (unsigned long long)row.self, (unsigned long long)row.total);
}

TEST(profile_shows_code_without_symbols_as_one_function_of_its_image)
{
	struct coati_profile *p = write_and_read();
	struct coati_view *v = split(p, 0);

	check_row(v, "[anon pid 10]", 7000, 7000);
	check_row(v, "[anon pid 20]", 8000, 8000);
	check_row(v, "[unknown]", 48000, 48000);
	check_row(v, "leaf", 64000, 64000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_splits_code_without_symbols_by_address)
{
	struct coati_profile *p = write_and_read();
	struct coati_view *v = split(p, 0x100);
	struct coati_row row;

	/* 0xff is in the first range, 0x100 in the second; processes stay apart */
	check_row(v, "[anon pid 10]@0x7e0000000000-0x7e0000000100", 3000, 7000);
	check_row(v, "[anon pid 10]@0x7e0000000100-0x7e0000000200", 4000, 4000);
	check_row(v, "[anon pid 20]@0x7e0000000000-0x7e0000000100", 8000, 8000);
	check_row(v, "[unknown]@0x123400-0x123500", 16000, 16000);
	check_row(v, "[unknown]@0xffffffffffffef00-0xfffffffffffff000", 32000, 32000);
	check_row(v, "[anon pid 10]", 0, 0);
	/* what has a symbol stays as it is */
	check_row(v, "leaf", 64000, 64000);
	check_row(v, "work", 0, WEIGHT - 4000);
	row = tape_row(v, COATI_BY_IMAGE, "[anon pid 10]");
	CHECK_U64(row.self, ==, 7000);
	row = tape_row(v, COATI_BY_FUNCTION, "[anon pid 10]@0x7e0000000100-0x7e0000000200");
	CHECK_U64(row.address, ==, ANON + 0x100);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* The weight of all rows, and of all nodes of the tree: self adds up to the whole however code is
 * split. */
static void check_sums(struct coati_profile *p, uint64_t bytes)
{
	struct coati_rows_query q = { .size = sizeof(q) };
	struct coati_tree_query tq = { .size = sizeof(tq) };
	struct coati_view *v = split(p, bytes);
	const struct coati_tree_node *nodes;
	const struct coati_row *rows;
	uint64_t in_rows = 0, in_tree = 0;
	size_t nr;

	CHECK_OK(coati_view_rows(v, &q, &rows, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		in_rows += rows[i].self;
	CHECK_OK(coati_view_tree(v, &tq, &nodes, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		in_tree += nodes[i].self;
	CHECK_U64(in_rows, ==, WEIGHT);
	CHECK_U64(in_tree, ==, WEIGHT);
	CHECK_U64(nodes[0].total, ==, WEIGHT);
	coati_view_free(&v);
}

TEST(profile_parts_of_code_without_symbols_add_up_to_the_whole)
{
	static const uint64_t sizes[] = { 0,	     1, 3, 0x10, 0x1000, 100000, UINT64_C(1) << 40,
					  UINT64_MAX };
	struct coati_profile *p = write_and_read();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_sums(p, sizes[i]);
	coati_profile_free(&p);
}

TEST(profile_ranges_end_with_the_address_space)
{
	struct coati_profile *p = write_and_read();
	struct coati_view *v = split(p, UINT64_C(1) << 40);

	check_row(v, "[unknown]@0xffffff0000000000-0xffffffffffffffff", 32000, 32000);
	check_row(v, "[unknown]@0x0-0x10000000000", 16000, 16000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_view_of_ranges_bears_every_failing_allocation)
{
	struct coati_profile *p = write_and_read();
	struct coati_view_opts o = { .size = sizeof(o), .nameless_bytes = 0x100 };
	struct coati_view *v = split(p, 0); /* names are known from now on */
	int r = -ENOMEM;

	coati_view_free(&v);
	for (unsigned int n = 0; r < 0; n++) {
		coati_alloc_fail_after(n);
		r = coati_view_new(p, &o, &v, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
	}
	check_row(v, "[anon pid 10]@0x7e0000000100-0x7e0000000200", 4000, 4000);
	coati_view_free(&v);
	coati_profile_free(&p);
}
