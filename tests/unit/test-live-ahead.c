/* SPDX-License-Identifier: MIT */
/* Events that the reader makes ready ahead: threads that are written by turns come out as a model
 * says, however they are asked for, and what is open is asked in between. */
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "lib/live-text.h"
#include "lib/test.h"
#include "live-read/check.h"
#include "live-read/reader.h"
#include "live-read/tables.h"

#define THREADS_MAX 12u
#define EVENTS	    3000u
#define DEPTH	    6u
#define FAR	    LIVE_SITES_NEAR /* a number of two bytes: the first of them */

struct expected {
	uint32_t tid, kind, depth;
	uint64_t time, duration, task;
	bool has_stack;
	uint32_t open; /* regions of all threads behind it */
};

struct model {
	struct strbuf of[THREADS_MAX], text;
	uint64_t began[THREADS_MAX][DEPTH], task[THREADS_MAX];
	uint32_t depth[THREADS_MAX], open, nr;
	struct expected events[EVENTS];
	uint64_t state;
};

static uint32_t below(struct model *m, uint32_t n)
{
	m->state = m->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((m->state >> 33) % n);
}

static void write_one(struct model *m, uint32_t i, uint64_t time, struct expected *e)
{
	struct strbuf *s = &m->of[i];
	uint32_t what = below(m, 20);

	*e = (struct expected){ .tid = 100 + i, .time = time, .duration = UINT64_MAX };
	if (what < 12 && (what < 6 || !m->depth[i]) && m->depth[i] < DEPTH) {
		e->kind = COATI_TRACE_REGION_BEGIN;
		e->depth = m->depth[i];
		m->began[i][m->depth[i]++] = time;
		m->open++;
		coati_strbuf_printf(s, "%llu region_begin site=%u\n", (unsigned long long)time,
				    below(m, 8) ? 1 : FAR);
	} else if (what < 12) {
		e->kind = COATI_TRACE_REGION_END;
		e->depth = --m->depth[i];
		e->duration = time - m->began[i][e->depth];
		m->open--;
		coati_strbuf_printf(s, "%llu region_end\n", (unsigned long long)time);
	} else if (what < 16) {
		e->kind = what < 14 ? COATI_TRACE_LOG : COATI_TRACE_COUNTER;
		coati_strbuf_printf(s,
				    what < 14 ? "%llu log site=1 text=\"x\"\n"
					      : "%llu counter site=128 value=-70000\n",
				    (unsigned long long)time);
	} else if (what < 18) {
		e->kind = COATI_TRACE_GAUGE;
		coati_strbuf_printf(s, "%llu gauge site=1 value=0.5\n", (unsigned long long)time);
	} else {
		e->kind = COATI_TRACE_TASK_ENTER;
		m->task[i] = below(m, 3);
		coati_strbuf_printf(s, "%llu task_enter id=%llu\n", (unsigned long long)time,
				    (unsigned long long)m->task[i]);
	}
	e->task = m->task[i];
	e->open = m->open;
	e->has_stack = below(m, 16) == 0;
	if (e->has_stack)
		coati_strbuf_printf(s, "%llu stacked stack=4\n", (unsigned long long)time);
}

/* Of the same instant the thread with the lower number comes first, with all that it has. */
static void sort_same(struct model *m)
{
	for (uint32_t i = 1; i < EVENTS; i++) {
		struct expected e = m->events[i];
		uint32_t at = i;

		for (; at && m->events[at - 1].time == e.time && m->events[at - 1].tid > e.tid;
		     at--)
			m->events[at] = m->events[at - 1];
		m->events[at] = e;
	}
	for (uint32_t i = 0, open = 0; i < EVENTS; i++) {
		open += m->events[i].kind == COATI_TRACE_REGION_BEGIN;
		open -= m->events[i].kind == COATI_TRACE_REGION_END;
		m->events[i].open = open;
	}
}

/* One clock for all of them, so that their order is the one in which they are written here, but for
 * the @same ones of an instant. */
static void make(struct model *m, uint32_t threads, uint64_t seed, uint32_t same)
{
	m->state = seed;
	m->text = (struct strbuf)STRBUF_INIT(1 << 22);
	for (uint32_t i = 0; i < threads; i++) {
		m->of[i] = (struct strbuf)STRBUF_INIT(1 << 20);
		coati_strbuf_printf(&m->of[i], "batch pid=7 tid=%u base=1000\n", 100 + i);
	}
	for (uint32_t n = 0; n < EVENTS; n++) {
		static uint32_t turn;

		if (below(m, 2))
			turn = below(m, threads);
		/* some threads end before the others do */
		write_one(m, turn % (same > 1 && n > EVENTS / 2 ? (threads + 1) / 2 : threads),
			  1000 + n / same, &m->events[n]);
	}
	sort_same(m);
	coati_strbuf_adds(&m->text, "batch kind=process pid=7\n- process pid=7 start=1 comm=\"a\"\n"
				    "batch kind=sites\n- site id=1 kind=1 name=\"r\"\n"
				    "- site id=128 kind=1 name=\"far\"\n"
				    "batch kind=table\n- stack id=4 addresses=0x1000,0x2000\n");
	for (uint32_t i = 0; i < threads; i++) {
		coati_strbuf_adds(&m->text, m->of[i].text);
		coati_strbuf_fini(&m->of[i]);
	}
}

static void same(const struct expected *x, const struct coati_trace_event *e)
{
	CHECK_U64(e->time, ==, x->time);
	CHECK_U64(e->tid, ==, x->tid);
	CHECK_U64(e->kind, ==, x->kind);
	CHECK_U64(e->depth, ==, x->depth);
	CHECK_U64(e->duration, ==, x->duration);
	CHECK_U64(e->task, ==, x->task);
	CHECK_U64(e->flags, ==, COATI_TRACE_INCOMPLETE);
	CHECK_U64(e->stack_count, ==, x->has_stack ? 2 : 0);
	CHECK_U64(e->text.size, ==, x->kind == COATI_TRACE_LOG);
	CHECK_INT(e->number, ==, x->kind == COATI_TRACE_COUNTER ? -70000 : 0);
	CHECK(e->real == (x->kind == COATI_TRACE_GAUGE ? 0.5 : 0));
}

static uint32_t take_one(struct model *m, struct coati_live_reader *t, struct coati_trace_check *c,
			 bool ask)
{
	const struct coati_trace_event *e;
	const struct coati_live_opened *open;
	uint32_t nr = 0, nr_open = 0;

	while (coati_live_reader_next(t, &e) > 0) {
		CHECK_U64(nr, <, EVENTS);
		same(&m->events[nr], e);
		CHECK_INT(coati_trace_check_event(c, e, NULL), ==, 0);
		if (ask && below(m, 5) == 0) {
			CHECK_INT(coati_live_reader_open_regions(t, &open, &nr_open), ==, 0);
			CHECK_U64(nr_open, ==, m->events[nr].open);
		}
		nr++;
	}
	return nr;
}

static uint32_t take_many(struct model *m, struct coati_live_reader *t, struct coati_trace_check *c)
{
	const struct coati_trace_event *const *events;
	const struct coati_trace_event *e;
	struct coati_trace_finding f;
	uint32_t nr = 0;
	int n;

	while ((n = coati_live_reader_take(t, &events)) > 0) {
		CHECK_INT(coati_trace_check_events(c, events, (uint32_t)n, &f), ==, 0);
		for (int i = 0; i < n; i++) {
			CHECK_U64(nr, <, EVENTS);
			same(&m->events[nr++], events[i]);
		}
		if (below(m, 4) || coati_live_reader_next(t, &e) <= 0)
			continue;
		CHECK_INT(coati_trace_check_event(c, e, NULL), ==, 0);
		same(&m->events[nr++], e);
	}
	return nr;
}

static void read_model(struct model *m, unsigned int how)
{
	struct coati_trace_check *c = NULL;
	struct coati_live_reader *t = NULL;
	struct coati_error err = { 0 };

	CHECK_INT(coati_live_reader_new(NULL, &t, NULL), ==, 0);
	CHECK_INT(coati_trace_check_new(&c, NULL), ==, 0);
	if (live_text_feed(t, m->text.text, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_INT(coati_live_reader_finish(t), ==, 0);
	CHECK_U64(how == 2 ? take_many(m, t, c) : take_one(m, t, c, how), ==, EVENTS);
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
}

TEST(live_events_that_are_ready_ahead_are_what_the_model_says)
{
	struct model *m = calloc(1, sizeof(*m));

	CHECK(m);
	/* few, as many as are merged without branches, and more: each number where that is quick */
	for (uint32_t threads = 1; threads <= THREADS_MAX; threads += test_slow() ? 3 : 1) {
		memset(m, 0, sizeof(*m));
		make(m, threads, test_random(), 1);
		for (unsigned int how = 0; how < 3; how++)
			read_model(m, how);
		coati_strbuf_fini(&m->text);
	}
	free(m);
}

TEST(live_events_of_the_same_instant_are_in_the_order_of_their_threads)
{
	struct model *m = calloc(1, sizeof(*m));

	CHECK(m);
	for (uint32_t threads = 2; threads <= THREADS_MAX; threads += test_slow() ? 5 : 1) {
		memset(m, 0, sizeof(*m));
		make(m, threads, test_random(), threads == 2 ? 4 : 2 * threads);
		for (unsigned int how = 0; how < 3; how++)
			read_model(m, how);
		coati_strbuf_fini(&m->text);
	}
	free(m);
}

/* What the reader makes of @text: events, findings, and the account. */
static void gives(const char *text, const char *want)
{
	struct strbuf out = STRBUF_INIT(1 << 16);

	CHECK_INT(live_text_run(text, &out, NULL), >=, 0);
	CHECK_STR(out.text, want);
	coati_strbuf_fini(&out);
}

#define SITE "batch kind=sites pid=7 tid=7\n- site id=1 kind=1 name=\"r\"\n"

/* Two batches wait behind one that is read, and the later generation's begins earlier: clocks may
 * contradict each other, generations do not. */
TEST(live_batches_of_a_thread_are_in_the_order_of_their_generations)
{
	gives("batch kind=sites pid=7 tid=7 generation=1\n- site id=1 kind=1 name=\"r\"\n"
	      "batch pid=7 tid=7 generation=1 seq=0 base=100\n100 log site=1 text=\"a\"\n"
	      "500 log site=1 text=\"b\"\nbatch kind=end generation=1\n"
	      "batch tid=7 generation=3 seq=2 base=600\n600 log site=1 text=\"d\"\n"
	      "batch tid=7 generation=2 seq=1 base=700\n700 log site=1 text=\"c\"\n"
	      "batch kind=end generation=2\nbatch kind=end generation=3\n",
	      "> 0.000000100 7/7 log site=\"r\" text=\"a\"\n"
	      "> 0.000000500 7/7 log site=\"r\" text=\"b\"\n"
	      "> 0.000000700 7/7 log site=\"r\" text=\"c\"\n"
	      "> 0.000000700 7/7 log site=\"r\" text=\"d\"\n"
	      "= batches 7 events 4\n");
}

/* Another thread has the number of one that has ended: when its batch begins counts, not which in
 * its thread it is. Of those that begin at once, that does. */
TEST(live_batches_of_a_generation_are_in_the_order_of_their_begin_and_number)
{
	gives(SITE "batch tid=7 seq=0 base=200\n200 log site=1 text=\"b\"\n"
		   "batch tid=7 seq=5 base=100\n100 log site=1 text=\"a\"\nbatch kind=end\n",
	      "> 0.000000100 7/7 log site=\"r\" text=\"a\"\n"
	      "> 0.000000200 7/7 log site=\"r\" text=\"b\" flags=new_thread\n"
	      "= batches 4 events 2\n");
	gives(SITE "batch tid=7 seq=2 base=100\n102 log site=1 text=\"c\"\n"
		   "batch tid=7 seq=0 base=100\n100 log site=1 text=\"a\"\n"
		   "batch tid=7 seq=1 base=100\n101 log site=1 text=\"b\"\nbatch kind=end\n",
	      "> 0.000000100 7/7 log site=\"r\" text=\"a\"\n"
	      "> 0.000000101 7/7 log site=\"r\" text=\"b\"\n"
	      "> 0.000000102 7/7 log site=\"r\" text=\"c\"\n"
	      "= batches 5 events 3\n");
}

TEST(live_events_of_the_same_instant_are_in_the_order_of_their_processes)
{
	gives("batch kind=sites pid=8 tid=1\n- site id=1 kind=1 name=\"r\"\n"
	      "batch pid=8 tid=100 base=100\n100 log site=1 text=\"b\"\n"
	      "200 log site=1 text=\"d\"\nbatch kind=end\n"
	      "batch kind=sites pid=7 tid=1\n- site id=1 kind=1 name=\"r\"\n"
	      "batch pid=7 tid=200 base=100\n100 log site=1 text=\"a\"\n"
	      "200 log site=1 text=\"c\"\nbatch kind=end\n",
	      "> 0.000000100 7/200 log site=\"r\" text=\"a\"\n"
	      "> 0.000000100 8/100 log site=\"r\" text=\"b\"\n"
	      "> 0.000000200 7/200 log site=\"r\" text=\"c\"\n"
	      "> 0.000000200 8/100 log site=\"r\" text=\"d\"\n"
	      "= batches 6 events 4\n");
}

TEST(live_region_that_ends_without_a_begin_behind_other_events_says_so)
{
	gives(SITE "batch tid=7 base=100\n100 log site=1 text=\"a\"\n101 region_begin site=1\n"
		   "102 region_end\n103 region_end\n104 region_begin site=1\n105 region_end\n"
		   "batch kind=end\n",
	      "> 0.000000100 7/7 log site=\"r\" text=\"a\"\n"
	      "> 0.000000101 7/7 region_begin site=\"r\" depth=0\n"
	      "> 0.000000102 7/7 region_end site=\"r\" depth=0 duration=1\n"
	      "> 0.000000103 7/7 region_end depth=0 flags=no_begin\n"
	      "> 0.000000104 7/7 region_begin site=\"r\" depth=0\n"
	      "> 0.000000105 7/7 region_end site=\"r\" depth=0 duration=1\n"
	      "= batches 3 events 6\n");
}

/* @nr regions of a nanosecond each from @time on: as text, and as what the reader makes of it. */
static void put_regions(struct strbuf *text, struct strbuf *want, uint32_t time, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++, time += 2) {
		coati_strbuf_printf(text, "%u region_begin site=1\n%u region_end\n", time,
				    time + 1);
		coati_strbuf_printf(want,
				    "> 0.000000%u 7/7 region_begin site=\"r\" depth=0\n"
				    "> 0.000000%u 7/7 region_end site=\"r\" depth=0 duration=1\n",
				    time, time + 1);
	}
}

/* Among many that are made ready together. */
TEST(live_region_that_ends_without_a_begin_among_many_says_so)
{
	struct strbuf text = STRBUF_INIT(1 << 16), want = STRBUF_INIT(1 << 16);

	coati_strbuf_adds(&text, SITE "batch tid=7 base=100\n");
	put_regions(&text, &want, 100, 40);
	coati_strbuf_adds(&text, "180 region_end\n");
	coati_strbuf_adds(&want, "> 0.000000180 7/7 region_end depth=0 flags=no_begin\n");
	put_regions(&text, &want, 181, 40);
	coati_strbuf_adds(&text, "batch kind=end\n");
	coati_strbuf_adds(&want, "= batches 3 events 161\n");
	gives(text.text, want.text);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&want);
}

/* ---- what comes later, and what is left out ---- */

static void feed_to(struct coati_live_reader *t, const char *text)
{
	struct coati_error err = { 0 };

	if (live_text_feed(t, text, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}

/* A process whose generations are whole; events of the first one at @from, and so many more behind
 * it, 10 ns apart. */
static void put_process(struct strbuf *s, uint32_t pid, uint32_t from, uint32_t nr)
{
	for (uint32_t g = 1; g <= 3; g++) {
		coati_strbuf_printf(s,
				    "batch kind=sites pid=%u tid=%u generation=%u\n"
				    "- site id=1 kind=1 name=\"r\"\nbatch tid=%u base=%u seq=%u\n",
				    pid, pid, g, pid, g == 1 ? from : 1000 * g, g - 1);
		for (uint32_t i = 0; i < (g == 1 ? nr : 1); i++)
			coati_strbuf_printf(s, "%u counter site=1 value=%u\n",
					    g == 1 ? from + 10 * i : 1000 * g, pid);
		coati_strbuf_adds(s, "batch kind=end\n");
	}
}

/* The next event, which is of that process and time. */
static void comes(struct coati_live_reader *t, uint32_t pid, uint64_t time, bool late)
{
	const struct coati_trace_event *e;

	CHECK_INT(coati_live_reader_next(t, &e), ==, 1);
	CHECK_U64(e->time, ==, time);
	CHECK_INT(e->pid, ==, pid);
	CHECK_INT(!!(e->flags & COATI_TRACE_LATE), ==, late);
}

/* A process of which nobody knew: its events are put between those that were about to come. What is
 * before the last that went out is late. */
TEST(live_events_of_a_process_that_comes_later_are_put_between_the_others)
{
	struct strbuf first = STRBUF_INIT(1 << 16), second = STRBUF_INIT(1 << 16);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;
	const struct coati_trace_event *e;

	put_process(&first, 7, 100, 5); /* 100 to 140 */
	put_process(&second, 8, 85, 5); /* 85 to 125 */
	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	feed_to(t, first.text);
	comes(t, 7, 100, false);
	comes(t, 7, 110, false);
	feed_to(t, second.text);
	CHECK_OK(coati_live_reader_finish(t));
	comes(t, 8, 85, true);
	comes(t, 8, 95, true);
	comes(t, 8, 105, true);
	comes(t, 8, 115, false);
	comes(t, 7, 120, false);
	comes(t, 8, 125, false);
	comes(t, 7, 130, false);
	comes(t, 7, 140, false);
	for (uint32_t g = 2; g <= 3; g++)
		for (uint32_t pid = 7; pid <= 8; pid++)
			comes(t, pid, 1000 * g, false);
	CHECK_INT(coati_live_reader_next(t, &e), ==, 0);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 14);
	CHECK_U64(q.late, ==, 3);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&first);
	coati_strbuf_fini(&second);
}

/* The same with so many that they are made ready together: those that are late, too, are given out
 * one by one and in order. */
TEST(live_events_that_come_late_together_are_in_order)
{
	struct strbuf first = STRBUF_INIT(1 << 16), second = STRBUF_INIT(1 << 16);
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;
	const struct coati_trace_event *e;

	put_process(&first, 7, 100, 40); /* 100 to 490 */
	put_process(&second, 8, 15, 60); /* 15 to 605 */
	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	feed_to(t, first.text);
	for (uint64_t time = 100; time <= 290; time += 10)
		comes(t, 7, time, false);
	feed_to(t, second.text);
	CHECK_OK(coati_live_reader_finish(t));
	for (uint64_t time = 15; time <= 285; time += 10)
		comes(t, 8, time, true);
	for (uint64_t time = 295; time <= 495; time += 5)
		comes(t, time % 10 ? 8 : 7, time, false);
	for (uint64_t time = 505; time <= 605; time += 10)
		comes(t, 8, time, false);
	for (uint32_t g = 2; g <= 3; g++)
		for (uint32_t pid = 7; pid <= 8; pid++)
			comes(t, pid, 1000 * g, false);
	CHECK_INT(coati_live_reader_next(t, &e), ==, 0);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.events, ==, 40 + 60 + 4);
	CHECK_U64(q.late, ==, 28);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&first);
	coati_strbuf_fini(&second);
}

/* The same of another thread of a process that is known: its clock contradicts its generation. */
TEST(live_events_of_a_thread_that_comes_later_are_put_between_the_others)
{
	struct strbuf text = STRBUF_INIT(1 << 16);
	struct coati_live_reader *t = NULL;

	put_process(&text, 7, 100, 5); /* 100 to 140 */
	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	feed_to(t, text.text);
	comes(t, 7, 100, false);
	comes(t, 7, 110, false);
	feed_to(t, "batch pid=7 tid=70 generation=4 base=115\n115 counter site=1 value=1\n"
		   "125 counter site=1 value=2\nbatch kind=end pid=7 generation=4\n");
	CHECK_OK(coati_live_reader_finish(t));
	for (uint64_t time = 115; time <= 130; time += 5)
		comes(t, 7, time, false);
	comes(t, 7, 140, false);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
}

/* The same with many: those that were about to come are listed already, and listed again. */
TEST(live_events_of_a_thread_that_comes_later_are_put_between_many_others)
{
	struct strbuf text = STRBUF_INIT(1 << 16);
	struct coati_live_reader *t = NULL;
	const struct coati_trace_event *e;

	put_process(&text, 7, 100, 40); /* 100 to 490 */
	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	feed_to(t, text.text);
	for (uint64_t time = 100; time <= 290; time += 10)
		comes(t, 7, time, false);
	coati_strbuf_clear(&text);
	coati_strbuf_adds(&text, "batch pid=7 tid=70 generation=4 base=295\n");
	for (uint32_t time = 295; time <= 685; time += 10)
		coati_strbuf_printf(&text, "%u counter site=1 value=1\n", time);
	coati_strbuf_adds(&text, "batch kind=end pid=7 generation=4\n");
	feed_to(t, text.text);
	CHECK_OK(coati_live_reader_finish(t));
	for (uint64_t time = 295; time <= 495; time += 5)
		comes(t, 7, time, false);
	for (uint64_t time = 505; time <= 685; time += 10)
		comes(t, 7, time, false);
	comes(t, 7, 2000, false);
	comes(t, 7, 3000, false);
	CHECK_INT(coati_live_reader_next(t, &e), ==, 0);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&text);
}

TEST(live_events_behind_the_end_that_was_asked_for_are_left_out_and_counted)
{
	for (uint64_t to = 99; to <= 150; to++) {
		struct coati_trace_opts o = { .size = sizeof(o), .to_ns = to };
		uint64_t want = to < 100 ? 0 : (to < 140 ? (to - 100) / 10 + 1 : 5);
		struct coati_trace_quality q = { .size = sizeof(q) };
		struct strbuf text = STRBUF_INIT(1 << 16);
		struct coati_live_reader *t = NULL;
		const struct coati_trace_event *e;

		put_process(&text, 7, 100, 5);
		CHECK_OK(coati_live_reader_new(&o, &t, NULL));
		feed_to(t, text.text);
		CHECK_OK(coati_live_reader_finish(t));
		for (uint64_t i = 0; i < want; i++)
			comes(t, 7, 100 + 10 * i, false);
		CHECK_INT(coati_live_reader_next(t, &e), ==, 0);
		coati_live_reader_get_quality(t, &q);
		CHECK_U64(q.events, ==, want);
		CHECK_U64(q.left_out, ==, 7 - want);
		coati_live_reader_free(&t);
		coati_strbuf_fini(&text);
	}
}

/* The validator counts what is wrong in many as it does one by one. */
TEST(live_check_of_many_counts_all_and_tells_the_first)
{
	static const struct coati_trace_event wrong = { .pid = 1,
							.tid = 1,
							.kind = COATI_TRACE_REGION_END,
							.time = 5,
							.generation = 1 },
					      right = { .pid = 1,
							.tid = 1,
							.kind = COATI_TRACE_COUNTER,
							.time = 6,
							.generation = 1 };
	const struct coati_trace_event *events[] = { &wrong, &right, &wrong, &right };
	struct coati_trace_check *c = NULL;
	struct coati_trace_finding f;

	CHECK_INT(coati_trace_check_new(&c, NULL), ==, 0);
	CHECK_INT(coati_trace_check_events(c, events, 4, &f), ==, 2);
	CHECK_U64(f.event, ==, 0);
	CHECK_HAS(f.text, "whose begin was not recorded");
	CHECK_INT(coati_trace_check_events(c, events + 1, 1, &f), ==, 0);
	coati_trace_check_free(&c);
}
