/* SPDX-License-Identifier: MIT */
/* Every kind of event, as it comes out; texts of any length; what is told again in a new
 * generation. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/sampler.h>

#include "base/clock.h"
#include "lib/test.h"
#include "tracer-spool.h"

/* The n-th event of a kind, from 0, of the whole spool. */
struct wanted {
	const struct spool *spool;
	unsigned int kind, skip;
	bool found;
	struct live_view batch;
	struct live_event e;
};

static void look(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct wanted *w = ctx;

	if (w->found || e->kind != w->kind || w->skip-- > 0)
		return;
	w->found = true;
	w->batch = *b;
	w->e = *e;
}

static struct live_event nth(const struct spool *t, unsigned int kind, unsigned int n)
{
	struct wanted w = { .spool = t, .kind = kind, .skip = n };

	spool_each(t, look, &w);
	if (!w.found)
		test_fail_at(__FILE__, __LINE__, "no event %u of kind %u", n, kind);
	return w.e;
}

static const char *site_of(const struct spool *t, const struct live_event *e, unsigned int v)
{
	CHECK_U64(e->v[v], <, SPOOL_SITES);
	return t->sites[e->v[v]];
}

TEST(tracer_values_come_out_as_they_went_in)
{
	struct coati_recorder *rec = spool_start(0);
	struct live_event e;
	struct spool t;

	COATI_COUNTER("queue", -5);
	COATI_COUNTER("queue2", INT64_MIN);
	COATI_GAUGE("load", 0.1);
	COATI_FLOW_STEP("hop", UINT64_MAX);
	coati_thread_name("worker");
	coati_process_name("server");
	spool_snapshot(&t, rec);
	e = nth(&t, LIVE_COUNTER, 0);
	CHECK_STR(site_of(&t, &e, 0), "queue");
	CHECK_INT((int64_t)e.v[1], ==, -5);
	CHECK(nth(&t, LIVE_COUNTER, 1).v[1] == (uint64_t)INT64_MIN);
	e = nth(&t, LIVE_GAUGE, 0);
	CHECK(e.real == 0.1);
	e = nth(&t, LIVE_FLOW, 0);
	CHECK(e.v[1] == UINT64_MAX);
	CHECK_U64(e.v[2], ==, 1);
	CHECK_MEM(nth(&t, LIVE_THREAD_NAME, 0).text[0].text, "worker", 6);
	CHECK_MEM(nth(&t, LIVE_PROCESS_NAME, 0).text[0].text, "server", 6);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_writes_the_fields_of_an_instant)
{
	struct coati_recorder *rec = spool_start(0);
	struct live_fields f;
	struct live_field field;
	struct live_event e;
	struct spool t;

	COATI_EVENT("accept", "fd:i bytes:u ratio:d addr:x from:s", (int64_t)-1, UINT64_C(300), 2.5,
		    UINT64_C(0xdeadbeef), "me");
	spool_snapshot(&t, rec);
	e = nth(&t, LIVE_INSTANT, 0);
	f = coati_live_fields("fd:i bytes:u ratio:d addr:x from:s", 34, e.rest, e.rest_size);
	CHECK_INT(coati_live_field_next(&f, &field), ==, 1);
	CHECK_INT((int64_t)field.value, ==, -1);
	CHECK_INT(coati_live_field_next(&f, &field), ==, 1);
	CHECK_U64(field.value, ==, 300);
	CHECK_INT(coati_live_field_next(&f, &field), ==, 1);
	CHECK(field.real == 2.5);
	CHECK_INT(coati_live_field_next(&f, &field), ==, 1);
	CHECK_U64(field.value, ==, 0xdeadbeef);
	CHECK_INT(coati_live_field_next(&f, &field), ==, 1);
	CHECK_MEM(field.text.text, "me", 2);
	CHECK_INT(coati_live_field_next(&f, &field), ==, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_writes_an_instant_that_has_no_fields)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	COATI_INSTANT("reload");
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_INSTANT], ==, 1);
	CHECK_U64(nth(&t, LIVE_INSTANT, 0).rest_size, ==, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- tasks ---- */

TEST(tracer_tasks_have_parents_and_numbers_of_their_own)
{
	struct coati_live_task before, task, child;
	struct coati_recorder *rec;
	struct live_event e;
	struct spool t;

	COATI_TASK_BEGIN(&before, "before", NULL);
	rec = spool_start(0);
	COATI_TASK_BEGIN(&task, "request", NULL);
	{
		COATI_TASK_SCOPE(&task);
		COATI_TASK_BEGIN(&child, "query", NULL);
		coati_task_end(&child);
		coati_task_end(&child);
	}
	coati_task_end(&task);
	CHECK(before.id && task.id && child.id);
	CHECK(before.id != task.id && task.id != child.id && before.id != child.id);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_TASK_BEGIN], ==, 2);
	CHECK_U64(t.kinds[LIVE_TASK_END], ==, 2);
	e = nth(&t, LIVE_TASK_BEGIN, 1);
	CHECK_STR(site_of(&t, &e, 0), "query");
	CHECK_U64(e.v[1], ==, child.id);
	CHECK_U64(e.v[2], ==, task.id);
	CHECK_U64(nth(&t, LIVE_TASK_ENTER, 0).v[0], ==, task.id);
	CHECK_U64(nth(&t, LIVE_TASK_ENTER, 1).v[0], ==, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_tells_what_is_open_in_every_generation)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_live_task task;
	struct live_event e;
	struct spool t;

	COATI_TASK_BEGIN(&task, "long", NULL);
	{
		COATI_TASK_SCOPE(&task);
		COATI_REGION("outside");
		{
			COATI_REGION("inside");

			spool_snapshot(&t, rec);
			spool_free(&t);
			spool_snapshot(&t, rec);
		}
	}
	/* two generations follow the one in which they began; the snapshot has the first of them,
	 * and both tell everything */
	CHECK_U64(t.kinds[LIVE_OPEN_REGION], ==, 2);
	CHECK_U64(t.kinds[LIVE_OPEN_TASK], ==, 1);
	e = nth(&t, LIVE_OPEN_REGION, 0);
	CHECK_STR(site_of(&t, &e, 1), "outside");
	CHECK_U64(e.v[2], ==, 0);
	e = nth(&t, LIVE_OPEN_REGION, 1);
	CHECK_STR(site_of(&t, &e, 1), "inside");
	CHECK_U64(e.v[2], ==, 1);
	e = nth(&t, LIVE_OPEN_TASK, 0);
	CHECK_STR(site_of(&t, &e, 0), "long");
	CHECK_U64(e.v[1], ==, task.id);
	CHECK(nth(&t, LIVE_OPEN_ENTER, 1).v[1] == task.id);
	spool_free(&t);
	coati_task_end(&task);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 2);
	CHECK_U64(t.kinds[LIVE_TASK_END], ==, 1);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- texts ---- */

/* What the n-th log says, and how long it was. */
static void log_text(const struct spool *t, unsigned int n, const char **ret, uint64_t *ret_size,
		     uint64_t *ret_full)
{
	struct live_event e = nth(t, LIVE_LOG, n), s;

	*ret = e.text[0].text;
	*ret_size = *ret_full = e.text[0].size;
	for (unsigned int i = 0; e.text[0].is_ref; i++) {
		s = nth(t, LIVE_STRING, i);
		if (s.v[0] != e.text[0].ref)
			continue;
		*ret = (const char *)s.rest;
		*ret_size = s.rest_size;
		*ret_full = s.v[1] ? s.v[1] : s.rest_size;
		break;
	}
}

TEST(tracer_log_texts_of_every_length_around_a_batch_are_whole_or_cut)
{
	static const uint32_t sizes[] = { 0,	 1,	63,    64,    127,   128,   129,    4095,
					  7999,	 8000,	8001,  12000, 16000, 16191, 16192,  16288,
					  16384, 16385, 32768, 65535, 65536, 70000, 1000000 };
	static char text[1000001];
	struct coati_recorder *rec = spool_start(0);
	static struct coati_site site = COATI_SITE(COATI_SITE_LOG, "", "", NULL, 0, 0);
	const unsigned int count = sizeof(sizes) / sizeof(sizes[0]);
	struct spool t;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + i % 26);
	for (unsigned int i = 0; i < count; i++)
		coati_log_text(&site, text, sizes[i]);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_LOG], ==, count);
	CHECK_U64(t.lost, ==, 0);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t size, full;
		const char *said;

		log_text(&t, i, &said, &size, &full);
		CHECK_U64(full, ==, sizes[i]);
		CHECK_U64(size, ==, sizes[i] <= 8000 ? sizes[i] : 8000);
		CHECK_MEM(said, text, size);
	}
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* Each batch ends at another place, as one byte more stands before the text. */
TEST(tracer_texts_cross_the_end_of_a_batch_at_every_place)
{
	static char text[8000];
	struct coati_recorder *rec = spool_start(0);
	static struct coati_site site = COATI_SITE(COATI_SITE_LOG, "", "", NULL, 0, 0);
	uint64_t bytes = 0;
	struct spool t;

	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < 1200; i++) {
		coati_log_text(&site, text, i % 600 * 13);
		bytes += i % 600 * 13;
	}
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_LOG], ==, 1200);
	CHECK_U64(t.lost, ==, 0);
	CHECK_U64(t.size, >, bytes);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_formats_logs_and_says_what_was_cut)
{
	struct coati_recorder *rec = spool_start(0);
	uint64_t size, full;
	const char *said;
	struct spool t;

	COATI_LOG("http", "%s: %d bytes", "/index", 42);
	COATI_LOG("http", "%5000d", 1);
	spool_snapshot(&t, rec);
	log_text(&t, 0, &said, &size, &full);
	CHECK_MEM(said, "/index: 42 bytes", 16);
	log_text(&t, 1, &said, &size, &full);
	CHECK_U64(full, ==, 5000);
	CHECK_U64(size, ==, 1023);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_site_with_a_name_of_70000_bytes_is_cut_and_marked)
{
	static char name[70001];
	static struct coati_site site = COATI_SITE(COATI_SITE_REGION, "", NULL, NULL, 0, 0);
	struct coati_recorder *rec = spool_start(0);
	struct live_event e;
	struct spool t;

	memset(name, 'n', sizeof(name) - 1);
	site.name = name;
	coati_region_begin(&site);
	coati_region_end(&site);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 1);
	e = nth(&t, LIVE_SITE, 0);
	CHECK_U64(e.text[0].size, ==, 1023);
	CHECK_MEM(e.text[0].text + 1019, "n...", 4);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- resources ---- */

static const char *const states[] = { "idle", "busy", "closed" };
static const uint64_t next[] = { 1 << 1 | 1 << 2, 1 << 0 | 1 << 2, 0 };
static struct coati_resource_type connection = { "connection", states, next, 3, 0 };

TEST(tracer_resources_change_states_and_say_what_is_not_allowed)
{
	struct coati_recorder *rec = spool_start(0);
	struct coati_resource c;
	struct live_event e;
	struct spool t;

	coati_resource_begin(&connection, "peer 7", 0, &c);
	CHECK_OK(coati_resource_set(&c, 1, "request"));
	CHECK_ERR(coati_resource_set(&c, 1, "request"), -EINVAL);
	CHECK_ERR(coati_resource_set(&c, 3, "no such"), -EINVAL);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_TYPE], ==, 1);
	e = nth(&t, LIVE_RESOURCE_SET, 0);
	CHECK_U64(e.v[1], ==, c.id);
	CHECK_U64(e.v[2], ==, 0);
	CHECK_U64(e.v[3], ==, 1);
	CHECK(e.text[0].is_ref);
	CHECK_U64(t.kinds[LIVE_RESOURCE_SET], ==, 3);
	/* the same reason is one string */
	CHECK_U64(t.kinds[LIVE_STRING], ==, 2);
	spool_free(&t);
	spool_snapshot(&t, rec);
	coati_resource_end(&c);
	e = nth(&t, LIVE_OPEN_RESOURCE, 0);
	CHECK_U64(e.v[1], ==, c.id);
	CHECK_U64(e.v[2], ==, 3);
	CHECK_MEM(e.text[0].text, "peer 7", 6);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- lazy regions ---- */

static void quiet(void)
{
	COATI_REGION_LAZY("quiet", 0);
}

static void loud(void)
{
	COATI_REGION_LAZY("outer", 0);
	{
		COATI_REGION_LAZY("loud", 0);

		COATI_COUNTER("inside", 1);
	}
}

TEST(tracer_lazy_regions_are_written_when_something_happens_inside)
{
	struct coati_recorder *rec = spool_start(0);
	struct live_event e;
	struct spool t;

	for (int i = 0; i < 100; i++)
		quiet();
	loud();
	quiet();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 2);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 2);
	e = nth(&t, LIVE_REGION_BEGIN, 0);
	CHECK_STR(site_of(&t, &e, 0), "outer");
	e = nth(&t, LIVE_REGION_BEGIN, 1);
	CHECK_STR(site_of(&t, &e, 0), "loud");
	CHECK(nth(&t, LIVE_REGION_BEGIN, 0).time <= e.time);
	CHECK(e.time <= nth(&t, LIVE_COUNTER, 0).time);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_regions_that_last_long_enough_are_ranges)
{
	struct coati_recorder *rec = spool_start(0);
	struct live_event e;
	struct spool t;

	for (int i = 0; i < 10; i++) {
		COATI_REGION_LAZY("never", UINT64_C(3600000000000));
	}
	{
		COATI_REGION_LAZY("slow", 1);

		usleep(10);
	}
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_RANGE], ==, 1);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 0);
	e = nth(&t, LIVE_RANGE, 0);
	CHECK_STR(site_of(&t, &e, 0), "slow");
	CHECK_U64(e.v[1], >, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- regions that do not pair ---- */

TEST(tracer_ends_the_regions_that_a_jump_left_out)
{
	static struct coati_site a = COATI_SITE(COATI_SITE_REGION, "", "a", NULL, 0, 0);
	static struct coati_site b = COATI_SITE(COATI_SITE_REGION, "", "b", NULL, 0, 0);
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	coati_region_end(&a); /* never began */
	coati_region_begin(&a);
	coati_region_begin(&b);
	coati_region_begin(&b);
	coati_region_end(&a); /* and those inside */
	coati_region_end(&b); /* ended already */
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 3);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 3);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

static void down(int depth)
{
	COATI_REGION("deep");

	if (depth)
		down(depth - 1);
}

TEST(tracer_regions_deeper_than_it_remembers_still_pair)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	down(1000);
	down(10);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 1012);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 1012);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- stacks and labels ---- */

static __attribute__((noinline)) void with_stack(void)
{
	COATI_REGION_STACK("stacked");
	__asm__ volatile("");
}

struct stack_of {
	uint64_t low, high;
	unsigned int hits;
};

static void find_stack(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct stack_of *w = ctx;
	uint64_t address = 0;
	uint32_t pos = 0;

	if (e->kind != LIVE_STACK)
		return;
	while (coati_live_stack_next(e, &pos, &address) == 1)
		w->hits += address > w->low && address < w->high;
}

TEST(tracer_stack_of_a_region_holds_who_called)
{
	struct stack_of w = { (uint64_t)(uintptr_t)with_stack, 0, 0 };
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	w.high = w.low + 1024;
	for (int i = 0; i < 100; i++)
		with_stack();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_STACKED], ==, 100);
	CHECK_U64(t.kinds[LIVE_STACK], ==, 1);
	spool_each(&t, find_stack, &w);
	CHECK_U64(w.hits, >=, 1);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_tells_labels_when_they_change_and_in_every_generation)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .flags = COATI_RECORDER_LABELS,
					    .generation_ns = UINT64_C(3600000000000),
					    .directory = "" };
	struct coati_recorder *rec = NULL;
	struct live_event e;
	struct spool t;
	uint64_t before;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	{
		COATI_LABEL("tenant", "acme");
		spool_snapshot(&t, rec);
		before = t.kinds[LIVE_LABELS];
		CHECK_U64(before, >=, 1);
		spool_free(&t);
		spool_snapshot(&t, rec);
	}
	CHECK_U64(t.kinds[LIVE_LABELS], ==, before + 1);
	e = nth(&t, LIVE_LABELS, (unsigned int)before);
	CHECK_U64(e.rest_size, ==, 12);
	CHECK_MEM(e.rest, "\6tenant\4acme", 12);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- switches ---- */

TEST(tracer_leaves_out_categories_and_sites_that_are_off)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .categories = "http,-noise",
					    .directory = "" };
	static struct coati_site off = COATI_SITE(COATI_SITE_REGION, "http", "off", NULL, 0, 0);
	struct coati_recorder *rec = NULL;
	struct spool t;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	for (int i = 0; i < 3; i++) {
		COATI_REGION_IN("http", "in");
		COATI_REGION_IN("noise", "out");
		COATI_REGION_IN("other", "out");
		coati_region_begin(&off);
		coati_region_end(&off);
		coati_site_switch(&off, i == 1);
	}
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 3 + 2);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 3 + 2);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- samples of the sampler ---- */

/* Until the kernel has charged it for some ticks, from now on: on a slow CPU the start of the
 * process alone takes as long. */
static void burn(void)
{
	uint64_t end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 100 * NSEC_PER_MSEC;

	do {
		for (int i = 0; i < 100000; i++)
			__asm__ volatile("" ::: "memory");
	} while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns);
}

TEST(tracer_has_the_samples_when_they_are_wanted)
{
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .flags = COATI_RECORDER_SAMPLES,
					 .directory = "" };
	struct coati_sampler_opts s = { .size = sizeof(s),
					.rate_hz = 100,
					.engine = COATI_SAMPLER_TIMER };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *rec = NULL;
	struct live_event e;
	struct spool t;

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
	test_skip("TSan delivers signals late: samples are not where they were taken");
#endif
#endif
	if (test_emulated())
		test_skip("the emulator charges CPU time as it likes");
	CHECK_OK(coati_recorder_start(&o, &rec, NULL));
	CHECK_OK(coati_sampler_start(&s, NULL));
	burn();
	CHECK_OK(coati_sampler_stop(-1, &stats, NULL));
	spool_snapshot(&t, rec);
	CHECK_U64(stats.samples, >, 0);
	CHECK_U64(t.kinds[LIVE_SAMPLE], ==, stats.samples + stats.lost);
	e = nth(&t, LIVE_SAMPLE, 0);
	CHECK_U64(e.v[0], >, 0);		   /* a stack */
	CHECK_U64(e.v[1], >, stats.period_ns / 2); /* periods differ a little */
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	/* nobody wants them any more */
	CHECK_OK(coati_sampler_start(&s, NULL));
	CHECK_OK(coati_sampler_stop(-1, NULL, NULL));
}
