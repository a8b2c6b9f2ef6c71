/* SPDX-License-Identifier: MIT */
/* Results that begin with their size: callers that know fewer fields than we do, and more. */
#include <errno.h>

#include "base/sized.h"
#include "lib/test.h"

struct small {
	uint64_t size, a;
};
struct full {
	uint64_t size, a, b;
};
struct large {
	uint64_t size, a, b, c;
};

static const struct full answer = { .size = 99, .a = 1, .b = 2 };

TEST(sized_fill_writes_no_more_than_the_caller_has_room_for)
{
	struct full r = { .size = sizeof(struct small), .b = 77 };

	CHECK_OK(SIZED_FILL(&r, &answer));
	CHECK_U64(r.size, ==, sizeof(struct small));
	CHECK_U64(r.a, ==, 1);
	CHECK_U64(r.b, ==, 77);
}

TEST(sized_fill_sets_to_zero_what_we_do_not_know)
{
	struct large r = { .size = sizeof(r), .b = 77, .c = 78 };

	CHECK_OK(sized_fill(&r, &answer, sizeof(answer)));
	CHECK_U64(r.a, ==, 1);
	CHECK_U64(r.b, ==, 2);
	CHECK_U64(r.c, ==, 0);
	CHECK_U64(r.size, ==, sizeof(r));
}

TEST(sized_fill_refuses_a_size_that_was_forgotten)
{
	struct full r = { .size = 0, .a = 5 };

	CHECK_INT(SIZED_FILL(&r, &answer), ==, -EINVAL);
	r.size = SIZED_MAX + 1;
	CHECK_INT(SIZED_FILL(&r, &answer), ==, -EINVAL);
	CHECK_U64(r.a, ==, 5);
	CHECK_INT(sized_fill(NULL, &answer, sizeof(answer)), ==, -EINVAL);
}
