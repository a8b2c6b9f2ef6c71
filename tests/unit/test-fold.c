/* SPDX-License-Identifier: MIT */
/* A timeline that is a summary has the same sums as one that keeps every task and region. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "reading/wait.h"
#include "recording/recording.h"
#include "recording/writer.h"
#include "trace/timeline.h"
#include "unit/profile-tape.h"

#define PID	7
#define THREADS 3
#define STEPS	400
#define TEXT	(1u << 20)
#define BEGIN	1000
#define END	200000

/* What each thread tells, as text. */
struct story {
	struct strbuf lines[THREADS];
	uint64_t nr_open[THREADS]; /* regions */
	uint64_t begun[THREADS];   /* when the last region began or ended, or a range did */
	uint64_t nr_tasks, time;
	bool ended[STEPS + 1];
	bool leaves_ended; /* nobody works on a task that has ended */
};

/* The recording "a" of threads 7, 8 and 9, which run two thirds of the time. The live events say
 * that they are of @pid. */
static void write_tape_of(const struct story *s, int32_t pid)
{
	static const char account[] = "begin_ns=1000\nend_ns=200000\n";
	struct strbuf text = STRBUF_INIT(TEXT);
	struct tape t;

	tape_begin_switches(&t, "a");
	tape_live_event(&t);
	tape_start(&t);
	tape_process(&t, PID, "app");
	for (uint64_t time = BEGIN; time < END; time += 300)
		for (uint32_t i = 0; i < THREADS; i++)
			tape_switch(&t, PID, PID + i, time + 10 * i,
				    (time - BEGIN) / 300 % 3 == i ? COATI_MISC_SWITCH_OUT : 0);
	coati_strbuf_printf(&text,
			    "batch kind=sites pid=%d\n"
			    "- site id=1 kind=1 name=\"parse\"\n"
			    "- site id=2 kind=1 name=\"look up\"\n"
			    "- site id=3 kind=3 name=\"a\"\n- site id=4 kind=3 name=\"b\"\n",
			    pid);
	tape_live_text(&t, text.text);
	for (uint32_t i = 0; i < THREADS; i++) {
		if (!s->lines[i].len)
			continue;
		coati_strbuf_clear(&text);
		coati_strbuf_printf(&text,
				    "batch pid=%d tid=%u generation=1 flags=4 base=%d "
				    "capacity=30000\n%s",
				    pid, PID + i, BEGIN, s->lines[i].text);
		tape_live_text(&t, text.text);
	}
	coati_strbuf_fini(&text);
	CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER, account, strlen(account)));
	tape_close(&t);
}

static void write_tape(const struct story *s)
{
	write_tape_of(s, PID);
}

static void init(struct story *s)
{
	*s = (struct story){ .time = BEGIN + 100 };
	for (int i = 0; i < THREADS; i++)
		s->lines[i] = (struct strbuf)STRBUF_INIT(TEXT);
}

static void fini(struct story *s)
{
	for (int i = 0; i < THREADS; i++)
		coati_strbuf_fini(&s->lines[i]);
}

/* A line of thread @i, at the time of the story. */
#define TELL(s, i, fmt, ...)                                                                 \
	coati_strbuf_printf(&(s)->lines[i], "%llu " fmt "\n", (unsigned long long)(s)->time, \
			    ##__VA_ARGS__)

static void begin_task(struct story *s, uint32_t i)
{
	uint64_t id = ++s->nr_tasks, parent = test_random() % 3 ? test_random() % id : 0;

	TELL(s, i, "task_begin site=%u id=%llu parent=%llu", 3 + (unsigned)(test_random() % 2),
	     (unsigned long long)id, (unsigned long long)parent);
}

static void end_task(struct story *s, uint32_t i)
{
	uint64_t id = s->nr_tasks ? 1 + test_random() % s->nr_tasks : 0;

	if (!id)
		return;
	s->ended[id] = true;
	TELL(s, i, "task_end id=%llu", (unsigned long long)id);
}

/* Also of tasks that have ended, and of those that nobody began. */
static void enter_task(struct story *s, uint32_t i)
{
	uint64_t id = test_random() % (s->nr_tasks + 2);

	if (s->leaves_ended && (id > s->nr_tasks || s->ended[id]))
		id = 0;
	TELL(s, i, "task_enter id=%llu", (unsigned long long)id);
}

static void change_region(struct story *s, uint32_t i)
{
	if (test_random() % 2 && s->nr_open[i] < 5) {
		s->nr_open[i]++;
		TELL(s, i, "region_begin site=%u", 1 + (unsigned)(test_random() % 2));
	} else if (s->nr_open[i]) {
		s->nr_open[i]--;
		TELL(s, i, "region_end");
	}
	s->begun[i] = s->time;
}

/* A range that lies behind everything that the thread told before. */
static void add_range(struct story *s, uint32_t i)
{
	uint64_t room = s->begun[i] ? s->time - s->begun[i] : 0;

	if (!room)
		return;
	TELL(s, i, "range site=1 length=%llu", (unsigned long long)(1 + test_random() % room));
	s->begun[i] = s->time;
}

static void tell_something(struct story *s)
{
	uint32_t i = (uint32_t)(test_random() % THREADS);

	s->time += test_random() % 400; /* two at once, too */
	switch (test_random() % 6) {
	case 0:
		begin_task(s, i);
		break;
	case 1:
		end_task(s, i);
		break;
	case 2:
		enter_task(s, i);
		break;
	case 3:
		add_range(s, i);
		break;
	default:
		change_region(s, i);
	}
}

static struct coati_timeline *read_tape(uint32_t flags)
{
	const struct coati_timeline_opts o = { .size = sizeof(o), .flags = flags };
	struct coati_error err = { 0 };
	struct coati_timeline *t = NULL;

	CHECK_OK(coati_timeline_new(&o, &t, &err));
	CHECK_OK(coati_timeline_read(t, "a", NULL, NULL, &err));
	CHECK_STR(err.text, ""); /* what succeeds says nothing */
	return t;
}

static void compare_types(const struct coati_timeline *a, const struct coati_timeline *b)
{
	struct coati_timeline_type x, y;

	CHECK_U64(coati_timeline_type_count(a), ==, coati_timeline_type_count(b));
	for (uint32_t i = 0; coati_timeline_type(a, i, &x) == 0; i++) {
		CHECK_OK(coati_timeline_type(b, i, &y));
		CHECK_STR(x.name, y.name);
		CHECK_U64(x.is_region, ==, y.is_region);
		CHECK_U64(x.nr, ==, y.nr);
		CHECK_U64(x.nr_open, ==, y.nr_open);
		CHECK_U64(x.nr_before, ==, y.nr_before);
		CHECK_U64(x.p50, ==, y.p50);
		CHECK_U64(x.p90, ==, y.p90);
		CHECK_U64(x.p99, ==, y.p99);
		CHECK_U64(x.max, ==, y.max);
		CHECK_U64(x.sum, ==, y.sum);
		CHECK(!memcmp(&x.ledger, &y.ledger, sizeof(x.ledger)));
	}
}

static void compare_infos(const struct coati_timeline *a, const struct coati_timeline *b)
{
	struct coati_timeline_info x, y;

	coati_timeline_info(a, &x);
	coati_timeline_info(b, &y);
	CHECK(!memcmp(&x, &y, sizeof(x)));
	CHECK_U64(coati_timeline_thread_count(a), ==, coati_timeline_thread_count(b));
}

TEST(fold_has_the_sums_of_a_timeline_that_keeps_everything)
{
	uint64_t folded = 0;

	for (int round = 0; round < 30; round++) {
		struct coati_timeline *whole, *sums;
		struct story s;

		init(&s);
		while (s.nr_tasks < STEPS && s.time < END - 1000)
			tell_something(&s);
		write_tape(&s);
		whole = read_tape(0);
		sums = read_tape(COATI_TIMELINE_SUMMARY);
		compare_types(whole, sums);
		compare_infos(whole, sums);
		folded += coati_timeline_task_count(sums) == 0;
		CHECK_U64(coati_timeline_task_count(whole), >, 0);
		coati_timeline_free(&whole);
		coati_timeline_free(&sums);
		fini(&s);
	}
	CHECK_U64(folded, ==, 30);
}

/* Regions of process 8, which says that they are of thread 7 of process 7: what went on in them is
 * not known. */
TEST(fold_takes_no_live_events_for_threads_of_another_process)
{
	struct coati_timeline *t;
	struct coati_timeline_type k;
	struct story s;

	init(&s);
	TELL(&s, 0, "region_begin site=1");
	s.time += 5000;
	TELL(&s, 0, "region_end");
	for (uint32_t flags = 0; flags <= COATI_TIMELINE_SUMMARY; flags += COATI_TIMELINE_SUMMARY) {
		for (int32_t pid = PID; pid <= PID + 1; pid++) {
			write_tape_of(&s, pid);
			t = read_tape(flags);
			CHECK_OK(coati_timeline_type(t, coati_timeline_find_type(t, "parse"), &k));
			CHECK_U64(k.nr, ==, 1);
			CHECK_U64(k.max, ==, 5000);
			CHECK_U64(k.ledger.parts[COATI_WAIT_RUNNING] > 0, ==, pid == PID);
			coati_timeline_free(&t);
		}
	}
	fini(&s);
}

/* A range of thread 7 that begins within a region before it, and ends behind that. */
TEST(fold_gives_up_where_regions_cross_and_keeps_all)
{
	struct coati_timeline *whole, *sums;
	struct coati_timeline_region g;
	struct story s;

	init(&s);
	TELL(&s, 0, "task_begin site=3 id=1 parent=0");
	TELL(&s, 0, "task_enter id=1");
	TELL(&s, 0, "region_begin site=1");
	s.time += 500;
	TELL(&s, 0, "region_end");
	s.time += 500;
	TELL(&s, 0, "range site=2 length=700");
	TELL(&s, 0, "task_end id=1");
	write_tape(&s);
	whole = read_tape(0);
	sums = read_tape(COATI_TIMELINE_SUMMARY);
	compare_types(whole, sums);
	compare_infos(whole, sums);
	CHECK_U64(coati_timeline_task_count(sums), ==, 1);
	CHECK_OK(coati_timeline_region(sums, coati_timeline_find_thread(sums, PID, END), 1, &g));
	CHECK_U64(g.end - g.begin, ==, 700);
	coati_timeline_free(&whole);
	coati_timeline_free(&sums);
	fini(&s);
}

TEST(fold_survives_every_failing_allocation)
{
	struct story s;
	int r = -1;

	init(&s);
	for (int i = 0; i < 60; i++)
		tell_something(&s);
	write_tape(&s);
	for (uint64_t n = 0; r < 0; n++) {
		const struct coati_timeline_opts o = { .size = sizeof(o),
						       .flags = COATI_TIMELINE_SUMMARY };
		struct coati_timeline *t = NULL;

		coati_alloc_fail_after(n);
		r = coati_timeline_new(&o, &t, NULL);
		if (r == 0)
			r = coati_timeline_read(t, "a", NULL, NULL, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		coati_timeline_free(&t);
	}
	fini(&s);
}

/* ---- instances of a type ---- */

static struct coati_timeline *read_with(const char *type, uint32_t flags)
{
	const struct coati_timeline_opts o = { .size = sizeof(o),
					       .flags = COATI_TIMELINE_SUMMARY | flags,
					       .instances_of = type };
	struct coati_timeline *t = NULL;

	CHECK_OK(coati_timeline_new(&o, &t, NULL));
	CHECK_OK(coati_timeline_read(t, "a", NULL, NULL, NULL));
	return t;
}

/* Threads of two timelines may have different numbers. */
static void compare_threads(const struct coati_timeline *a, uint32_t x,
			    const struct coati_timeline *b, uint32_t y)
{
	struct coati_timeline_thread tx, ty;

	CHECK_U64(x == COATI_TIMELINE_NONE, ==, y == COATI_TIMELINE_NONE);
	if (x == COATI_TIMELINE_NONE)
		return;
	CHECK_OK(coati_timeline_thread(a, x, &tx));
	CHECK_OK(coati_timeline_thread(b, y, &ty));
	CHECK_U64(tx.tid, ==, ty.tid);
}

static void compare_rows(const struct coati_timeline *a, const struct coati_why_row *x,
			 const struct coati_timeline *b, const struct coati_why_row *y)
{
	const double nx[] = { x->slow, x->typical, x->extra, x->low,	  x->high,
			      x->tail, x->number,  x->limit, x->hog_share };
	const double ny[] = { y->slow, y->typical, y->extra, y->low,	  y->high,
			      y->tail, y->number,  y->limit, y->hog_share };

	CHECK_U64(x->kind, ==, y->kind);
	CHECK_U64(x->verdict, ==, y->verdict);
	CHECK_U64(x->part, ==, y->part);
	CHECK_STR(x->name, y->name);
	CHECK_MEM(nx, ny, sizeof(nx));
	CHECK_U64(x->nr_affected, ==, y->nr_affected);
	CHECK_U64(x->stack, ==, y->stack);
	CHECK_U64(x->hog, ==, y->hog);
	CHECK_U64(x->hog_id, ==, y->hog_id);
	CHECK_STR(x->hog_name ? x->hog_name : "", y->hog_name ? y->hog_name : "");
	CHECK_STR(x->hog_region ? x->hog_region : "", y->hog_region ? y->hog_region : "");
	compare_threads(a, x->waker, b, y->waker);
	compare_threads(a, x->hog_thread, b, y->hog_thread);
}

/* What was seen in all rounds: a test that sees none of it shows nothing. */
struct sight {
	double percent; /* that are not slow */
	uint64_t kept, causes, hogs, hog_regions, regions, open;
};

static void compare_whys(const struct coati_timeline *a, const struct coati_timeline *b,
			 const char *type, struct sight *sight)
{
	struct coati_why *x = NULL, *y = NULL;

	CHECK_OK(
		coati_timeline_why(a, coati_timeline_find_type(a, type), sight->percent, &x, NULL));
	CHECK_OK(
		coati_timeline_why(b, coati_timeline_find_type(b, type), sight->percent, &y, NULL));
	CHECK_U64(x->nr, ==, y->nr);
	CHECK_U64(x->nr_slow, ==, y->nr_slow);
	CHECK_U64(x->nr_causes, ==, y->nr_causes);
	CHECK_U64(x->threshold, ==, y->threshold);
	CHECK_U64(x->answer, ==, y->answer);
	CHECK_U64(x->reason, ==, y->reason);
	CHECK_MEM(&x->number, &y->number, sizeof(double));
	CHECK_MEM(&x->limit, &y->limit, sizeof(double));
	CHECK_U64(x->nr_rows, ==, y->nr_rows);
	for (uint32_t i = 0; i < x->nr_rows; i++) {
		compare_rows(a, &x->rows[i], b, &y->rows[i]);
		sight->hogs += x->rows[i].hog != COATI_TIMELINE_NONE;
		sight->hog_regions += x->rows[i].hog_region != NULL;
		sight->regions += x->rows[i].kind == COATI_WHY_REGION;
	}
	sight->causes += x->nr_causes;
	coati_why_free(&x);
	coati_why_free(&y);
}

static void compare_slowest(const struct coati_timeline *a, const struct coati_timeline *b,
			    const struct coati_timeline_query *q, struct sight *sight)
{
	struct coati_timeline_instance *x = NULL, *y = NULL;
	size_t nx, ny, ax, ay;

	CHECK_OK(coati_timeline_slowest(a, q, &x, &nx, &ax));
	CHECK_OK(coati_timeline_slowest(b, q, &y, &ny, &ay));
	CHECK_U64(nx, ==, ny);
	CHECK_U64(ax, ==, ay);
	for (size_t i = 0; i < nx; i++) {
		CHECK_U64(x[i].begin, ==, y[i].begin);
		CHECK_U64(x[i].end, ==, y[i].end);
		CHECK_U64(x[i].id, ==, y[i].id);
		CHECK_U64(x[i].parent, ==, y[i].parent);
		CHECK_INT(x[i].pid, ==, y[i].pid);
		CHECK_U64(x[i].flags, ==, y[i].flags);
		compare_threads(a, x[i].thread, b, y[i].thread);
		CHECK_MEM(&x[i].ledger, &y[i].ledger, sizeof(x[i].ledger));
		sight->open += x[i].flags & COATI_TIMELINE_OPEN_END;
	}
	coati_free(x);
	coati_free(y);
}

static void compare_instances(const struct coati_timeline *whole, const char *type,
			      struct sight *sight)
{
	struct coati_timeline *sums = read_with(type, COATI_TIMELINE_WHY);
	struct coati_timeline_query q = { .type = coati_timeline_find_type(whole, type),
					  .nr = 20,
					  .to = UINT64_MAX };
	struct coati_why *w = NULL;

	compare_types(whole, sums);
	compare_infos(whole, sums);
	CHECK_U64(q.type, ==, coati_timeline_find_type(sums, type));
	sight->kept += coati_timeline_task_count(sums) == 0;
	compare_whys(whole, sums, type, sight);
	compare_slowest(whole, sums, &q, sight);
	q.nr = UINT32_MAX;
	q.from = END / 3;
	q.to = END / 2;
	compare_slowest(whole, sums, &q, sight);
	coati_timeline_free(&sums);
	sums = read_with(type, 0);
	CHECK_U64(coati_timeline_task_count(sums), ==, 0);
	compare_types(whole, sums);
	compare_slowest(whole, sums, &q, sight);
	CHECK_ERR(coati_timeline_why(sums, q.type, 75, &w, NULL), -EINVAL);
	coati_timeline_free(&sums);
}

TEST(fold_answers_about_instances_as_a_timeline_that_keeps_everything)
{
	struct sight sight = { .percent = 75 };

	for (int round = 0; round < 20; round++) {
		struct coati_timeline *whole;
		struct story s;

		init(&s);
		s.leaves_ended = true;
		while (s.nr_tasks < STEPS && s.time < END - 1000)
			tell_something(&s);
		write_tape(&s);
		whole = read_tape(0);
		compare_instances(whole, "a", &sight);
		compare_instances(whole, "parse", &sight);
		coati_timeline_free(&whole);
		fini(&s);
	}
	CHECK_U64(sight.kept, ==, 40);
	CHECK_U64(sight.regions, >, 0);
	CHECK_U64(sight.open, >, 0);
}

/* Thread 7 works on task @id, 300 ns in a region. */
static void work_on(struct story *s, unsigned int id)
{
	TELL(s, 0, "task_enter id=%u", id);
	TELL(s, 0, "region_begin site=1");
	s->time += 300;
	TELL(s, 0, "region_end");
	TELL(s, 0, "task_enter id=0");
	TELL(s, 0, "task_end id=%u", id);
	s->time += 50;
}

/* A loop with a task of another kind each tenth time, for which the next one waits. */
TEST(fold_names_the_task_that_hogs_a_loop_as_a_timeline_that_keeps_everything)
{
	struct sight sight = { .percent = 90 };
	struct coati_timeline *whole;
	struct story s;

	init(&s);
	for (unsigned int id = 1; id <= 150; id++) {
		if (id % 10 == 0) {
			TELL(&s, 0, "task_begin site=4 id=%u parent=0", 1000 + id);
			TELL(&s, 0, "task_enter id=%u", 1000 + id);
			TELL(&s, 0, "region_begin site=1");
			TELL(&s, 0, "region_begin site=2");
			s.time += 10;
		}
		TELL(&s, 0, "task_begin site=3 id=%u parent=0", id);
		if (id % 10 == 0) {
			s.time += 4000 + id;
			TELL(&s, 0, "region_end");
			TELL(&s, 0, "region_end");
			TELL(&s, 0, "task_end id=%u", 1000 + id);
		}
		s.time += 10 + id % 7;
		work_on(&s, id);
	}
	CHECK_U64(s.time, <, END);
	write_tape(&s);
	whole = read_tape(0);
	compare_instances(whole, "a", &sight);
	CHECK_U64(sight.kept, ==, 1);
	CHECK_U64(sight.causes, >, 0);
	CHECK_U64(sight.hogs, ==, 1);
	CHECK_U64(sight.hog_regions, ==, 1);
	coati_timeline_free(&whole);
	fini(&s);
}

/* A thread goes back to a task that has ended: only a timeline that keeps it knows which. */
TEST(fold_keeps_all_where_a_thread_returns_to_a_task_that_is_over)
{
	struct coati_timeline *whole;
	struct sight sight = { .percent = 75 };
	struct story s;

	init(&s);
	for (int i = 0; i < 100; i++)
		tell_something(&s);
	TELL(&s, 0, "task_begin site=3 id=900 parent=0");
	TELL(&s, 0, "task_end id=900");
	TELL(&s, 0, "task_enter id=900");
	s.time += 100;
	change_region(&s, 0);
	s.time += 100;
	write_tape(&s);
	whole = read_tape(0);
	compare_instances(whole, "a", &sight);
	CHECK_U64(sight.kept, ==, 0);
	coati_timeline_free(&whole);
	fini(&s);
}

TEST(fold_with_instances_survives_every_failing_allocation)
{
	struct story s;
	int r = -1;

	init(&s);
	s.leaves_ended = true;
	for (int i = 0; i < 60; i++)
		tell_something(&s);
	write_tape(&s);
	for (uint64_t n = 0; r < 0; n++) {
		const struct coati_timeline_opts o = { .size = sizeof(o),
						       .flags = COATI_TIMELINE_SUMMARY |
								COATI_TIMELINE_WHY,
						       .instances_of = "a" };
		struct coati_timeline *t = NULL;
		struct coati_timeline_instance *list = NULL;
		struct coati_timeline_query q = { .nr = 5, .to = UINT64_MAX };
		struct coati_why *w = NULL;
		size_t nr, all;

		coati_alloc_fail_after(n);
		r = coati_timeline_new(&o, &t, NULL);
		if (r == 0)
			r = coati_timeline_read(t, "a", NULL, NULL, NULL);
		q.type = r == 0 ? coati_timeline_find_type(t, "a") : 0;
		if (r == 0)
			r = coati_timeline_why(t, q.type, 75, &w, NULL);
		if (r == 0)
			r = coati_timeline_slowest(t, &q, &list, &nr, &all);
		coati_alloc_fail_after(UINT64_MAX);
		coati_free(list);
		coati_why_free(&w);
		coati_timeline_free(&t);
	}
	fini(&s);
}
