/* SPDX-License-Identifier: MIT */
/*
 * How often the verdict of coati why is right: twelve plays with known causes, or without one. With
 * COATI_SOAK=10 there are 50 runs of each. A wrong answer that is given with confidence is worse
 * than "cannot tell", so both are counted.
 */
#include "lib/test.h"

#include <math.h>

#include "reading/wait.h"
#include "trace/timeline.h"
#include "unit/why-stage.h"

#define ROUNDS 5
#define MANY   1500 /* requests */
#define EVERY  75   /* has bad luck */

/* ---- one worker, one request after the other ---- */

/* What makes the unlucky ones slow; @nr: how many had bad luck before. */
typedef void (*luck_fn)(struct actor *a, unsigned int nr);

static void serve(struct stage *s, unsigned int requests, double sigma, luck_fn luck)
{
	struct actor a;
	unsigned int unlucky = 0;

	actor_init(&a, s, 11, 1e6);
	for (unsigned int i = 1; i <= requests; i++) {
		uint64_t task = actor_begin(&a, "request", a.now);

		actor_enter(&a, task);
		actor_run(&a, STAGE_TYPICAL * stage_lognormal(s, sigma));
		if (luck && i % EVERY == EVERY / 2)
			luck(&a, unlucky++);
		actor_end(&a, task);
		actor_run(&a, 20000);
	}
}

static void hog(struct actor *a, unsigned int nr)
{
	(void)nr;
	actor_run(a, 6 * STAGE_TYPICAL * stage_lognormal(a->s, 0.1));
}

static void lock(struct actor *a, unsigned int nr)
{
	(void)nr;
	actor_wait(a, COATI_WAIT_FUTEX, a->now + 4 * STAGE_TYPICAL * stage_lognormal(a->s, 0.3),
		   12);
}

static void storm(struct actor *a, unsigned int nr)
{
	(void)nr;
	actor_fault(a, 5 * STAGE_TYPICAL);
}

static void disk_or_hog(struct actor *a, unsigned int nr)
{
	if (nr % 2)
		actor_wait(a, COATI_WAIT_IO,
			   a->now + 6 * STAGE_TYPICAL * stage_lognormal(a->s, 0.3), 0);
	else
		hog(a, nr);
}

static void hog_or_disk(struct actor *a, unsigned int nr)
{
	double ns = 16 * STAGE_TYPICAL * stage_lognormal(a->s, 0.1);

	if (nr % 5 < 2)
		actor_run(a, ns);
	else
		actor_wait(a, COATI_WAIT_IO, a->now + ns, 0);
}

static void play_hog(struct stage *s)
{
	serve(s, MANY, 0.2, hog);
}

static void play_lock(struct stage *s)
{
	serve(s, MANY, 0.2, lock);
}

static void play_storm(struct stage *s)
{
	serve(s, MANY, 0.2, storm);
}

static void play_two(struct stage *s)
{
	serve(s, MANY, 0.2, disk_or_hog);
}

/* A fifth of the slow ones is the host's doing. */
static void hog_disk_or_host(struct actor *a, unsigned int nr)
{
	if (nr % 5 == 4)
		actor_lose(a, 16 * STAGE_TYPICAL);
	else
		hog_or_disk(a, nr);
}

static void play_hogs_and_host(struct stage *s)
{
	serve(s, MANY, 0.2, hog_disk_or_host);
}

static void play_few_hogs(struct stage *s)
{
	serve(s, MANY, 0.2, hog_or_disk);
}

/* Three of ten wait a little for a lock; with @luck some wait long. */
static void serve_locked(struct stage *s, bool luck)
{
	struct actor a;

	actor_init(&a, s, 11, 1e6);
	for (unsigned int i = 1; i <= MANY; i++) {
		uint64_t task = actor_begin(&a, "request", a.now);
		bool waits = stage_draw(s) < 0.3;
		double ns = waits ? STAGE_TYPICAL / 2 * stage_exponential(s) : 0;

		if (luck && i % EVERY == EVERY / 2)
			ns += 8 * STAGE_TYPICAL;
		actor_enter(&a, task);
		actor_wait(&a, COATI_WAIT_FUTEX, a.now + ns, 12);
		actor_run(&a, STAGE_TYPICAL * stage_lognormal(s, 0.1));
		actor_end(&a, task);
		actor_run(&a, 20000);
	}
}

static void play_often_locked(struct stage *s)
{
	serve_locked(s, true);
}

static void play_only_often_locked(struct stage *s)
{
	serve_locked(s, false);
}

/* Too few instances: a hundredth of them is less than five. */
static void play_few(struct stage *s)
{
	serve(s, 300, 0.2, hog);
}

static void play_none(struct stage *s)
{
	serve(s, MANY, 0.5, NULL);
}

/* ---- holders and waiters ---- */

#define WORKERS 4

/* Four workers and a lock; the 100th and the 300th request compute while they hold it. */
static void play_convoy(struct stage *s)
{
	struct actor workers[WORKERS];
	double free_at = 0;
	int32_t holder = 0;

	for (int i = 0; i < WORKERS; i++)
		actor_init(&workers[i], s, 11 + i, 1e6 + 1e5 * i);
	for (unsigned int i = 1; i <= 500; i++) {
		struct actor *a = &workers[0];
		uint64_t task;

		for (int n = 1; n < WORKERS; n++)
			if (workers[n].now < a->now)
				a = &workers[n];
		task = actor_begin(a, "request", a->now);
		actor_enter(a, task);
		actor_run(a, STAGE_TYPICAL / 2 * stage_lognormal(s, 0.2));
		actor_wait(a, COATI_WAIT_FUTEX, free_at, holder);
		if (i == 100 || i == 300) {
			actor_run(a, 10 * STAGE_TYPICAL);
			free_at = a->now;
			holder = a->tid;
		}
		actor_run(a, STAGE_TYPICAL / 2 * stage_lognormal(s, 0.2));
		actor_end(a, task);
		actor_run(a, 20000);
	}
}

/* ---- one thread that takes turns ---- */

struct job {
	uint64_t task;
	int steps;
	bool hogs;
};

/* Eight requests at a time, four steps each; one of 150 hogs the thread in its second step. */
static void play_loop(struct stage *s)
{
	struct job jobs[8];
	struct actor a;
	unsigned int made = 0, live = 0;

	actor_init(&a, s, 11, 1e6);
	while (made < MANY || live) {
		struct job j;

		for (; live < 8 && made < MANY; made++)
			jobs[live++] = (struct job){ actor_begin(&a, "request", a.now), 4,
						     made % 150 == 149 };
		j = jobs[0];
		live--;
		memmove(jobs, jobs + 1, live * sizeof(*jobs));
		actor_enter(&a, j.task);
		actor_region(&a, "step");
		actor_run(&a, 50000 * stage_lognormal(s, 0.2));
		if (j.hogs && j.steps == 3) {
			actor_region(&a, "hog");
			actor_run(&a, 20 * STAGE_TYPICAL);
			actor_region(&a, NULL);
		}
		actor_region(&a, NULL);
		if (--j.steps) {
			actor_enter(&a, 0);
			jobs[live++] = j;
		} else {
			actor_end(&a, j.task);
		}
		actor_run(&a, 5000);
	}
}

/* ---- a queue ---- */

/* Requests come at their own times; now and then a report keeps the only worker busy. */
static void play_queue(struct stage *s)
{
	double comes = 1e6;
	struct actor a;

	actor_init(&a, s, 11, 1e6);
	for (unsigned int i = 1; i <= MANY; i++) {
		uint64_t task;

		comes += 4 * STAGE_TYPICAL * stage_exponential(s);
		if (i % 300 == 150) {
			task = actor_begin(&a, "report", a.now);
			actor_enter(&a, task);
			actor_run(&a, 40 * STAGE_TYPICAL);
			actor_end(&a, task);
		}
		actor_wait(&a, COATI_WAIT_FUTEX, comes, 12);
		task = actor_begin(&a, "request", comes);
		actor_run(&a, 10000);
		actor_enter(&a, task);
		actor_run(&a, STAGE_TYPICAL * stage_lognormal(s, 0.2));
		actor_end(&a, task);
	}
}

/* ---- a host ---- */

/* It takes as much as it likes, but never while the unlucky ones compute; no samples help. */
static void play_steal_elsewhere(struct stage *s)
{
	struct actor busy;

	s->tick_ns = 0;
	s->told = true;
	serve(s, MANY, 0.2, hog);
	/* another CPU, much later: all of it is taken */
	actor_init(&busy, s, 13, 3e9);
	for (int i = 0; i < 20; i++) {
		actor_run(&busy, 1e6);
		actor_lose(&busy, 50e6);
	}
}

static void play_steal_told(struct stage *s)
{
	s->tick_ns = 0;
	s->told = true;
	s->bursts = 25;
	s->burst_ns = 3e6;
	serve(s, MANY, 0.2, NULL);
}

static void play_steal_gaps(struct stage *s)
{
	s->bursts = 25;
	s->burst_ns = 8e6;
	serve(s, MANY, 0.2, NULL);
}

TEST_LIMIT(why_soak_gives_the_right_verdict, 60)
{
	static const struct stage_play plays[] = {
		{ "hog", play_hog, COATI_WHY_CAUSES, { "running" } },
		{ "lock", play_lock, COATI_WHY_CAUSES, { "futex" } },
		{ "page faults", play_storm, COATI_WHY_CAUSES, { "page faults" } },
		{ "disk and hog", play_two, COATI_WHY_CAUSES, { "io", "running" } },
		{ "convoy of five", play_convoy, COATI_WHY_CAUSES, { "futex", "running" } },
		{ "event loop",
		  play_loop,
		  COATI_WHY_CAUSES,
		  { "nobody" },
		  "running",
		  "request",
		  "hog" },
		{ "queue", play_queue, COATI_WHY_CAUSES, { "nobody" }, .hog_type = "report" },
		{ "hog, steal elsewhere", play_steal_elsewhere, COATI_WHY_CAUSES, { "running" } },
		{ "steal that is reported", play_steal_told, COATI_WHY_CANNOT_TELL },
		{ "steal that leaves gaps", play_steal_gaps, COATI_WHY_CANNOT_TELL },
		{ "few instances", play_few, COATI_WHY_CANNOT_TELL },
		{ "none", play_none, COATI_WHY_NO_DIFFERENCE },
	};

	stage_check(plays, sizeof(plays) / sizeof(*plays), test_rounds(ROUNDS), false);
}

/* Most do not wait at all: they say nothing about how long the others do. */
TEST(why_soak_tells_a_long_wait_from_many_short_ones)
{
	static const struct stage_play plays[] = {
		{ "long waits among short ones", play_often_locked, COATI_WHY_CAUSES, { "futex" } },
		{ "short waits", play_only_often_locked, COATI_WHY_NO_DIFFERENCE },
	};

	stage_check(plays, sizeof(plays) / sizeof(*plays), test_rounds(ROUNDS), false);
}

/* Samples see the hogs, but in the mean over all slow ones hardly. */
TEST(why_soak_believes_samples_of_those_that_ran)
{
	static const struct stage_play plays[] = {
		{ "two of five are hogs", play_few_hogs, COATI_WHY_CAUSES, { "io", "running" } },
		{ "two of five are hogs, and the host takes time",
		  play_hogs_and_host,
		  COATI_WHY_CAUSES,
		  { "io", "running" } },
	};

	stage_check(plays, sizeof(plays) / sizeof(*plays), test_rounds(ROUNDS), false);
}
