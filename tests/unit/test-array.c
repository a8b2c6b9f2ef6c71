/* SPDX-License-Identifier: MIT */
/* Growing arrays. */
#include "lib/test.h"

#include "base/alloc.h"
#include "base/array.h"

struct item {
	uint64_t number;
	char text[5];
};

TEST(array_keeps_its_elements_while_it_grows)
{
	ARRAY(struct item) items = ARRAY_INIT(100000);

	for (size_t i = 0; i < 1000; i++) {
		struct item *e = ARRAY_ADD(&items);

		CHECK(e == &items.v[i]);
		CHECK_U64(e->number, ==, 0);
		CHECK_INT(e->text[4], ==, 0);
		memset(e, 0xff, sizeof(*e));
		e->number = i;
	}
	CHECK_U64(items.len, ==, 1000);
	for (size_t i = 0; i < items.len; i++)
		CHECK_U64(items.v[i].number, ==, i);
	ARRAY_FINI(&items);
	CHECK(!items.v && !items.len && !items.cap);
}

TEST(array_holds_exactly_its_ceiling)
{
	for (size_t max = 0; max < 70; max++) {
		ARRAY(uint8_t) bytes = ARRAY_INIT(max);

		for (size_t i = 0; i < max; i++)
			CHECK(ARRAY_ADD(&bytes));
		CHECK(!ARRAY_ADD(&bytes));
		CHECK_U64(bytes.len, ==, max);
		CHECK_U64(bytes.cap, <=, max);
		ARRAY_FINI(&bytes);
	}
}

TEST(array_can_be_used_again_after_fini)
{
	ARRAY(int) numbers = ARRAY_INIT(4);

	CHECK(ARRAY_ADD(&numbers));
	ARRAY_FINI(&numbers);
	ARRAY_FINI(&numbers);
	CHECK(ARRAY_ADD(&numbers));
	ARRAY_FINI(&numbers);
}

TEST(array_survives_each_failing_allocation)
{
	for (uint64_t n = 0; n < 6; n++) {
		ARRAY(uint64_t) numbers = ARRAY_INIT(100000);
		uint64_t *e;

		coati_alloc_fail_after(n);
		while ((e = ARRAY_ADD(&numbers)))
			*e = numbers.len;
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_U64(numbers.len, ==, n ? 4u << n : 0);
		for (size_t i = 0; i < numbers.len; i++)
			CHECK_U64(numbers.v[i], ==, i + 1);
		ARRAY_FINI(&numbers);
	}
}
