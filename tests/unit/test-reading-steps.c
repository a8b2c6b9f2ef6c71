/* SPDX-License-Identifier: MIT */
/* States of a thread over time, packed: every question has the answer of a plain list. */
#include "lib/test.h"

#include <errno.h>

#include "base/alloc.h"
#include "reading/steps.h"

#define MANY 3000

struct plain {
	uint64_t time;
	uint32_t state;
};

static uint32_t find_plain(const struct plain *v, size_t nr, uint64_t time)
{
	uint32_t state = 0;

	for (size_t i = 0; i < nr && v[i].time <= time; i++)
		state = v[i].state;
	return state;
}

/* Short and long distances, few and many states. */
static void fill(struct steps *s, struct plain *v)
{
	uint64_t time = 1000;

	for (size_t i = 0; i < MANY; i++) {
		time += 1 + test_random() % (i % 100 ? 300 : UINT64_C(1) << 40);
		v[i] = (struct plain){ time, (uint32_t)(test_random() >> test_random() % 64) };
		CHECK_INT(coati_steps_add(s, time, v[i].state), ==, 0);
	}
}

TEST(steps_of_a_thread_are_found_at_any_time)
{
	static struct plain v[MANY];
	struct steps s = { 0 };

	CHECK_INT(coati_steps_find(&s, UINT64_MAX), ==, 0);
	fill(&s, v);
	CHECK_INT(coati_steps_find(&s, 0), ==, 0);
	CHECK_INT(coati_steps_find(&s, UINT64_MAX), ==, v[MANY - 1].state);
	for (size_t i = 0; i < MANY; i++)
		for (int n = -1; n <= 1; n++) {
			uint64_t time = v[i].time + (uint64_t)n;

			CHECK_INT(coati_steps_find(&s, time), ==, find_plain(v, MANY, time));
		}
	coati_steps_fini(&s);
}

TEST(steps_before_a_time_are_forgotten_and_the_others_are_not)
{
	static struct plain v[MANY];
	struct steps s = { 0 };
	size_t used;

	fill(&s, v);
	used = s.used;
	for (size_t from = 0; from < MANY; from += 7) {
		coati_steps_trim(&s, v[from].time);
		for (size_t i = from; i < MANY; i += 1 + test_random() % 50)
			CHECK_INT(coati_steps_find(&s, v[i].time), ==, v[i].state);
	}
	CHECK(s.used < used / 10);
	CHECK_INT(coati_steps_add(&s, v[MANY - 1].time + 1, 5), ==, 0);
	CHECK_INT(coati_steps_find(&s, v[MANY - 1].time), ==, v[MANY - 1].state);
	CHECK_INT(coati_steps_find(&s, v[MANY - 1].time + 1), ==, 5);
	coati_steps_fini(&s);
}

TEST(steps_without_memory_say_so)
{
	struct steps s = { 0 };
	int r = 0;

	coati_alloc_fail_after(1);
	for (uint64_t i = 0; r == 0 && i < 1000; i++)
		r = coati_steps_add(&s, i, (uint32_t)i);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_INT(r, ==, -ENOMEM);
	coati_steps_fini(&s);
}
