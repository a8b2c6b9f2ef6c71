/* SPDX-License-Identifier: MIT */
/* Exports with a timeline: what the readers refuse, ceilings, and memory that runs out. That
 * weights survive is shown by tests/cli. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/format.h>

#include "base/alloc.h"
#include "base/json-read.h"
#include "base/json.h"
#include "format/export.h"
#include "format/format.h"
#include "readback/readback.h"
#include "unit/profile-tape.h"

static const enum coati_format timelines[] = { COATI_FORMAT_SPEEDSCOPE, COATI_FORMAT_FIREFOX,
					       COATI_FORMAT_PERFETTO, COATI_FORMAT_CHROME };
#define NR_TIMELINES (sizeof(timelines) / sizeof(*timelines))

/* Three samples of two threads, and a loss. */
static void write_recording(const char *path)
{
	struct coati_record lost = { .type = COATI_RECORD_LOST,
				     .u.lost = { .id = 100, .lost = 7 } };
	struct tape t;

	tape_program();
	tape_open(&t, path);
	tape_process(&t, 10, "app");
	tape_fork(&t, 10, 11, 10, 10);
	tape_comm(&t, 10, 11, "worker", 0);
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_put(&t,
		 (struct tape_sample){
			 .pid = 10, .tid = 11, .period = 2000, TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_record(&t, &lost);
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_OTHER, TAPE_MAIN) });
	tape_close(&t);
}

/* An export that has read "a". */
static int begin(struct coati_export_opts o, struct coati_export **ret, struct coati_error *err)
{
	struct coati_images_opts images = { .size = sizeof(images),
					    .flags = COATI_IMAGES_NO_CACHE };
	int r;

	o.size = sizeof(o);
	o.flags |= COATI_EXPORT_PLAIN;
	o.images = &images;
	r = coati_export_new(&o, ret, err);
	return r < 0 ? r : coati_export_read(*ret, "a", NULL, NULL, err);
}

static int open_out(void)
{
	int fd = open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	return fd;
}

/* The bytes of the export of "a". */
static size_t exported(enum coati_format format, char *bytes, size_t cap)
{
	struct coati_export *x = NULL;
	int fd = open_out();
	ssize_t size;

	CHECK_OK(begin((struct coati_export_opts){ .format = format }, &x, NULL));
	CHECK_OK(coati_export_write(x, fd, NULL));
	CHECK_OK(coati_export_check(x, fd, NULL));
	size = pread(fd, bytes, cap, 0);
	CHECK(size > 0 && (size_t)size < cap);
	close(fd);
	coati_export_free(&x);
	return (size_t)size;
}

static int read_back(enum coati_format format, const void *bytes, size_t size, uint64_t *ret_weight)
{
	struct tally t;
	int r;

	coati_tally_init(&t);
	r = coati_readback_get(format)->read(bytes, size, &t, NULL);
	*ret_weight = t.weight;
	coati_tally_fini(&t);
	return r;
}

TEST(timeline_exports_are_refused_when_they_are_cut)
{
	static char bytes[65536];
	uint64_t weight;

	write_recording("a");
	for (size_t f = 0; f < NR_TIMELINES; f++) {
		size_t size = exported(timelines[f], bytes, sizeof(bytes));

		CHECK_OK(read_back(timelines[f], bytes, size, &weight));
		CHECK_U64(weight, ==, 4000);
		/* what stands between the packets of a trace is no cut */
		for (size_t n = 0; n < size; n++)
			if (timelines[f] != COATI_FORMAT_PERFETTO || !n)
				CHECK_ERR(read_back(timelines[f], bytes, n, &weight), -EBADMSG);
			else if (read_back(timelines[f], bytes, n, &weight) == 0)
				CHECK_U64(weight, <, 4000);
	}
}

TEST(timeline_exports_may_hold_any_bytes)
{
	static char bytes[65536];
	uint64_t weight;

	write_recording("a");
	for (size_t f = 0; f < NR_TIMELINES; f++) {
		size_t size = exported(timelines[f], bytes, sizeof(bytes));

		for (size_t i = 0; i < size; i++)
			for (int bit = 0; bit < 8; bit += 3) {
				int r;

				bytes[i] = (char)(bytes[i] ^ 1 << bit);
				r = read_back(timelines[f], bytes, size, &weight);
				CHECK(r == 0 || r == -EBADMSG || r == -E2BIG);
				bytes[i] = (char)(bytes[i] ^ 1 << bit);
			}
	}
}

/* @from becomes @to, which has as many bytes. */
static void replace(char *bytes, const char *from, const char *to)
{
	char *at = strstr(bytes, from);

	CHECK(at && strlen(from) == strlen(to));
	memcpy(at, to, strlen(to));
}

/* The export with one thing changed is none. */
static void check_refused(enum coati_format format, const char *from, const char *to)
{
	static char bytes[65536];
	size_t size = exported(format, bytes, sizeof(bytes) - 1);
	uint64_t weight;

	bytes[size] = '\0';
	replace(bytes, from, to);
	CHECK_ERR(read_back(format, bytes, size, &weight), -EBADMSG);
}

TEST(timeline_exports_are_refused_when_they_contradict_themselves)
{
	write_recording("a");
	/* more weights than stacks, an end that is not their sum, a frame that is not there */
	check_refused(COATI_FORMAT_SPEEDSCOPE, "\"weights\":[2000]", "\"weights\":[20,0]");
	check_refused(COATI_FORMAT_SPEEDSCOPE, "\"endValue\":2000", "\"endValue\":2001");
	check_refused(COATI_FORMAT_SPEEDSCOPE, "\"samples\":[[1,", "\"samples\":[[9,");
	/* a parent behind its child, a column that is too short, a version with other tables */
	check_refused(COATI_FORMAT_FIREFOX, "\"prefix\":[null,0", "\"prefix\":[null,1");
	check_refused(COATI_FORMAT_FIREFOX, "\"isJS\":[false,", "\"isJS\":[      ");
	check_refused(COATI_FORMAT_FIREFOX, "ProfileVersion\":60", "ProfileVersion\":66");
	/* a stack without its root, a thread without a name */
	check_refused(COATI_FORMAT_CHROME, "\"parent\":1", "\"parent\":9");
	check_refused(COATI_FORMAT_CHROME, "thread_name", "thread_nome");
}

TEST(timeline_exports_have_a_ceiling_and_name_the_way_out)
{
	struct coati_export_opts o = { .max_samples = 2 };
	struct coati_error err = { 0 };
	struct coati_export *x = NULL;

	write_recording("a");
	for (size_t f = 0; f < NR_TIMELINES; f++) {
		o.format = timelines[f];
		CHECK_ERR(begin(o, &x, &err), -E2BIG);
		CHECK_HAS(err.text, "--time");
		coati_export_free(&x);
	}
}

/* Write and check with so many allocations. */
static int try_with(enum coati_format format, uint64_t nr)
{
	struct coati_export *x = NULL;
	int fd = open_out(), r;

	CHECK_OK(begin((struct coati_export_opts){ .format = format }, &x, NULL));
	coati_alloc_fail_after(nr);
	r = coati_export_write(x, fd, NULL);
	if (r == 0)
		r = coati_export_check(x, fd, NULL);
	coati_alloc_fail_after(UINT64_MAX);

	coati_export_free(&x);
	close(fd);
	return r;
}

TEST(timeline_exports_survive_that_memory_runs_out)
{
	write_recording("a");
	for (size_t f = 0; f < NR_TIMELINES; f++) {
		int r = -ENOMEM;

		for (uint64_t n = 0; r == -ENOMEM; n++)
			r = try_with(timelines[f], n);
		CHECK_OK(r);
	}
}

TEST(json_fixed_numbers_have_all_digits_and_are_read_back)
{
	static const struct {
		uint64_t v;
		uint32_t decimals;
		const char *text;
	} cases[] = {
		{ 0, 6, "0" },
		{ 1, 6, "0.000001" },
		{ 1000000, 6, "1" },
		{ 1234500, 6, "1.2345" },
		{ 1000001, 6, "1.000001" },
		{ 7, 0, "7" },
		{ 1200, 3, "1.2" },
		{ UINT64_MAX, 6, "18446744073709.551615" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct strbuf s = STRBUF_INIT(64);
		struct json j = json_to(&s);
		struct json_reader r;

		coati_json_fixed(&j, cases[i].v, cases[i].decimals);
		CHECK_STR(s.text, cases[i].text);
		coati_json_read_init(&r, s.text, s.len);
		CHECK_U64(coati_json_read_fixed(&r, cases[i].decimals), ==, cases[i].v);
		CHECK_OK(coati_json_read_end(&r));
		coati_json_read_fini(&r);
		coati_strbuf_fini(&s);
	}
}

TEST(json_fixed_numbers_with_too_many_digits_are_refused)
{
	static const char *const texts[] = { "0.0000001", "-1", "1e3", "18446744073709.551616",
					     "1." };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct json_reader r;

		coati_json_read_init(&r, texts[i], strlen(texts[i]));
		coati_json_read_fixed(&r, 6);
		CHECK_ERR(coati_json_read_end(&r), -EBADMSG);
		coati_json_read_fini(&r);
	}
}
