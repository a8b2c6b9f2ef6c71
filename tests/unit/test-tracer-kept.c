/* SPDX-License-Identifier: MIT */
/* What was open before a recorder started: regions where the program keeps them, tasks and scopes
 * always. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>

#include "arch/cycles.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "lib/test.h"
#include "live/tracer/output.h"
#include "live/tracer/tracer.h"
#include "tracer-spool.h"

#define DEPTH 3

/* By depth: who reads begins and ends knows which must come. */
static struct coati_site sites[DEPTH] = {
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "outer", NULL, 0, 0),
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "middle", NULL, 0, 0),
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "inner", NULL, 0, 0),
};

/* ---- what a trace says about regions ---- */

struct open_region {
	uint32_t site;
	uint64_t began; /* clock value */
	bool is_ns;
};

struct found {
	struct open_region open[16]; /* told as open, the last time */
	uint32_t nr_open;
	uint64_t begins, ends, scope;
};

static void find(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct found *f = ctx;

	f->begins += e->kind == LIVE_REGION_BEGIN;
	f->ends += e->kind == LIVE_REGION_END;
	if (e->kind == LIVE_OPEN_ENTER) { /* told anew, from here on */
		f->scope = e->v[1];
		f->nr_open = 0;
	}
	if (e->kind != LIVE_OPEN_REGION)
		return;
	CHECK_U64(f->nr_open, <, 16);
	CHECK_U64(e->v[2], ==, f->nr_open);
	f->open[f->nr_open++] = (struct open_region){ (uint32_t)e->v[1], b->head.base - e->v[3],
						      b->head.flags & LIVE_BATCH_NANOSECONDS };
}

static struct found found_in(struct coati_recorder *rec)
{
	struct found f = { 0 };
	struct spool t;

	spool_snapshot(&t, rec);
	spool_each(&t, find, &f);
	spool_free(&t);
	return f;
}

/* Both clocks: which of them the trace has is known later. */
struct instant {
	uint64_t cycles, ns;
};

static struct instant now(void)
{
	return (struct instant){ arch_cycles(), now_ns() };
}

static void check_began(const struct open_region *r, struct instant from, struct instant to)
{
	CHECK_U64(r->began, >=, r->is_ns ? from.ns : from.cycles);
	CHECK_U64(r->began, <=, r->is_ns ? to.ns : to.cycles);
}

/* ---- one thread ---- */

TEST(tracer_regions_that_are_kept_are_known_to_the_first_recorder)
{
	struct coati_recorder *rec;
	struct instant from, between, to;
	struct found f;

	CHECK_OK(coati_regions_keep(1, NULL));
	coati_region_begin(&sites[2]); /* one that is over by then */
	coati_region_end(&sites[2]);
	from = now();
	coati_region_begin(&sites[0]);
	between = now();
	{
		COATI_REGION("macro region");
		to = now();
		rec = spool_start(0);
		COATI_LOG("x", "%s", "inside");
		f = found_in(rec);
	}
	coati_region_end(&sites[0]);
	CHECK_U64(f.nr_open, ==, 2);
	CHECK_U64(f.open[0].site, ==, sites[0].id);
	CHECK_U64(f.open[1].site, !=, sites[2].id);
	check_began(&f.open[0], from, between);
	check_began(&f.open[1], between, to);
	f = found_in(rec);
	CHECK_U64(f.begins, ==, 0);
	CHECK_U64(f.ends, ==, 2);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_regions_that_are_not_kept_are_not_known_and_have_no_end)
{
	struct coati_recorder *rec;
	struct found f;

	coati_region_begin(&sites[0]);
	{
		COATI_REGION("macro region");
		rec = spool_start(0);
		COATI_LOG("x", "%s", "inside");
	}
	coati_region_end(&sites[0]);
	f = found_in(rec);
	CHECK_U64(f.nr_open, ==, 0);
	CHECK_U64(f.begins, ==, 0);
	CHECK_U64(f.ends, ==, 0);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_regions_are_kept_from_one_recording_to_the_next)
{
	struct coati_recorder *rec = spool_start(0);
	struct instant from, to;
	struct found f;

	coati_region_begin(&sites[0]); /* known: somebody records */
	CHECK_OK(coati_regions_keep(1, NULL));
	from = now();
	coati_region_begin(&sites[1]);
	to = now();
	coati_region_begin(&sites[2]);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	coati_region_end(&sites[2]);
	rec = spool_start(0);
	coati_region_end(&sites[1]);
	f = found_in(rec);
	CHECK_U64(f.nr_open, ==, 2);
	CHECK_U64(f.open[0].site, ==, sites[0].id);
	CHECK_U64(f.open[1].site, ==, sites[1].id);
	check_began(&f.open[1], from, to);
	CHECK_U64(f.ends, ==, 1);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	/* what happens while they are not kept is not known, and nothing wrong is said about it */
	CHECK_OK(coati_regions_keep(0, NULL));
	CHECK(!COATI_TRACING());
	coati_region_end(&sites[0]);
	CHECK_OK(coati_regions_keep(1, NULL));
	rec = spool_start(0);
	COATI_LOG("x", "%s", "outside");
	CHECK_U64(found_in(rec).nr_open, ==, 0);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* Lazy ones are written when something happens inside: in the recording, or before it. */
TEST(tracer_lazy_regions_are_kept_as_lazy_ones)
{
	static struct coati_site lazy =
		COATI_SITE_FOR("", COATI_SITE_REGION, "", "lazy", NULL, COATI_SITE_LAZY, 0);
	struct coati_recorder *rec;
	struct found f;

	CHECK_OK(coati_regions_keep(1, NULL));
	coati_region_begin(&lazy);
	coati_region_begin(&sites[0]);
	coati_region_begin(&lazy);
	rec = spool_start(0);
	coati_region_end(&lazy); /* nothing was inside */
	coati_region_end(&sites[0]);
	coati_region_end(&lazy);
	f = found_in(rec);
	CHECK_U64(f.nr_open, ==, 2);
	CHECK_U64(f.open[0].site, ==, lazy.id);
	CHECK_U64(f.open[1].site, ==, sites[0].id);
	CHECK_U64(f.begins, ==, 0);
	CHECK_U64(f.ends, ==, 2);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_lazy_regions_deeper_than_the_stack_are_written)
{
	static struct coati_site lazy =
		COATI_SITE_FOR("", COATI_SITE_REGION, "", "lazy", NULL, COATI_SITE_LAZY, 0);
	struct coati_recorder *rec = spool_start(0);
	struct found f;

	for (int i = 0; i < 1000; i++)
		coati_region_begin(&lazy);
	COATI_LOG("x", "%s", "inside");
	for (int i = 0; i < 1000; i++)
		coati_region_end(&lazy);
	f = found_in(rec);
	CHECK_U64(f.begins, ==, 1000);
	CHECK_U64(f.ends, ==, 1000);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* Where the memory is full, neither lazy regions nor what is inside of them is written, nor are
 * their ends. */
TEST(tracer_lazy_regions_around_a_lost_one_are_lost)
{
	static struct coati_site lazy =
		COATI_SITE_FOR("", COATI_SITE_REGION, "", "lazy", NULL, COATI_SITE_LAZY, 0);
	struct coati_recorder_opts opts = {
		.size = sizeof(opts), .bytes = 1 << 19, .policy = COATI_DROP_NEWEST, .directory = ""
	};
	struct coati_recorder *rec = NULL, *other;
	struct found f;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	while (!atomic_load(&coati_tracer_hot.exhausted))
		COATI_LOG("x", "%s", "fill");
	coati_region_begin(&lazy);
	coati_region_begin(&lazy);
	coati_region_begin(&sites[0]);
	CHECK_U64(coati_tracer_self->slot[0].depth, ==, 3);
	CHECK_U64(coati_tracer_self->slot[0].held, ==, 0);
	other = spool_start(1 << 19); /* makes room */
	coati_region_begin(&lazy);
	COATI_LOG("x", "%s", "inside");
	coati_region_end(&lazy);
	coati_region_end(&sites[0]);
	coati_region_end(&lazy);
	coati_region_end(&lazy);
	CHECK_U64(coati_tracer_self->slot[0].depth, ==, 0);
	CHECK_U64(coati_tracer_self->slot[0].held, ==, 0);
	f = found_in(other);
	CHECK_U64(f.nr_open, ==, 0);
	CHECK_U64(f.begins, ==, 1);
	CHECK_U64(f.ends, ==, 1);
	CHECK_OK(coati_recorder_stop(&other, NULL));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* Deeper than the stack, where nothing remembers which begin was lost: their ends, and those of
 * what is inside of them, are not taken for ends of what is around them. */
TEST(tracer_ends_of_lost_regions_deeper_than_the_stack_end_nothing_else)
{
	struct coati_recorder_opts opts = {
		.size = sizeof(opts), .bytes = 1 << 19, .policy = COATI_DROP_NEWEST, .directory = ""
	};
	struct coati_recorder *rec = NULL, *other;
	struct tracer_slot *s;
	struct spool t;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	for (uint32_t i = 0; i < LIVE_REGION_DEPTH + 2; i++)
		coati_region_begin(&sites[0]);
	while (!atomic_load(&coati_tracer_hot.exhausted))
		COATI_LOG("x", "%s", "fill");
	s = &coati_tracer_self->slot[0];
	coati_region_begin(&sites[0]);
	other = spool_start(1 << 19);  /* makes room */
	coati_region_begin(&sites[0]); /* inside of the lost one */
	CHECK_U64(s->depth, ==, LIVE_REGION_DEPTH + 4);
	coati_region_end(&sites[0]);
	coati_region_end(&sites[0]);
	spool_snapshot(&t, other);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN] + t.kinds[LIVE_REGION_END], ==, 0);
	spool_free(&t);
	for (uint32_t i = 0; i < LIVE_REGION_DEPTH + 2; i++)
		coati_region_end(&sites[0]);
	CHECK_U64(s->depth, ==, 0);
	spool_snapshot(&t, other);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 0);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, LIVE_REGION_DEPTH + 2);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&other, NULL));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- tasks and scopes, without the option ---- */

TEST(tracer_scope_of_a_thread_is_known_to_every_recorder)
{
	struct coati_task_scope scope, inner;
	struct coati_live_task task, other;
	struct coati_recorder *rec;

	COATI_TASK_BEGIN(&task, "request", NULL); /* nobody records */
	COATI_TASK_BEGIN(&other, "request", NULL);
	scope = coati_task_enter(&task);
	rec = spool_start(0);
	COATI_LOG("x", "%s", "inside");
	CHECK_U64(found_in(rec).scope, ==, task.id);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	inner = coati_task_enter(&other);
	rec = spool_start(0);
	COATI_LOG("x", "%s", "inside");
	CHECK_U64(found_in(rec).scope, ==, other.id);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	coati_task_leave(&inner);
	coati_task_leave(&scope);
	rec = spool_start(0);
	COATI_LOG("x", "%s", "outside");
	CHECK_U64(found_in(rec).scope, ==, 0);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- threads ---- */

static pthread_barrier_t stage;

static void *sleep_inside(void *arg)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "job", NULL);
	COATI_TASK_SCOPE(&task);
	coati_region_begin(&sites[0]);
	coati_region_begin(&sites[1]);
	*(uint64_t *)arg = task.id;
	pthread_barrier_wait(&stage);
	pthread_barrier_wait(&stage);
	coati_region_end(&sites[1]);
	coati_region_end(&sites[0]);
	return NULL;
}

TEST(tracer_regions_of_a_thread_that_does_nothing_are_known_to_the_first_recorder)
{
	struct coati_recorder *rec;
	uint64_t task;
	pthread_t thread;
	struct found f;

	CHECK_OK(coati_regions_keep(1, NULL));
	CHECK_OK(-pthread_barrier_init(&stage, NULL, 2));
	CHECK_OK(-pthread_create(&thread, NULL, sleep_inside, &task));
	pthread_barrier_wait(&stage);
	rec = spool_start(0);
	f = found_in(rec);
	CHECK_U64(f.nr_open, ==, 2);
	CHECK_U64(f.scope, ==, task);
	pthread_barrier_wait(&stage);
	pthread_join(thread, NULL);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

static _Atomic bool going;

static void *nest(void *arg)
{
	(void)arg;
	while (atomic_load(&going)) {
		for (int i = 0; i < DEPTH; i++)
			coati_region_begin(&sites[i]);
		for (int i = DEPTH; i-- > 0;)
			coati_region_end(&sites[i]);
		/* no flood: where events are lost, nothing can be said about the others */
		for (volatile int i = 0; i < 2000; i++)
			;
	}
	return NULL;
}

/* What happened to the stack of the thread, in the order of its batches. */
struct step {
	uint32_t seq, order, kind, site;
};

struct steps {
	struct step *v;
	uint32_t len, max;
};

static void note_step(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct steps *s = ctx;

	if (b->head.kind != LIVE_BATCH_EVENTS || b->head.tid == (uint32_t)getpid() ||
	    (e->kind != LIVE_OPEN_ENTER && e->kind != LIVE_OPEN_REGION &&
	     e->kind != LIVE_REGION_BEGIN && e->kind != LIVE_REGION_END))
		return;
	if (s->len == s->max) {
		s->max = s->max ? 2 * s->max : 1024;
		s->v = realloc(s->v, s->max * sizeof(*s->v));
		CHECK(s->v);
	}
	s->v[s->len] = (struct step){ b->head.seq, s->len, e->kind,
				      (uint32_t)e->v[e->kind == LIVE_OPEN_REGION] };
	s->len++;
}

static int by_seq(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A begin that was neither written nor kept shows at the next one: its depth is wrong. */
static void check_nesting(const struct steps *s)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < s->len; i++) {
		const struct step *at = &s->v[i];

		if (at->kind == LIVE_OPEN_ENTER) {
			depth = 0;
		} else if (at->kind == LIVE_REGION_END) {
			CHECK_U64(depth, >, 0);
			depth--;
		} else {
			CHECK_U64(depth, <, DEPTH);
			CHECK_U64(at->site, ==, sites[depth].id);
			depth++;
		}
	}
}

TEST(tracer_no_region_is_lost_between_kept_and_written)
{
	const unsigned int rounds = test_rounds(30);
	uint64_t events = 0;
	pthread_t thread;

	CHECK_OK(coati_regions_keep(1, NULL));
	atomic_store(&going, true);
	CHECK_OK(-pthread_create(&thread, NULL, nest, NULL));
	for (unsigned int i = 0; i < rounds; i++) {
		struct coati_recorder *rec = spool_start(4 << 20);
		struct coati_recorder_stats stats = { .size = sizeof(stats) };
		struct steps steps = { 0 };
		struct spool t;

		usleep(i % 7 * 100);
		spool_snapshot(&t, rec);
		spool_each(&t, note_step, &steps);
		if (steps.len)
			qsort(steps.v, steps.len, sizeof(*steps.v), by_seq);
		coati_recorder_stats(rec, &stats);
		if (!stats.dropped) {
			check_nesting(&steps);
			events += steps.len;
		}
		spool_free(&t);
		free(steps.v);
		CHECK_OK(coati_recorder_stop(&rec, NULL));
		usleep(i % 5 * 100);
	}
	atomic_store(&going, false);
	pthread_join(thread, NULL);
	CHECK_U64(events, >, rounds);
}

TEST(tracer_generation_without_memory_says_so)
{
	struct tracer_generation g = { .number = 1 };
	struct strbuf out = STRBUF_INIT(1 << 20);

	coati_alloc_fail_after(0);
	CHECK_ERR(coati_tracer_generation_bytes(&g, 0, &out), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_U64(out.len, ==, 0);
	coati_strbuf_fini(&out);
}
