/* SPDX-License-Identifier: MIT */
/* What the timer over the process saw and the events of the threads did not. */
#include <string.h>
#include <unistd.h>

#include "lib/test.h"
#include "live/sampler/sampler.h"

#define GONE INT32_MAX /* no thread has that number */

static struct sampler_fold fold;

/* A sample at @pc in the @life, which had @before samples of its own event. */
static void add(uint64_t tid, uint64_t life, uint64_t before, uint64_t rest, uint64_t pc)
{
	uint64_t header[SAMPLER_HEADER] = { tid, 1000u << 1, 1,
					    life << SAMPLER_LIFE_SHIFT | before << 1 | rest };
	struct coati_profbuf_record r = { .kind = COATI_PROFBUF_DATA,
					  .header = header,
					  .nr_header = SAMPLER_HEADER,
					  .stack = &pc,
					  .nr_stack = 1 };

	coati_sampler_fold_add(&fold, &r);
}

static void add_own(uint64_t tid, uint64_t life, uint64_t before, uint64_t pc)
{
	add(tid, life, before, 0, pc);
}

static void add_timer(uint64_t tid, uint64_t life, uint64_t before, uint64_t pc)
{
	add(tid, life, before, SAMPLER_REST, pc);
}

static uint64_t weight_at(uint64_t pc)
{
	uint64_t sum = 0;

	for (const struct sampler_stack *s = fold.first; s; s = s->next)
		if (s->words[0] == pc)
			sum += s->weight_ns;
	return sum;
}

static void begin(void)
{
	coati_sampler_fold_init(&fold);
	fold.rest.is_on = true;
}

static void end(uint64_t max_ns)
{
	coati_sampler_rest_settle(&fold, true);
	coati_sampler_rest_limit(&fold, max_ns);
}

TEST(sampler_rest_counts_no_time_twice)
{
	begin();
	add_timer(GONE, 1, 0, 0x10); /* within the first period, of which the event then tells */
	add_own(GONE, 1, 0, 0x11);
	add_own(GONE, 2, 0, 0x20); /* the same, read in the other order */
	add_timer(GONE, 2, 0, 0x21);
	add_own(GONE, 3, 0, 0x30);
	add_timer(GONE, 3, 1, 0x31); /* after the last sample of the event */
	add_timer(GONE, 4, 0, 0x40); /* of a thread that ended before its first */
	end(UINT64_MAX);
	CHECK_U64(weight_at(0x10), ==, 0);
	CHECK_U64(weight_at(0x11), ==, 1000);
	CHECK_U64(weight_at(0x20), ==, 1000);
	CHECK_U64(weight_at(0x21), ==, 0);
	CHECK_U64(weight_at(0x30), ==, 1000);
	CHECK_U64(weight_at(0x31), ==, 1000);
	CHECK_U64(weight_at(0x40), ==, 1000);
	CHECK_U64(fold.samples, ==, 5);
	CHECK_U64(fold.weight_ns, ==, 5000);
	CHECK_U64(fold.rest_ns, ==, 2000);
	CHECK_U64(fold.rest.replaced, ==, 2);
	CHECK_U64(fold.lost, ==, 0);
	coati_sampler_fold_fini(&fold);
}

/* The number of the thread is the same, the life is not. */
TEST(sampler_rest_tells_threads_with_the_same_number_apart)
{
	begin();
	add_timer(GONE, 1, 0, 0x10);
	add_own(GONE, 2, 0, 0x20);
	add_own(GONE, 2, 1, 0x20);
	end(UINT64_MAX);
	CHECK_U64(weight_at(0x10), ==, 1000);
	CHECK_U64(weight_at(0x20), ==, 2000);
	coati_sampler_fold_fini(&fold);
}

TEST(sampler_rest_of_a_thread_that_lives_waits_for_its_next_sample)
{
	uint64_t me = (uint64_t)getpid();

	begin();
	add_timer(me, 1, 0, 0x10);
	add_timer(GONE, 2, 0, 0x20);
	coati_sampler_rest_settle(&fold, false);
	CHECK_U64(fold.rest.pending, ==, 1);
	CHECK_U64(fold.rest_ns, ==, 1000);
	add_own(me, 1, 0, 0x11);
	coati_sampler_rest_settle(&fold, false);
	CHECK_U64(fold.rest.pending, ==, 0);
	end(UINT64_MAX);
	CHECK_U64(weight_at(0x10), ==, 0);
	CHECK_U64(fold.weight_ns, ==, 2000);
	coati_sampler_fold_fini(&fold);
}

TEST(sampler_rest_is_never_more_than_was_used)
{
	begin();
	add_own(GONE, 1, 0, 0x10);
	for (uint64_t life = 2; life < 5; life++)
		add_timer(GONE, life, 0, 0x20);
	add_timer(GONE, 5, 0, 0x30);
	end(2000);
	CHECK_U64(weight_at(0x10), ==, 1000);
	CHECK_U64(weight_at(0x20), ==, 1500);
	CHECK_U64(weight_at(0x30), ==, 500);
	CHECK_U64(fold.rest_ns, ==, 2000);
	CHECK_U64(fold.weight_ns, ==, 3000);
	coati_sampler_fold_fini(&fold);
}

TEST(sampler_rest_over_the_ceiling_is_counted_as_lost)
{
	begin();
	for (uint64_t life = 1; life <= (1u << 16) + 3; life++)
		add_timer(GONE, life, 0, 0x10);
	CHECK_U64(fold.lost, ==, 3);
	end(UINT64_MAX);
	CHECK_U64(fold.weight_ns, ==, (uint64_t)1000 << 16);
	coati_sampler_fold_fini(&fold);
}

TEST(sampler_fold_adds_samples_of_the_same_stack_up)
{
	uint64_t header[SAMPLER_HEADER] = { 1, 500u << 1 | SAMPLER_CUT, 1, 0 }, pc = 0x1000;
	struct coati_profbuf_record r = { .kind = COATI_PROFBUF_DATA,
					  .header = header,
					  .nr_header = SAMPLER_HEADER,
					  .stack = &pc,
					  .nr_stack = 1 };
	struct coati_profbuf_record loss = { .kind = COATI_PROFBUF_LOSS, .count = 7 };

	coati_sampler_fold_init(&fold);
	coati_sampler_fold_add(&fold, &r);
	header[1] = 300u << 1;
	coati_sampler_fold_add(&fold, &r);
	coati_sampler_fold_add(&fold, &loss);
	pc = 0x2000;
	coati_sampler_fold_add(&fold, &r);
	CHECK_U64(fold.samples, ==, 3);
	CHECK_U64(fold.stacks, ==, 2);
	CHECK_U64(fold.lost, ==, 7);
	CHECK_U64(fold.cut, ==, 1);
	CHECK_U64(fold.weight_ns, ==, 1100);
	CHECK_U64(fold.rest_ns, ==, 0);
	CHECK_U64(weight_at(0x1000), ==, 800);
	CHECK_U64(weight_at(0x2000), ==, 300);
	CHECK_U64(fold.first->count, ==, 2);
	coati_sampler_fold_rest(&fold, &r);
	CHECK_U64(fold.samples, ==, 4);
	CHECK_U64(fold.weight_ns, ==, 1100);
	CHECK_U64(fold.rest_ns, ==, 300);
	coati_sampler_fold_fini(&fold);
}
