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

#define THREADS_MAX 12u
#define EVENTS	    3000u
#define DEPTH	    6u

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
				    below(m, 8) ? 1 : 200);
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
					      : "%llu counter site=200 value=-70000\n",
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
		write_one(m, turn % threads, 1000 + n / same, &m->events[n]);
	}
	sort_same(m);
	coati_strbuf_adds(&m->text, "batch kind=process pid=7\n- process pid=7 start=1 comm=\"a\"\n"
				    "batch kind=sites\n- site id=1 kind=1 name=\"r\"\n"
				    "- site id=200 kind=1 name=\"far\"\n"
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

/* Two batches wait behind one that is read, and the later generation's begins earlier: clocks may
 * contradict each other, generations do not. */
TEST(live_batches_of_a_thread_are_in_the_order_of_their_generations)
{
	static const char text[] =
		"batch kind=sites pid=7 tid=7 generation=1\n- site id=1 kind=1 name=\"r\"\n"
		"batch pid=7 tid=7 generation=1 seq=0 base=100\n100 log site=1 text=\"a\"\n"
		"500 log site=1 text=\"b\"\n"
		"batch kind=end generation=1\n"
		"batch tid=7 generation=3 seq=2 base=600\n600 log site=1 text=\"d\"\n"
		"batch tid=7 generation=2 seq=1 base=700\n700 log site=1 text=\"c\"\n"
		"batch kind=end generation=2\nbatch kind=end generation=3\n";
	struct strbuf out = STRBUF_INIT(1 << 16);

	CHECK_INT(live_text_run(text, &out, NULL), >=, 0);
	CHECK_STR(out.text, "> 0.000000100 7/7 log site=\"r\" text=\"a\"\n"
			    "> 0.000000500 7/7 log site=\"r\" text=\"b\"\n"
			    "> 0.000000700 7/7 log site=\"r\" text=\"c\"\n"
			    "> 0.000000700 7/7 log site=\"r\" text=\"d\"\n"
			    "= batches 7 events 4\n");
	coati_strbuf_fini(&out);
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
