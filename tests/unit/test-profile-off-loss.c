/* SPDX-License-Identifier: MIT */
/* Between which times records of a file are missing, as the time off the CPUs needs it. */
#include "lib/test.h"

#include "base/alloc.h"
#include "reading/off-cpu.h"

struct walk {
	struct off_reading o;
	struct off_walk w;
};

static struct walk *walk_new(void)
{
	struct walk *k = coati_alloc(sizeof(*k));

	CHECK(k);
	k->o.windows.max = 100;
	return k;
}

static void walk_free(struct walk *k)
{
	ARRAY_FINI(&k->o.windows);
	coati_free(k);
}

static int look(struct walk *k, uint32_t type, uint32_t cpu, uint64_t time, uint64_t lost)
{
	struct coati_record rec = {
		.type = type,
		.id = { .present = COATI_SAMPLE_CPU | COATI_SAMPLE_TIME, .cpu = cpu, .time = time }
	};

	if (type == COATI_RECORD_LOST)
		rec.u.lost.lost = lost;
	else if (type == COATI_RECORD_LOST_SAMPLES)
		rec.u.lost_samples = lost;
	return coati_off_loss_look(&k->o, &k->w, &rec);
}

static void check_window(const struct walk *k, size_t i, uint64_t from, uint64_t to)
{
	CHECK_U64(k->o.windows.len, >, i);
	CHECK_U64(k->o.windows.v[i].from, ==, from);
	CHECK_U64(k->o.windows.v[i].to, ==, to);
}

TEST(off_loss_is_since_the_last_record_of_its_cpu)
{
	struct walk *k = walk_new();

	CHECK_INT(look(k, COATI_RECORD_SWITCH, 0, 100, 0), ==, 0);
	CHECK_INT(look(k, COATI_RECORD_SWITCH, 1, 200, 0), ==, 0);
	CHECK_INT(look(k, COATI_RECORD_SWITCH, 0, 90, 0), ==, 0); /* out of order */
	CHECK_INT(look(k, COATI_RECORD_LOST, 0, 150, 5), ==, 0);
	CHECK_U64(k->o.windows.len, ==, 1);
	check_window(k, 0, 100, 150);
	CHECK_INT(look(k, COATI_RECORD_LOST, 1, 300, 6), ==, 0);
	check_window(k, 1, 200, 300);
	CHECK_U64(k->w.lost, ==, 11);
	walk_free(k);
}

TEST(off_losses_that_touch_are_one)
{
	struct walk *k = walk_new();

	look(k, COATI_RECORD_SWITCH, 0, 100, 0);
	look(k, COATI_RECORD_LOST, 0, 150, 5);
	look(k, COATI_RECORD_LOST, 0, 170, 5); /* 150 to 170 */
	CHECK_U64(k->o.windows.len, ==, 1);
	check_window(k, 0, 100, 170);
	look(k, COATI_RECORD_SWITCH, 1, 50, 0);
	look(k, COATI_RECORD_LOST, 1, 100, 5); /* ends where the other one begins */
	CHECK_U64(k->o.windows.len, ==, 1);
	check_window(k, 0, 50, 170);
	look(k, COATI_RECORD_SWITCH, 1, 110, 0);
	look(k, COATI_RECORD_LOST, 1, 120, 5); /* within */
	check_window(k, 0, 50, 170);
	look(k, COATI_RECORD_SWITCH, 2, 20, 0);
	look(k, COATI_RECORD_LOST, 2, 49, 5); /* before it */
	CHECK_U64(k->o.windows.len, ==, 2);
	check_window(k, 1, 20, 49);
	look(k, COATI_RECORD_SWITCH, 2, 50, 0);
	look(k, COATI_RECORD_LOST, 2, 60, 5); /* behind it */
	CHECK_U64(k->o.windows.len, ==, 3);
	check_window(k, 2, 50, 60);
	walk_free(k);
}

TEST(off_losses_too_many_to_be_told_apart_leave_nothing_known)
{
	struct walk *k = walk_new();

	k->o.windows.max = 2;
	for (uint64_t i = 1; i <= 3; i++) {
		look(k, COATI_RECORD_SWITCH, 0, 100 * i, 0);
		CHECK_INT(look(k, COATI_RECORD_LOST, 0, 100 * i + 50, 1), ==, 0);
	}
	CHECK_U64(k->o.windows.len, ==, 2);
	check_window(k, 0, 100, 150);
	check_window(k, 1, 0, UINT64_MAX);
	walk_free(k);
}

TEST(off_loss_without_memory_is_an_error)
{
	struct walk *k = walk_new();

	look(k, COATI_RECORD_SWITCH, 0, 100, 0);
	coati_alloc_fail_after(0);
	CHECK_ERR(look(k, COATI_RECORD_LOST, 0, 150, 5), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	walk_free(k);
}

TEST(off_loss_needs_a_time_and_a_cpu)
{
	struct walk *k = walk_new();
	struct coati_record rec = { .type = COATI_RECORD_LOST,
				    .id = { .present = COATI_SAMPLE_CPU, .time = 100 },
				    .u.lost.lost = 3 };

	look(k, COATI_RECORD_SWITCH, 0, 50, 0);
	CHECK_INT(coati_off_loss_look(&k->o, &k->w, &rec), ==, 0);
	rec.id.present = COATI_SAMPLE_TIME;
	CHECK_INT(coati_off_loss_look(&k->o, &k->w, &rec), ==, 0);
	look(k, COATI_RECORD_LOST, OFF_CPUS_MAX, 100, 3);
	look(k, COATI_RECORD_LOST, 0, 0, 3);
	CHECK_U64(k->o.windows.len, ==, 0);
	CHECK_U64(k->w.lost, ==, 12);
	look(k, COATI_RECORD_LOST, OFF_CPUS_MAX - 1, 100, 3);
	check_window(k, 0, 0, 100);
	walk_free(k);
}

TEST(off_loss_at_the_end_is_since_the_cpu_that_fell_silent_first)
{
	struct walk *k = walk_new();

	look(k, COATI_RECORD_LOST_SAMPLES, 0, 900, 4);
	CHECK_INT(coati_off_loss_tail(&k->o, &k->w), ==, 0); /* no CPU has told anything */
	CHECK_U64(k->o.windows.len, ==, 0);
	look(k, COATI_RECORD_SWITCH, 3, 500, 0);
	look(k, COATI_RECORD_SWITCH, OFF_CPUS_MAX - 1, 400, 0);
	look(k, COATI_RECORD_SWITCH, 0, 600, 0);
	look(k, COATI_RECORD_LOST, 0, 700, 4);
	CHECK_U64(k->w.lost_samples, ==, 4);
	CHECK_INT(coati_off_loss_tail(&k->o, &k->w), ==, 0); /* all were told by then */
	CHECK_U64(k->o.windows.len, ==, 1);
	look(k, COATI_RECORD_LOST_SAMPLES, 0, 900, 1);
	CHECK_INT(coati_off_loss_tail(&k->o, &k->w), ==, 0);
	CHECK_U64(k->o.windows.len, ==, 1); /* it touches the other one */
	check_window(k, 0, 400, UINT64_MAX);
	walk_free(k);
}
