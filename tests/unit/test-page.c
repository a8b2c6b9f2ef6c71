/* SPDX-License-Identifier: MIT */
/* The data of the browser page: columns byte by byte, samples with their sums, thinning,
 * findings. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/leb128.h"
#include "base/strbuf.h"
#include "lib/fake-tree.h"
#include "page/columns.h"
#include "page/encode.h"
#include "page/findings.h"
#include "page/measure.h"
#include "page/page.h"
#include "unit/profile-tape.h"

TEST(page_columns_have_the_bytes_of_their_manual)
{
	struct columns c = { 0 };
	struct column *time = coati_columns_add(&c, "s.time", COLUMN_DELTA);
	struct column *real = coati_columns_add(&c, "r", COLUMN_REAL);
	struct strbuf bytes = STRBUF_INIT(4096);
	static const char index[] =
		"{\"schema\":\"coati.page.v1\",\"sections\":["
		"{\"name\":\"s.time\",\"kind\":\"delta\",\"count\":3,\"size\":5},"
		"{\"name\":\"r\",\"kind\":\"real\",\"count\":1,\"size\":8}]}";

	coati_column_put(time, 100);
	coati_column_put(time, 250);
	coati_column_put(time, 240);
	coati_column_real(real, 1.0);
	CHECK_INT(coati_columns_join(&c, &bytes), ==, 0);
	CHECK_MEM(bytes.text, "coatipg1", 8);
	CHECK_INT((unsigned char)bytes.text[8], ==, sizeof(index) - 1);
	CHECK_MEM(bytes.text + 12, index, sizeof(index) - 1);
	CHECK_MEM(bytes.text + 12 + sizeof(index) - 1, "\xc8\x01\xac\x02\x13", 5);
	CHECK_MEM(bytes.text + 12 + sizeof(index) - 1 + 5, "\0\0\0\0\0\0\xf0\x3f", 8);
	CHECK_U64(bytes.len, ==, 12 + sizeof(index) - 1 + 13);
	coati_columns_fini(&c);
	coati_strbuf_fini(&bytes);
}

TEST(page_columns_hold_numbers_of_every_length)
{
	static const uint64_t numbers[] = { 0, 127, 128, 16384, UINT32_MAX, UINT64_MAX };
	struct columns c = { 0 };
	struct column *col = coati_columns_add(&c, "n", COLUMN_UINT);
	struct cursor at;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		coati_column_put(col, numbers[i]);
	at = cursor_over(col->bytes.text, col->bytes.len);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		CHECK_U64(cursor_uleb(&at), ==, numbers[i]);
	CHECK(!at.bad && at.at == at.end);
	coati_columns_fini(&c);
}

TEST(page_base64_is_that_of_the_standard)
{
	static const char *const pairs[][2] = {
		{ "", "" },	   { "f", "Zg==" },	   { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "\xff\xfe", "//4=" }
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct strbuf in = STRBUF_INIT(64), out = STRBUF_INIT(64);

		coati_strbuf_adds(&in, pairs[i][0]);
		coati_page_base64(&in, &out);
		CHECK_STR(out.text, pairs[i][1]);
		coati_strbuf_fini(&in);
		coati_strbuf_fini(&out);
	}
}

/* ---- a recording ---- */

/* Four samples of two threads: 1000 + 2000 + 1000 + 1000. */
static void write_recording(void)
{
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_fork(&t, 10, 11, 10, 10);
	tape_comm(&t, 10, 11, "worker", 0);
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t,
		 (struct tape_sample){
			 .pid = 10, .tid = 11, .period = 2000, TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_OTHER, TAPE_MAIN) });
	tape_close(&t);
}

static int make(const struct page_opts *opts, struct page **ret, struct strbuf *data,
		struct coati_error *err)
{
	int r = coati_page_new(opts, ret, err);

	if (r == 0)
		r = coati_page_read(*ret, "a", NULL, NULL, err);
	return r < 0 ? r : coati_page_data(*ret, data, err);
}

static struct column_reader column_of(const struct page *p, const char *name, uint64_t *ret_nr)
{
	for (size_t i = 0; i < p->columns.v.len; i++)
		if (!strcmp(p->columns.v.v[i]->name, name)) {
			*ret_nr = p->columns.v.v[i]->count;
			return column_read(p->columns.v.v[i]);
		}
	test_fail_at(__FILE__, __LINE__, "the page has no column %s", name);
}

static uint64_t sum_of(const struct page *p, const char *name)
{
	uint64_t nr, sum = 0;
	struct column_reader r = column_of(p, name, &nr);

	for (; nr; nr--)
		sum += column_next(&r);
	return sum;
}

/* The functions of a node, the outermost first; until the next call. */
static const char *path_of(const struct page *p, uint32_t node)
{
	static char text[256], longer[sizeof(text)];

	text[0] = '\0';
	for (; node; node = p->names.nodes.v[node].parent) {
		uint32_t frame = p->names.nodes.v[node].frame;
		uint32_t name = p->names.functions.v[p->names.frames.v[frame].function].name;

		snprintf(longer, sizeof(longer), "/%s%s", p->names.texts.v[name], text);
		snprintf(text, sizeof(text), "%s", longer);
	}
	return text;
}

TEST(page_has_every_sample_with_its_weight_and_path)
{
	static const char *const paths[] = { "/main/leaf", "/main/work", "/main/leaf",
					     "/main/other" };
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct page *p = NULL;
	struct column_reader time, node;
	uint64_t nr, last = 0;

	write_recording();
	CHECK_INT(make(&(struct page_opts){ .title = "t" }, &p, &data, &err), ==, 0);
	time = column_of(p, "s.time", &nr);
	node = column_of(p, "s.node", &nr);
	CHECK_U64(nr, ==, 4);
	for (; nr; nr--) {
		uint64_t t = column_next(&time), n = column_next(&node);

		CHECK(t >= last);
		CHECK(n > 0 && n < p->names.nodes.len);
		last = t;
	}
	CHECK_U64(sum_of(p, "s.weight"), ==, 5000);
	CHECK_U64(sum_of(p, "s.count"), ==, 4);
	/* root, main, and below it leaf, work and other */
	CHECK_U64(p->names.nodes.len, ==, 5);
	node = column_of(p, "s.node", &nr);
	for (uint64_t i = 0; i < nr; i++)
		CHECK_STR(path_of(p, (uint32_t)column_next(&node)), paths[i]);
	CHECK_STR(err.text, "");
	CHECK_U64(p->threads.len, ==, 2);
	CHECK(data.len > 100 && !memcmp(data.text, "coatipg1", 8));
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

TEST(page_that_is_thinned_keeps_its_sums_and_says_so)
{
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct page *p = NULL;
	bool said = false;
	uint64_t nr;

	write_recording();
	CHECK_INT(make(&(struct page_opts){ .max_items = 3 }, &p, &data, &err), ==, 0);
	for (uint32_t i = 0; coati_page_note(p, i); i++)
		said |= strstr(coati_page_note(p, i), "joins samples") != NULL;
	CHECK_U64(sum_of(p, "s.weight"), ==, 5000);
	CHECK_U64(sum_of(p, "s.count"), ==, 4);
	column_of(p, "s.time", &nr);
	CHECK_U64(nr, <=, 3);
	CHECK(said);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

TEST(page_follows_the_filter)
{
	struct coati_filter filter = { .size = sizeof(filter), .thread = "11" };
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct page *p = NULL;

	write_recording();
	CHECK_INT(make(&(struct page_opts){ .filter = &filter }, &p, &data, &err), ==, 0);
	CHECK_U64(sum_of(p, "s.count"), ==, 1);
	CHECK_U64(sum_of(p, "s.weight"), ==, 2000);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

TEST(page_gives_no_file_that_is_not_of_its_frames)
{
	struct strbuf data = STRBUF_INIT(1u << 24), text = STRBUF_INIT(1u << 20);
	struct coati_error err = { 0 };
	struct page *p = NULL;

	write_recording();
	CHECK_INT(make(&(struct page_opts){ .title = "/etc/passwd" }, &p, &data, &err), ==, 0);
	for (uint32_t i = 0; i < p->names.texts.len + 3; i++)
		CHECK(coati_page_source(p, i, &text) < 0);
	CHECK_U64(text.len, ==, 0);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
	coati_strbuf_fini(&text);
}

TEST(page_survives_every_failing_allocation)
{
	struct coati_error err;
	int r = -ENOMEM;

	write_recording();
	for (uint64_t n = 0; r < 0 && n < 100000; n += 1 + n / 16) {
		struct strbuf data = STRBUF_INIT(1u << 24);
		struct page *p = NULL;

		coati_alloc_fail_after(n);
		r = make(&(struct page_opts){ .title = "t" }, &p, &data, &err);
		coati_alloc_fail_after(UINT64_MAX);
		coati_page_free(&p);
		coati_strbuf_fini(&data);
	}
	CHECK_INT(r, ==, 0);
}

/* ---- the timeline and live events ---- */

/* Thread 10 runs, is preempted by 11, which it has started, and runs to the end; one page fault. */
static void write_timeline(void)
{
	static const char live[] = "batch kind=sites pid=10\n"
				   "- site id=1 kind=2 name=\"queued\"\n"
				   "- site id=2 kind=1 name=\"outer\"\n"
				   "- site id=3 kind=4 name=\"mark\"\n"
				   "- type id=1 name=\"queue\" states=\"empty:3 full:3\"\n"
				   "batch tid=10 pid=10 base=15000\n"
				   "15000 open_enter tid=10 id=0\n"
				   "15000 region_begin site=2\n"
				   "15100 counter site=1 value=-5\n"
				   "15200 gauge site=1 value=2.5\n"
				   "15300 log site=2 text=\"said\"\n"
				   "15400 instant site=3\n"
				   "15500 flow site=2 id=12 phase=0\n"
				   "15600 resource_new type=1 id=4 state=0 name=\"q\"\n"
				   "15700 resource_set type=1 id=4 from=0 to=1\n"
				   "15900 resource_end type=1 id=4\n"
				   "25000 region_end\n"
				   "batch kind=end pid=10\n";
	struct tape t;

	tape_begin_switches(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_PAGE_FAULTS, "page-faults",
		   COATI_SAMPLE_CALLCHAIN);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CONTEXT_SWITCHES, COATI_OFF_CPU_EVENT,
		   COATI_SAMPLE_CALLCHAIN);
	tape_live_event(&t);
	tape_start(&t);
	tape_process(&t, 10, "app");
	tape_switch(&t, 10, 10, 10000, 0);
	tape_put(&t, (struct tape_sample){ .pid = 10, .time = 11000, TAPE_STACK(TAPE_LEAF) });
	t.time = 11000;
	tape_fork(&t, 10, 11, 10, 10);
	tape_switch(&t, 10, 10, 13000, COATI_MISC_SWITCH_OUT | COATI_MISC_SWITCH_OUT_PREEMPT);
	tape_switch(&t, 10, 11, 13000, 0);
	tape_put(&t,
		 (struct tape_sample){
			 .event = 1, .pid = 10, .tid = 11, .time = 13500, TAPE_STACK(TAPE_WORK) });
	tape_put(&t,
		 (struct tape_sample){
			 .event = 2, .pid = 10, .tid = 11, .time = 14000, TAPE_STACK(TAPE_WORK) });
	tape_switch(&t, 10, 11, 14000, COATI_MISC_SWITCH_OUT);
	tape_switch(&t, 10, 10, 14000, 0);
	tape_live_text(&t, live);
	tape_switch(&t, 10, 10, 30000, COATI_MISC_SWITCH_OUT);
	tape_close(&t);
}

/* The numbers of a column are these, up to one that is UINT64_MAX. */
static void check_column(const struct page *p, const char *name, const uint64_t *numbers)
{
	uint64_t nr, i = 0;
	struct column_reader r = column_of(p, name, &nr);

	for (; numbers[i] != UINT64_MAX && i < nr; i++) {
		uint64_t v = column_next(&r);

		if (v != numbers[i])
			test_fail_at(__FILE__, __LINE__, "%s: number %llu is %llu, not %llu", name,
				     (unsigned long long)i, (unsigned long long)v,
				     (unsigned long long)numbers[i]);
	}
	CHECK_U64(nr, ==, i);
	CHECK(numbers[i] == UINT64_MAX);
}

#define CHECK_COLUMN(p, name, ...) \
	check_column(p, name, (const uint64_t[]){ __VA_ARGS__, UINT64_MAX })

static bool has_note(const struct page *p, const char *part)
{
	for (uint32_t i = 0; coati_page_note(p, i); i++)
		if (strstr(coati_page_note(p, i), part))
			return true;
	return false;
}

TEST(page_has_states_counters_and_marks_of_a_timeline)
{
	static const double values[] = { -5, 2.5 };
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct page *p = NULL;
	struct column_reader real;
	uint64_t nr;
	const uint64_t B = 1000; /* the first record */

	write_timeline();
	CHECK_INT(make(&(struct page_opts){ .title = "t" }, &p, &data, &err), ==, 0);
	CHECK_U64(p->begin, ==, B);
	CHECK_U64(p->end, ==, 30000);
	CHECK_COLUMN(p, "th.states", 4, 3);
	CHECK_COLUMN(p, "iv.begin", 10000 - B, 13000 - B, 14000 - B, 30000 - B, 12000 - B,
		     13000 - B, 14000 - B);
	CHECK_COLUMN(p, "iv.state", COATI_WAIT_RUNNING, COATI_WAIT_PREEMPTED, COATI_WAIT_RUNNING,
		     COATI_WAIT_OTHER, COATI_WAIT_RUNNABLE, COATI_WAIT_RUNNING, COATI_WAIT_OTHER);
	CHECK_COLUMN(p, "rg.begin", 15000 - B);
	CHECK_COLUMN(p, "rg.length", 10000);
	CHECK_COLUMN(p, "ct.time", 15100 - B, 15200 - B);
	real = column_of(p, "ct.value", &nr);
	CHECK_U64(nr, ==, 2);
	CHECK_MEM(real.at.at, values, sizeof(values));
	CHECK_COLUMN(p, "lg.time", 15300 - B);
	CHECK_COLUMN(p, "mk.time", 15400 - B);
	CHECK_COLUMN(p, "fl.time", 15500 - B);
	CHECK_COLUMN(p, "fl.low", 12);
	CHECK_COLUMN(p, "st.begin", 15600 - B, 15700 - B);
	CHECK_COLUMN(p, "st.length", 100, 200);
	CHECK(!has_note(p, "are left out"));
	/* page faults are no time, and not added to it */
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(coati_page_counts_event(p, i), ==,
			  strcmp(coati_profile_event(p->profile, i)->name, "page-faults") != 0);
	CHECK_STR(err.text, "");
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

/* Its states may go on behind all samples and live events. */
TEST(page_ends_where_its_timeline_does)
{
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct measured m = { 0 };
	struct page *p = NULL;
	struct tape t;

	tape_begin_switches(&t, "a");
	tape_start(&t);
	tape_process(&t, 10, "app");
	tape_switch(&t, 10, 10, 10000, 0);
	tape_put(&t, (struct tape_sample){ .pid = 10, .time = 11000, TAPE_STACK(TAPE_LEAF) });
	tape_switch(&t, 10, 10, 30000, COATI_MISC_SWITCH_OUT);
	tape_close(&t);
	CHECK_INT(make(&(struct page_opts){ .title = "t" }, &p, &data, &err), ==, 0);
	CHECK_U64(p->end, ==, 30000);
	/* it was never queued */
	CHECK_OK(coati_page_measure(p, &m));
	CHECK(m.measures[FINDING_RUN_QUEUE].is_known);
	CHECK_U64(m.measures[FINDING_RUN_QUEUE].ns, ==, 0);
	CHECK(m.measures[FINDING_RUN_QUEUE].share == 0);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

/* The shortest first, until there is room; neighbors that are left out are one. */
TEST(page_leaves_out_short_states_and_says_how_short)
{
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct page *p = NULL;

	write_timeline();
	CHECK_INT(make(&(struct page_opts){ .max_items = 4 }, &p, &data, &err), ==, 0);
	CHECK(has_note(p, "the page shows 3 of 7 scheduler states: those shorter than 0.002 ms are "
			  "left out"));
	CHECK_COLUMN(p, "th.states", 4, 2);
	CHECK(has_note(p, "the page shows 4 of 7 logs, counter values, resource states, flows and "
			  "marks"));
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

/* A file that a frame is in, and what is none. */
TEST(page_gives_the_source_of_its_frames)
{
	struct strbuf data = STRBUF_INIT(1u << 24), text = STRBUF_INIT(1u << 20);
	struct coati_error err = { 0 };
	struct page *p = NULL;
	uint32_t file, folder;

	write_recording();
	CHECK_OK(fake_file("src", "a.c", "int main;\n"));
	CHECK_INT(make(&(struct page_opts){ .title = "t" }, &p, &data, &err), ==, 0);
	file = coati_page_text(&p->names, "src/a.c");
	folder = coati_page_text(&p->names, "src");
	CHECK_ERR(coati_page_source(p, file, &text), -ENOENT);
	p->names.frames.v[0].file = file;
	p->names.frames.v[1].file = folder;
	CHECK_OK(coati_page_source(p, file, &text));
	CHECK_STR(text.text, "int main;\n");
	CHECK(coati_page_source(p, folder, &text) < 0);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
	coati_strbuf_fini(&text);
}

/* ---- findings ---- */

TEST(finding_holds_at_its_limits_and_not_below_any_of_them)
{
	for (int i = 0; i < FINDING_KINDS; i++) {
		const enum finding_kind kind = (enum finding_kind)i;
		const struct finding_limits *l = coati_finding_limits(kind);
		struct finding_measure at = { .share = l->share,
					      .ns = l->ns,
					      .nr = l->nr,
					      .threads = l->threads,
					      .is_known = true };
		struct finding_measure near = at;

		CHECK(coati_finding_holds(kind, &at));
		near.share *= 0.99;
		CHECK(!coati_finding_holds(kind, &near));
		near = at;
		near.nr--;
		CHECK(!coati_finding_holds(kind, &near));
		near = at;
		near.is_known = false;
		CHECK(!coati_finding_holds(kind, &near));
		if (l->ns) {
			near = at;
			near.ns--;
			CHECK(!coati_finding_holds(kind, &near));
		}
	}
}

/* @hot of 200 samples are of one function. */
static void find_hot(int hot, struct findings *ret)
{
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct page *p = NULL;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (int i = 0; i < 200; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   TAPE_STACK(i < hot ? TAPE_LEAF
							      : i % 2 ? TAPE_WORK
								      : TAPE_OTHER,
							      TAPE_MAIN) });
	tape_close(&t);
	CHECK_INT(make(&(struct page_opts){ .title = "t" }, &p, &data, &err), ==, 0);
	CHECK_INT(coati_page_findings(p, ret), ==, 0);
	/* its strings are the page's */
	ret->list[0].function = NULL;
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}

TEST(finding_of_a_hot_function_begins_with_half_of_the_time)
{
	struct findings f;

	find_hot(100, &f);
	CHECK_U64(f.nr, ==, 1);
	CHECK_INT(f.list[0].kind, ==, FINDING_HOT_FUNCTION);
	CHECK(strstr(f.list[0].text, "50 %") != NULL);
	find_hot(99, &f);
	CHECK_U64(f.nr, ==, 0);
	CHECK_U64(f.measures[FINDING_HOT_FUNCTION].nr, ==, 99);
	CHECK(!f.measures[FINDING_RUN_QUEUE].is_known);
}

/* Threads that were ready to run but had no CPU: 10 for 1 us after 13, 11 for 1 us before it. */
TEST(finding_of_a_run_queue_has_the_time_that_threads_were_queued)
{
	struct strbuf data = STRBUF_INIT(1u << 24);
	struct coati_error err = { 0 };
	struct measured m = { 0 };
	struct page *p = NULL;

	write_timeline();
	CHECK_INT(make(&(struct page_opts){ .title = "t" }, &p, &data, &err), ==, 0);
	CHECK_OK(coati_page_measure(p, &m));
	CHECK(m.measures[FINDING_RUN_QUEUE].is_known);
	CHECK_U64(m.measures[FINDING_RUN_QUEUE].ns, ==, 2000);
	CHECK_U64(m.measures[FINDING_RUN_QUEUE].nr, ==, 2);
	CHECK_U64(m.queue_worst_ns, ==, 1000);
	/* of 20 us that they ran */
	CHECK(m.measures[FINDING_RUN_QUEUE].share == 2.0 / 22);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
}
