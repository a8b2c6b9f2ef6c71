/* SPDX-License-Identifier: MIT */
/* The door to the heap. */
#include "lib/test.h"

#include "base/alloc.h"

TEST(alloc_gives_zeroed_memory_of_any_size)
{
	for (size_t size = 0; size < 300; size++) {
		unsigned char *p = coati_alloc(size);

		CHECK(p);
		for (size_t i = 0; i < size; i++)
			CHECK_INT(p[i], ==, 0);
		memset(p, 0xaa, size);
		coati_free(p);
	}
}

TEST(alloc_refuses_an_array_whose_size_wraps)
{
	CHECK(!coati_alloc_array(SIZE_MAX / 2, 3));
	CHECK(!coati_realloc_array(NULL, SIZE_MAX / 2, 3));
	CHECK(!coati_strndup("", SIZE_MAX));
}

TEST(alloc_keeps_the_old_block_when_growing_fails)
{
	char *p = coati_strdup("kept");

	coati_alloc_fail_after(0);
	CHECK(!coati_realloc_array(p, 100, 100));
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_STR(p, "kept");
	coati_free(p);
}

TEST(alloc_fails_after_the_number_asked_for_and_recovers)
{
	void *p, *q;

	coati_alloc_fail_after(1);
	p = coati_alloc(1);
	q = coati_alloc(1);
	CHECK(p);
	CHECK(!q);
	coati_alloc_fail_after(UINT64_MAX);
	q = coati_alloc(1);
	CHECK(q);
	coati_free(p);
	coati_free(q);
}

TEST(alloc_counts_every_attempt)
{
	uint64_t before = coati_alloc_count();

	coati_free(coati_alloc(1));
	coati_free(coati_strdup("x"));
	coati_free(coati_realloc_array(NULL, 1, 1));
	CHECK_U64(coati_alloc_count() - before, ==, 3);
}

TEST(alloc_copies_a_part_of_a_string_and_terminates_it)
{
	char *p = coati_strndup("abcdef", 3);

	CHECK_STR(p, "abc");
	coati_free(p);
	coati_free(NULL);
}
