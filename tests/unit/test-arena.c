/* SPDX-License-Identifier: MIT */
/* Memory that is freed whole. */
#include "lib/test.h"

#include "base/alloc.h"
#include "base/arena.h"

TEST(arena_memory_is_zeroed_aligned_and_never_shared)
{
	struct arena a;
	unsigned char *blocks[400];

	coati_arena_init(&a, 1 << 20);
	for (size_t i = 0; i < 400; i++) {
		blocks[i] = coati_arena_alloc(&a, i);
		CHECK(blocks[i]);
		CHECK_U64((uintptr_t)blocks[i] % 16, ==, 0);
		for (size_t k = 0; k < i; k++)
			CHECK_INT(blocks[i][k], ==, 0);
		memset(blocks[i], (int)(i & 0xff), i);
	}
	for (size_t i = 0; i < 400; i++)
		for (size_t k = 0; k < i; k++)
			CHECK_INT(blocks[i][k], ==, i & 0xff);
	coati_arena_fini(&a);
}

TEST(arena_gives_different_addresses_for_nothing)
{
	struct arena a;

	coati_arena_init(&a, 1000);
	CHECK(coati_arena_alloc(&a, 0) != coati_arena_alloc(&a, 0));
	coati_arena_fini(&a);
}

TEST(arena_takes_an_object_larger_than_a_block)
{
	struct arena a;
	char *small, *large, *next;

	coati_arena_init(&a, 1 << 20);
	small = coati_arena_alloc(&a, 16);
	large = coati_arena_alloc(&a, 500000);
	CHECK(small && large);
	memset(large, 1, 500000);
	next = coati_arena_alloc(&a, 16);
	/* the room behind the small one is still used */
	CHECK(next == small + 16);
	CHECK_INT(*next, ==, 0);
	coati_arena_fini(&a);
}

TEST(arena_stops_at_its_ceiling_and_not_before)
{
	struct arena a;

	coati_arena_init(&a, 160);
	for (int i = 0; i < 10; i++)
		CHECK(coati_arena_alloc(&a, 9));
	CHECK(!coati_arena_alloc(&a, 0));
	CHECK(!coati_arena_strdup(&a, ""));
	CHECK(!coati_arena_printf(&a, "%s", ""));
	CHECK_U64(a.used_bytes, ==, 160);
	coati_arena_fini(&a);
	CHECK(coati_arena_alloc(&a, 160));
	coati_arena_fini(&a);
}

TEST(arena_refuses_sizes_that_wrap)
{
	struct arena a;

	coati_arena_init(&a, SIZE_MAX);
	for (size_t k = 0; k < 64; k++)
		CHECK(!coati_arena_alloc(&a, SIZE_MAX - k));
	CHECK(!coati_arena_strndup(&a, "", SIZE_MAX));
	coati_arena_fini(&a);
}

TEST(arena_copies_and_prints_text)
{
	struct arena a;

	coati_arena_init(&a, 10000);
	CHECK_STR(coati_arena_strndup(&a, "abcdef", 3), "abc");
	CHECK_STR(coati_arena_strndup(&a, NULL, 0), "");
	CHECK_STR(coati_arena_strdup(&a, "whole"), "whole");
	CHECK_STR(coati_arena_printf(&a, "%s/%d", "a", 7), "a/7");
	CHECK_U64(strlen(coati_arena_printf(&a, "%*s", 5000, "")), ==, 5000);
	coati_arena_fini(&a);
}

TEST(arena_survives_each_failing_allocation)
{
	for (uint64_t n = 0; n < 8; n++) {
		struct arena a;
		size_t count = 0;

		coati_arena_init(&a, 1 << 20);
		coati_alloc_fail_after(n);
		while (coati_arena_alloc(&a, 100))
			count++;
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_U64(a.used_bytes, ==, count * 112);
		CHECK_U64(count > 0, ==, n > 0);
		CHECK(coati_arena_alloc(&a, 100));
		coati_arena_fini(&a);
	}
}
