/* SPDX-License-Identifier: MIT */
/*
 * Four plays for coati why that were written when its code was finished, and that nothing was tuned
 * for: what they say is closer to what a new program will see than test-why-soak.c is.
 */
#include "lib/test.h"

#include "reading/wait.h"
#include "trace/timeline.h"
#include "unit/why-stage.h"

#define ROUNDS 5
#define MANY   1500 /* requests */
#define EVERY  75   /* has bad luck */

static void begin_request(struct actor *a, uint64_t *ret_task)
{
	*ret_task = actor_begin(a, "request", a->now);
	actor_enter(a, *ret_task);
}

static void end_request(struct actor *a, uint64_t task)
{
	actor_end(a, task);
	actor_run(a, 20000);
}

/* A lock, a disk and computing, by turns: each makes a third of the unlucky ones slow. */
static void play_three(struct stage *s)
{
	unsigned int unlucky = 0;
	struct actor a;

	actor_init(&a, s, 11, 1e6);
	for (unsigned int i = 1; i <= MANY; i++) {
		double ns = 7 * STAGE_TYPICAL * stage_lognormal(s, 0.2);
		uint64_t task;

		begin_request(&a, &task);
		actor_run(&a, STAGE_TYPICAL * stage_lognormal(s, 0.25));
		if (i % EVERY == EVERY / 2) {
			if (unlucky % 3 == 0)
				actor_wait(&a, COATI_WAIT_FUTEX, a.now + ns, 12);
			else if (unlucky % 3 == 1)
				actor_wait(&a, COATI_WAIT_IO, a.now + ns, 0);
			else
				actor_run(&a, ns);
			unlucky++;
		}
		end_request(&a, task);
	}
}

/* Each unlucky one waits for the network, and then has more to compute. */
static void play_both_in_one(struct stage *s)
{
	struct actor a;

	actor_init(&a, s, 11, 1e6);
	for (unsigned int i = 1; i <= MANY; i++) {
		uint64_t task;

		begin_request(&a, &task);
		actor_run(&a, STAGE_TYPICAL * stage_lognormal(s, 0.2));
		if (i % EVERY == EVERY / 2) {
			actor_wait(&a, COATI_WAIT_POLL,
				   a.now + 4 * STAGE_TYPICAL * stage_lognormal(s, 0.4), 0);
			actor_run(&a, 5 * STAGE_TYPICAL * stage_lognormal(s, 0.2));
		}
		end_request(&a, task);
	}
}

/* Three of five requests are short, the others eight times as long. */
static void play_two_kinds(struct stage *s)
{
	struct actor a;

	actor_init(&a, s, 11, 1e6);
	for (unsigned int i = 1; i <= MANY; i++) {
		double kind = stage_draw(s) < 0.6 ? 1 : 8;
		uint64_t task;

		begin_request(&a, &task);
		actor_run(&a, kind * STAGE_TYPICAL * stage_lognormal(s, 0.2));
		end_request(&a, task);
	}
}

/* Two workers on a busy machine: a fifth of the requests lose the CPU. Some wait for a disk. */
static void play_busy(struct stage *s)
{
	struct actor workers[2];

	actor_init(&workers[0], s, 11, 1e6);
	actor_init(&workers[1], s, 12, 1.1e6);
	for (unsigned int i = 1; i <= MANY; i++) {
		struct actor *a = workers[0].now < workers[1].now ? &workers[0] : &workers[1];
		uint64_t task;

		begin_request(a, &task);
		actor_run(a, STAGE_TYPICAL / 2 * stage_lognormal(s, 0.3));
		if (stage_draw(s) < 0.2)
			actor_preempt(a, a->now + 3e6 * stage_exponential(s));
		if (i % EVERY == EVERY / 2)
			actor_wait(a, COATI_WAIT_IO,
				   a->now + 5 * STAGE_TYPICAL * stage_lognormal(s, 0.3), 0);
		actor_run(a, STAGE_TYPICAL / 2 * stage_lognormal(s, 0.3));
		end_request(a, task);
	}
}

TEST_LIMIT(why_held_out_gives_the_right_verdict, 60)
{
	static const struct stage_play plays[] = {
		{ "three causes", play_three, COATI_WHY_CAUSES, { "futex", "io", "running" } },
		{ "both in one", play_both_in_one, COATI_WHY_CAUSES, { "poll", "running" } },
		{ "two kinds", play_two_kinds, COATI_WHY_CANNOT_TELL },
		{ "busy machine and disk", play_busy, COATI_WHY_CAUSES, { "io" } },
	};

	stage_check(plays, sizeof(plays) / sizeof(*plays), test_rounds(ROUNDS), false);
}
