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
#include "page/columns.h"
#include "page/encode.h"
#include "page/findings.h"
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

TEST(page_has_every_sample_with_its_weight_and_path)
{
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
