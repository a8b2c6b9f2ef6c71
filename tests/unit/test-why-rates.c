/* SPDX-License-Identifier: MIT */
/*
 * How often coati why is right. A server is played: 2000 requests whose time on a CPU is drawn from
 * a distribution, a host that takes the CPU away now and then, a sampler that ticks every
 * millisecond (in time that was taken away it ticks once, at its end), and one request of a hundred
 * that has bad luck or not. The same numbers are drawn each time, so that the rates are the same
 * each time.
 */
#include "lib/test.h"

#include <math.h>
#include <stdio.h>

#include "reading/wait.h"
#include "trace/timeline.h"
#include "unit/timeline-feeder.h"

#define REQUESTS 2000
#define TYPICAL	 500000.0  /* ns */
#define TICK	 1000000.0 /* of the sampler */
#define FAULT	 700.0	   /* one costs */

enum shape { TIGHT, SHARED, GAMMA, EXPONENTIAL, LOGNORMAL, PARETO };

struct play {
	const char *name;
	enum shape shape;
	/* of LOGNORMAL: sigma; of GAMMA: how many exponentials are added; of PARETO: exponent */
	double width;
	double bursts;		 /* that the host takes, a second of running */
	double burst_ns;	 /* how long one is, on average */
	bool told;		 /* how much it took */
	enum coati_wait unlucky; /* RUNNING, FAULT, FUTEX; UNKNOWN: none is */
	double strength;	 /* times TYPICAL */
	uint64_t every;		 /* which requests are unlucky; 0: every hundredth */
	double percent;		 /* which are called slow; 0: above 99 */
	uint64_t requests;	 /* 0: 2000 */
};

struct host {
	const struct play *p;
	struct coati_timeline *t;
	uint64_t random;
	double now, next_burst, next_tick, taken;
};

static double draw(struct host *h)
{
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	return ((double)(h->random >> 11) + 0.5) * 0x1p-53;
}

static double draw_exponential(struct host *h)
{
	return -log(draw(h));
}

static double draw_normal(struct host *h)
{
	return sqrt(2 * draw_exponential(h)) * cos(2 * M_PI * draw(h));
}

static double draw_work(struct host *h)
{
	double sum = 0;

	switch (h->p->shape) {
	case TIGHT:
		return TYPICAL * (1 + 0.02 * draw(h));
	case SHARED: /* now and then another thread runs on the same core */
		return TYPICAL * (1 + 0.02 * draw(h)) * (draw(h) < 0.03 ? 1.9 : 1);
	case GAMMA:
		for (int i = 0; i < (int)h->p->width; i++)
			sum += draw_exponential(h);
		return TYPICAL * sum / h->p->width;
	case EXPONENTIAL:
		return TYPICAL * draw_exponential(h);
	case LOGNORMAL:
		return TYPICAL * exp(h->p->width * draw_normal(h));
	default:
		return TYPICAL * pow(draw(h), -1 / h->p->width);
	}
}

static void sample(struct host *h, bool in_fault)
{
	add(h->t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_SAMPLE,
						 .tid = 11,
						 .time = (uint64_t)h->now,
						 .stack = 1,
						 .wait = in_fault ? COATI_WAIT_FAULT : 0 });
}

/* The next tick is on the sampler's grid. */
static void tick(struct host *h, bool in_fault)
{
	sample(h, in_fault);
	h->next_tick += TICK * (floor((h->now - h->next_tick) / TICK) + 1);
}

static void take_burst(struct host *h, bool in_fault)
{
	double length = h->p->burst_ns * draw_exponential(h);

	h->taken += length;
	h->now += length;
	h->next_burst = h->now + 1e9 / h->p->bursts * draw_exponential(h);
	if (h->next_tick <= h->now)
		tick(h, in_fault);
}

/* So much work gets done on the CPU. */
static void run(struct host *h, double work, bool in_fault)
{
	for (;;) {
		double next = fmin(h->next_burst, h->next_tick);

		if (h->now + work < next) {
			h->now += work;
			return;
		}
		work -= fmax(0, next - h->now);
		h->now = fmax(next, h->now);
		if (next == h->next_burst)
			take_burst(h, in_fault);
		else
			tick(h, in_fault);
	}
}

static void wait_for_lock(struct host *h, double ns)
{
	out(h->t, 11, (uint64_t)h->now, COATI_WAIT_FUTEX);
	h->now += ns;
	wake(h->t, 12, 11, (uint64_t)h->now);
	in(h->t, 11, (uint64_t)h->now);
	h->next_tick = h->now + TICK * draw(h);
	h->next_burst = fmax(h->now, h->next_burst);
}

static void touch(struct host *h, double ns)
{
	for (; ns > 0; ns -= 10 * FAULT) {
		for (int i = 0; i < 10; i++)
			add(h->t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_FAULT,
								 .tid = 11,
								 .time = (uint64_t)h->now +
									 (uint64_t)i });
		run(h, 10 * FAULT, true);
	}
}

static void serve(struct host *h, uint64_t i)
{
	uint64_t every = h->p->every ? h->p->every : 100;
	bool is_unlucky = i % every == every / 2;
	double extra = TYPICAL * h->p->strength;

	live(h->t, COATI_TIMELINE_TASK_BEGIN, 11, (uint64_t)h->now, i, "request");
	live(h->t, COATI_TIMELINE_TASK_ENTER, 11, (uint64_t)h->now, i, NULL);
	run(h, draw_work(h), false);
	if (is_unlucky && h->p->unlucky == COATI_WAIT_RUNNING)
		run(h, extra, false);
	else if (is_unlucky && h->p->unlucky == COATI_WAIT_FAULT)
		touch(h, extra);
	else if (is_unlucky && h->p->unlucky == COATI_WAIT_FUTEX)
		wait_for_lock(h, extra);
	live(h->t, COATI_TIMELINE_TASK_END, 11, (uint64_t)h->now, i, NULL);
	run(h, 1000, false);
}

/* The name of what comes first, or the verdict. */
static const char *ask(const struct coati_timeline *t, double percent)
{
	static char name[64];
	struct coati_error err = { 0 };
	struct coati_why *w = NULL;

	CHECK_ERR(coati_timeline_why(t, coati_timeline_find_type(t, "request"), percent, &w, &err),
		  0);
	snprintf(name, sizeof(name), "%s",
		 w->answer == COATI_WHY_CAUSES		? w->rows[0].name
		 : w->answer == COATI_WHY_NO_DIFFERENCE ? "no difference"
							: "cannot tell");
	coati_why_free(&w);
	return name;
}

static bool is_right(const struct play *p, uint64_t seed, const char *want)
{
	struct host h = { .p = p, .t = begin(1), .now = 1e6, .next_tick = 1.3e6 };
	const char *said;
	bool right;

	h.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (int i = 0; i < 20; i++)
		(void)draw(&h);
	h.next_burst = p->bursts > 0 ? h.now + 1e9 / p->bursts * draw_exponential(&h) : INFINITY;
	exists(h.t, 11);
	exists(h.t, 12);
	in(h.t, 11, 1000000);
	for (uint64_t i = 1; i <= (p->requests ? p->requests : REQUESTS); i++)
		serve(&h, i);
	if (p->told)
		add(h.t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_STOLEN,
							.number = (uint64_t)h.taken });
	end(h.t, (uint64_t)h.now);
	said = ask(h.t, p->percent > 0 ? p->percent : 99);
	right = want ? !strcmp(said, want)
		     : !strcmp(said, "no difference") || !strcmp(said, "cannot tell");
	coati_timeline_free(&h.t);
	return right;
}

/* Of each play: 95 of a hundred runs give the answer. @want NULL: anything but a cause. */
static void check_rates(const struct play *plays, size_t nr, const char *want)
{
	unsigned int runs = test_rounds(test_slow() ? 5 : 20);

	for (size_t n = 0; n < nr; n++) {
		unsigned int right = 0;

		for (unsigned int i = 1; i <= runs; i++)
			right += is_right(&plays[n], i, want);
		test_note("%s: %u of %u", plays[n].name, right, runs);
		if (right * 100 < runs * 95)
			test_fail_at(__FILE__, __LINE__, "%s: %u of %u say \"%s\"", plays[n].name,
				     right, runs, want ? want : "no difference, or cannot tell");
	}
}

#define CHECK_RATES(plays, want) check_rates(plays, sizeof(plays) / sizeof(*(plays)), want)
#define NOBODY			 .unlucky = COATI_WAIT_UNKNOWN
#define HOG			 .unlucky = COATI_WAIT_RUNNING
#define LOCK			 .unlucky = COATI_WAIT_FUTEX
#define STORM			 .unlucky = COATI_WAIT_FAULT

TEST(why_sees_no_cause_in_what_only_spreads)
{
	static const struct play plays[] = {
		{ "hardly", TIGHT, NOBODY },
		{ "on a core that is shared", SHARED, NOBODY },
		{ "gamma 8", GAMMA, 8, NOBODY },
		{ "gamma 2", GAMMA, 2, NOBODY },
		{ "exponential", EXPONENTIAL, NOBODY },
		{ "lognormal 0.1", LOGNORMAL, 0.1, NOBODY },
		{ "lognormal 0.5", LOGNORMAL, 0.5, NOBODY },
		{ "lognormal 1", LOGNORMAL, 1, NOBODY },
	};

	CHECK_RATES(plays, "no difference");
}

TEST(why_sees_no_cause_in_a_tail_that_is_heavy_or_cut_elsewhere)
{
	static const struct play plays[] = {
		{ "pareto 4", PARETO, 4, NOBODY },
		{ "pareto 2", PARETO, 2, NOBODY },
		{ "pareto 1.3", PARETO, 1.3, NOBODY },
		{ "exponential, p90", EXPONENTIAL, NOBODY, .percent = 90 },
		{ "lognormal 1, p90", LOGNORMAL, 1, NOBODY, .percent = 90 },
		{ "lognormal 1, p99.5", LOGNORMAL, 1, NOBODY, .percent = 99.5 },
	};

	CHECK_RATES(plays, "no difference");
}

/* Five are slow: whatever stands out in two of them could be taken for a cause. */
TEST(why_sees_no_cause_in_five_that_only_spread)
{
	static const struct play plays[] = {
		{ "hardly", TIGHT, NOBODY, .requests = 500 },
		{ "on a core that is shared", SHARED, NOBODY, .requests = 500 },
		{ "gamma 2", GAMMA, 2, NOBODY, .requests = 500 },
		{ "exponential", EXPONENTIAL, NOBODY, .requests = 500 },
		{ "lognormal 0.5", LOGNORMAL, 0.5, NOBODY, .requests = 500 },
		{ "lognormal 1", LOGNORMAL, 1, NOBODY, .requests = 500 },
		{ "pareto 2", PARETO, 2, NOBODY, .requests = 500 },
		{ "bursts", TIGHT, 0, 20, 2000000, true, NOBODY, .requests = 500 },
	};

	CHECK_RATES(plays, NULL);
}

/*
 * Some steal is reported, so that the amount is known; for long instances the samples show it.
 */
TEST(why_does_not_blame_the_program_for_what_the_host_takes)
{
	static const struct play plays[] = {
		{ "rare and short", TIGHT, 0, 10, 300000, true, NOBODY },
		{ "short", TIGHT, 0, 30, 500000, true, NOBODY },
		{ "a millisecond", TIGHT, 0, 20, 1000000, true, NOBODY },
		{ "often a millisecond", TIGHT, 0, 60, 1000000, true, NOBODY },
		{ "two milliseconds", TIGHT, 0, 20, 2000000, true, NOBODY },
		{ "many of ten", TIGHT, 0, 40, 10000000, true, NOBODY },
		{ "ten, not told", TIGHT, 0, 20, 10000000, false, NOBODY },
		{ "twenty, not told", TIGHT, 0, 40, 20000000, false, NOBODY },
		{ "in what spreads", GAMMA, 4, 30, 2000000, true, NOBODY },
	};

	CHECK_RATES(plays, NULL);
}

TEST(why_finds_the_hog)
{
	static const struct play plays[] = {
		{ "three times", TIGHT, .told = true, HOG, .strength = 3 },
		{ "five times", TIGHT, .told = true, HOG, .strength = 5 },
		{ "ten times", TIGHT, .told = true, HOG, .strength = 10 },
		{ "ten times, nobody tells", TIGHT, HOG, .strength = 10 },
		{ "five times gamma 8", GAMMA, 8, .told = true, HOG, .strength = 5 },
		{ "ten times gamma 4", GAMMA, 4, .told = true, HOG, .strength = 10 },
		{ "ten times lognormal 0.3", LOGNORMAL, 0.3, .told = true, HOG, .strength = 10 },
		{ "ten times lognormal 0.5", LOGNORMAL, 0.5, .told = true, HOG, .strength = 10 },
		{ "ten times, bursts", TIGHT, 0, 20, 1000000, true, HOG, 10 },
		{ "ten times, long bursts", TIGHT, 0, 10, 5000000, true, HOG, 10 },
		{ "ten times, often stolen", TIGHT, 0, 60, 1000000, true, HOG, 10 },
	};

	CHECK_RATES(plays, "running");
}

/* More of them are unlucky than are called slow, or fewer. */
TEST(why_finds_the_hog_however_many_there_are)
{
	static const struct play plays[] = {
		{ "two of a hundred", TIGHT, HOG, .strength = 10, .every = 50 },
		{ "five of a hundred", GAMMA, 4, HOG, .strength = 10, .every = 20 },
		{ "eight of a hundred", GAMMA, 8, HOG, .strength = 10, .every = 12 },
		{ "ten of a hundred", LOGNORMAL, 0.5, HOG, .strength = 10, .every = 10 },
		{ "ten, p90", GAMMA, 8, HOG, .strength = 10, .every = 10, .percent = 90 },
		{ "twenty of a hundred", GAMMA, 4, HOG, .strength = 10, .every = 5 },
		{ "eight of a thousand", GAMMA, 8, HOG, .strength = 10, .every = 125 },
		{ "p99.5", GAMMA, 8, HOG, .strength = 10, .percent = 99.5 },
	};

	CHECK_RATES(plays, "running");
}

TEST(why_finds_the_lock)
{
	static const struct play plays[] = {
		{ "twice", TIGHT, LOCK, .strength = 2 },
		{ "ten times", TIGHT, LOCK, .strength = 10 },
		{ "ten times gamma 4", GAMMA, 4, LOCK, .strength = 10 },
		{ "ten times lognormal 0.5", LOGNORMAL, 0.5, LOCK, .strength = 10 },
		{ "ten times, bursts", TIGHT, 0, 20, 2000000, true, LOCK, 10 },
	};

	CHECK_RATES(plays, "futex");
}

TEST(why_finds_the_storm_of_page_faults)
{
	static const struct play plays[] = {
		{ "three times", TIGHT, STORM, .strength = 3 },
		{ "ten times", TIGHT, STORM, .strength = 10 },
		{ "ten times gamma 8", GAMMA, 8, STORM, .strength = 10 },
		{ "ten times, bursts", TIGHT, 0, 20, 1000000, true, STORM, 10 },
	};

	CHECK_RATES(plays, "page faults");
}
