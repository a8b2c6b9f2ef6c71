/* SPDX-License-Identifier: MIT */
/* Fibers: what a recording and the labels say when one thread runs several stacks in turn. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <coati/fiber.h>
#include <coati/live.h>

#include "base/alloc.h"
#include "lib/test.h"
#include "live/tracer/tracer.h"
#include "tracer-spool.h"

static struct coati_site outer = COATI_SITE_FOR("", COATI_SITE_REGION, "", "outer", NULL, 0, 0);
static struct coati_site first = COATI_SITE_FOR("", COATI_SITE_REGION, "", "first", NULL, 0, 0);
static struct coati_site second = COATI_SITE_FOR("", COATI_SITE_REGION, "", "second", NULL, 0, 0);
static struct coati_site lazy =
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "lazy", NULL, COATI_SITE_LAZY, 0);
static struct coati_label_key who = COATI_LABEL_KEY("who");

/* ---- the events as a text: ( and ) of regions, =N of tasks by their order ---- */

struct script {
	const struct spool *spool;
	const struct coati_live_task *tasks;
	uint32_t nr_tasks;
	char text[8192];
};

static void add(struct script *s, const char *text)
{
	size_t used = strlen(s->text);

	snprintf(s->text + used, sizeof(s->text) - used, "%s%s", used ? " " : "", text);
}

static void write_event(void *ctx, const struct live_view *batch, const struct live_event *e)
{
	struct script *s = ctx;
	char text[80];

	(void)batch;
	if (e->kind == LIVE_REGION_BEGIN) {
		snprintf(text, sizeof(text), "(%s", s->spool->sites[e->v[0]]);
		add(s, text);
	} else if (e->kind == LIVE_REGION_END) {
		add(s, ")");
	} else if (e->kind == LIVE_TASK_ENTER) {
		uint32_t i = 0;

		while (i < s->nr_tasks && s->tasks[i].id != e->v[0])
			i++;
		snprintf(text, sizeof(text), "=%u", e->v[0] ? i + 1 : 0);
		add(s, text);
	}
}

static void check_script(struct coati_recorder *rec, const struct coati_live_task *tasks,
			 uint32_t nr_tasks, const char *wanted)
{
	struct spool t;
	struct script s = { .spool = &t, .tasks = tasks, .nr_tasks = nr_tasks };

	spool_snapshot(&t, rec);
	spool_each(&t, write_event, &s);
	CHECK_STR(s.text, wanted);
	CHECK_U64(t.lost, ==, 0);
	spool_free(&t);
}

static struct coati_fiber *new_fiber(void)
{
	struct coati_fiber *f = NULL;

	CHECK_OK(coati_fiber_create(&f, NULL));
	return f;
}

/* ---- regions and tasks ---- */

TEST(fibers_have_regions_of_their_own)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_fiber *a = new_fiber(), *b = new_fiber();

	coati_region_begin(&outer);
	coati_fiber_switch(a);
	coati_region_begin(&first);
	coati_fiber_switch(b);
	coati_region_begin(&second);
	coati_fiber_switch(a); /* from one to the other */
	coati_region_end(&first);
	coati_fiber_switch(b);
	coati_fiber_switch(b);
	coati_fiber_switch(NULL);
	coati_region_end(&outer);
	coati_fiber_switch(b); /* without the region around it */
	coati_region_end(&second);
	coati_fiber_switch(NULL);
	check_script(rec, NULL, 0, "(outer (first ) (second ) (first ) (second ) ) (second )");
	CHECK_OK(coati_fiber_end(&a));
	CHECK_OK(coati_fiber_end(&b));
	CHECK(!a && !b);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(fibers_work_on_tasks_of_their_own)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_live_task tasks[3];
	struct coati_task_scope scopes[3];
	struct coati_fiber *a, *b;

	for (int i = 0; i < 3; i++)
		COATI_TASK_BEGIN(&tasks[i], "task", NULL);
	scopes[0] = coati_task_enter(&tasks[0]);
	a = new_fiber(); /* has the first from its birth */
	b = new_fiber();
	coati_fiber_switch(a);
	coati_region_begin(&first);
	scopes[1] = coati_task_enter(&tasks[1]);
	coati_fiber_switch(b);
	scopes[2] = coati_task_enter(&tasks[2]);
	coati_fiber_switch(a);
	coati_task_leave(&scopes[1]);
	coati_region_end(&first);
	coati_fiber_switch(NULL);
	coati_task_leave(&scopes[0]);
	coati_fiber_switch(b);
	coati_task_leave(&scopes[2]);
	coati_fiber_switch(NULL);
	check_script(rec, tasks, 3, "=1 (first =2 ) =1 =3 =2 (first =1 ) =0 =3 =1 =0");
	CHECK_OK(coati_fiber_end(&a));
	CHECK_OK(coati_fiber_end(&b));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(fibers_keep_lazy_regions_unwritten)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_fiber *a = new_fiber();

	coati_fiber_switch(a);
	coati_region_begin(&first);
	coati_region_begin(&lazy);
	coati_fiber_switch(NULL);
	coati_region_begin(&second);
	coati_region_end(&second);
	coati_fiber_switch(a);
	coati_region_end(&lazy);
	coati_region_begin(&lazy);
	coati_fiber_switch(NULL);
	coati_fiber_switch(a);
	coati_region_begin(&second); /* something inside */
	coati_region_end(&second);
	coati_region_end(&lazy);
	coati_region_end(&first);
	coati_fiber_switch(NULL);
	check_script(rec, NULL, 0, "(first ) (second ) (first ) (first (lazy (second ) ) )");
	CHECK_OK(coati_fiber_end(&a));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(fibers_with_many_regions_stay_balanced)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_fiber *a = new_fiber();
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	uint64_t begins, ends;
	struct spool t;

	coati_region_begin(&outer);
	coati_fiber_switch(a);
	for (int i = 0; i < 200; i++) /* more than are known by name */
		coati_region_begin(&first);
	coati_fiber_switch(NULL);
	coati_region_end(&outer);
	coati_fiber_switch(a);
	for (int i = 0; i < 200; i++) {
		CHECK_U64(coati_tracer_self->slot[0].depth, ==, 200 - i);
		coati_region_end(&first);
	}
	coati_region_begin(&second);
	coati_region_end(&second);
	CHECK_OK(coati_fiber_end(&a)); /* leaves it */
	spool_snapshot(&t, rec);
	begins = t.kinds[LIVE_REGION_BEGIN];
	ends = t.kinds[LIVE_REGION_END];
	/* 127 of them fit above the outer one */
	CHECK_U64(begins, ==, 1 + 200 + 127 + 1);
	CHECK_U64(ends, ==, begins);
	coati_recorder_stats(rec, &stats);
	/* begins and ends of those that were too deep to be known by name */
	CHECK_U64(stats.dropped, ==, 2 * (200 - 127));
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(fibers_outlive_recorders)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_fiber *a = new_fiber(), *b = new_fiber();

	coati_fiber_switch(a);
	coati_region_begin(&first);
	coati_fiber_switch(b);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	coati_fiber_switch(a);
	coati_region_end(&first);
	coati_fiber_switch(NULL);
	coati_region_begin(&outer);
	coati_fiber_switch(b);
	rec = spool_start(0); /* it begins inside of a fiber */
	coati_region_begin(&second);
	coati_fiber_switch(a);
	coati_fiber_switch(b);
	coati_region_end(&second);
	coati_fiber_switch(NULL);
	coati_region_end(&outer); /* not known */
	check_script(rec, NULL, 0, "(second ) (second )");
	CHECK_OK(coati_fiber_end(&a));
	CHECK_OK(coati_fiber_end(&b));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- labels ---- */

static void check_label(const char *wanted)
{
	struct coati_label_item item = { .size = 0 };
	struct coati_labels labels;
	uint32_t pos = 0;

	coati_labels_snapshot(&labels);
	CHECK_INT(coati_labels_next(&labels, &pos, &item), ==, wanted ? 1 : 0);
	if (wanted)
		CHECK_MEM(item.value, wanted, strlen(wanted));
	CHECK_U64(pos, ==, labels.size);
}

static void count_open(void *ctx, const struct live_view *b, const struct live_event *e)
{
	*(uint64_t *)ctx += e->kind == LIVE_OPEN_REGION;
}

/* The region of the one that was left is open, but not in what the thread runs then. */
TEST(fibers_that_were_left_while_nobody_recorded_have_no_open_regions)
{
	struct coati_fiber *fiber = NULL;
	struct coati_recorder *rec;
	uint64_t open = 0;
	struct spool t;

	CHECK_OK(coati_regions_keep(1, NULL));
	CHECK_OK(coati_fiber_create(&fiber, NULL));
	CHECK_OK(coati_fiber_switch(fiber));
	coati_region_begin(&outer);
	CHECK_OK(coati_fiber_switch(NULL));
	rec = spool_start(0);
	coati_region_begin(&first);
	coati_region_end(&first);
	spool_snapshot(&t, rec);
	spool_each(&t, count_open, &open);
	CHECK_U64(open, ==, 0);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 1);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	CHECK_OK(coati_fiber_end(&fiber));
}

TEST(fibers_have_labels_of_their_own)
{
	struct coati_label_stats stats = { .size = sizeof(stats) };
	struct coati_label_scope scopes[2];
	struct coati_fiber *a, *b;
	const void *context;

	a = new_fiber(); /* before the thread has any */
	coati_fiber_switch(a);
	check_label(NULL);
	scopes[0] = coati_label_begin(&who, "a");
	context = otel_thread_ctx_v1;
	coati_fiber_switch(NULL);
	check_label(NULL);
	CHECK(otel_thread_ctx_v1 != context);
	CHECK_OK(coati_label_set(&who, "thread"));
	b = new_fiber();
	coati_fiber_switch(b);
	check_label("thread"); /* from who made it */
	scopes[1] = coati_label_begin(&who, "b");
	coati_fiber_switch(a);
	check_label("a");
	CHECK(otel_thread_ctx_v1 == context);
	coati_label_end(&scopes[0]);
	check_label(NULL);
	coati_fiber_switch(b);
	check_label("b");
	coati_label_end(&scopes[1]);
	check_label("thread");
	CHECK_OK(coati_label_unset(&who));
	check_label(NULL);
	CHECK_OK(coati_fiber_end(&b));
	check_label("thread");
	CHECK_OK(coati_fiber_end(&a));
	coati_labels_stats(&stats);
	CHECK_U64(stats.misused, ==, 0);
}

/* ---- threads ---- */

static struct coati_fiber *moved;

static void *go_on(void *arg)
{
	struct coati_fiber *f = arg;

	CHECK_OK(coati_fiber_switch(f));
	check_label("fiber");
	coati_region_end(&first);
	coati_fiber_switch(NULL);
	check_label(NULL);
	return NULL;
}

static void *find_busy(void *arg)
{
	struct coati_fiber *f = arg;

	CHECK_ERR(coati_fiber_switch(f), -EBUSY);
	CHECK_ERR(coati_fiber_end(&f), -EBUSY);
	CHECK(f == arg);
	check_label(NULL);
	return NULL;
}

static void run_thread(void *(*fn)(void *))
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, fn, moved), ==, 0);
	CHECK_INT(pthread_join(thread, NULL), ==, 0);
}

TEST(fibers_go_on_in_another_thread_and_run_on_one_at_a_time)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	moved = new_fiber();
	coati_fiber_switch(moved);
	CHECK_OK(coati_label_set(&who, "fiber"));
	coati_region_begin(&first);
	run_thread(find_busy);
	coati_fiber_switch(NULL);
	run_thread(go_on);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 2);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 2);
	spool_free(&t);
	CHECK_OK(coati_fiber_end(&moved));
	CHECK_OK(coati_fiber_end(&moved)); /* NULL */
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(fibers_without_memory_say_so)
{
	struct coati_fiber *f = NULL;
	struct coati_error err;

	coati_alloc_fail_after(0);
	CHECK_ERR(coati_fiber_create(&f, &err), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK(!f);
	CHECK(strstr(err.text, "fiber: no memory"));
}
