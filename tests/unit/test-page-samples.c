/* SPDX-License-Identifier: MIT */
/*
 * Samples of the browser page: all that a recording has are in its columns, each with its time,
 * weight, thread, CPU, event and function, whichever way they took: in bunches or one by one, in
 * the order of time or not, and whether the page shows all of them or joins some.
 */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/gzip.h"
#include "page/encode.h"
#include "page/findings.h"
#include "page/page.h"
#include "page/taken.h"
#include "recording/recording.h"
#include "unit/profile-tape.h"

#define SAMPLES	 5000
#define DATA_MAX (1u << 26)
#define TIME	 UINT64_C(1000000000)

static uint64_t below(uint64_t limit)
{
	return test_random() % limit;
}

/* ---- columns ---- */

static const uint64_t numbers[] = { 0, 63, 64, 127, 8191, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX };

TEST(page_column_of_runs_has_the_bytes_of_its_manual)
{
	struct columns c = { 0 };
	struct column *col = coati_columns_add(&c, "n", COLUMN_RUNS);

	for (int i = 0; i < 3; i++)
		coati_column_put(col, 7);
	coati_column_put(col, 9);
	coati_column_end(col);
	CHECK_U64(col->count, ==, 4);
	CHECK_U64(col->bytes.len, ==, 3);
	CHECK_MEM(col->bytes.text, "\x0f\x03\x12", 3);
	coati_columns_fini(&c);
}

TEST(page_columns_give_back_what_was_put)
{
	static const enum column_kind kinds[] = { COLUMN_UINT, COLUMN_DELTA, COLUMN_RUNS };
	uint64_t put[1000];

	for (int i = 0; i < 1000; i++)
		put[i] = i && below(3) ? put[i - 1]
				       : numbers[below(sizeof(numbers) / sizeof(*numbers))];
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct columns c = { 0 };
		struct column *col = coati_columns_add(&c, "n", kinds[k]);
		struct column_reader r;

		for (int i = 0; i < 1000; i++)
			coati_column_put(col, put[i]);
		coati_column_end(col);
		r = column_read(col);
		for (int i = 0; i < 1000; i++)
			CHECK_U64(column_next(&r), ==, put[i]);
		CHECK(!r.at.bad && r.at.at == r.at.end && !r.run);
		coati_columns_fini(&c);
	}
}

TEST(page_samples_on_their_way_in_take_some_bytes_each)
{
	struct page_sample put[2000], got;
	struct taken_reader r;
	size_t size;
	struct taken t;

	coati_taken_init(&t);
	for (uint32_t i = 0; i < 2000; i++) {
		put[i] = (struct page_sample){ .time = 1000000000 + UINT64_C(1000000) * i +
						       below(1000),
					       .weight = 1000000,
					       .count = 1,
					       .node = (uint32_t)below(16384),
					       .thread = (uint32_t)below(63),
					       .cpu = i ? (int32_t)below(4) - 1 : INT32_MAX };
		*taken_slot(&t) = put[i];
		taken_put(&t, 0);
	}
	CHECK_INT(coati_taken_end(&t), ==, 0);
	CHECK_U64(taken_count(&t), ==, 2000);
	size = t.time.bytes.len + t.stack.bytes.len + t.thread.bytes.len + t.weight.bytes.len +
	       t.count.bytes.len + t.event.bytes.len + t.labels.bytes.len + t.cpu.bytes.len;
	/* time 3, stack 2, thread and CPU 1 each; of runs of three and more, three bytes */
	CHECK_U64(size, <=, 7 * 2000 + 40);
	r = coati_taken_read(&t);
	for (uint32_t i = 0; i < 2000; i++) {
		CHECK(coati_taken_next(&r, &got));
		CHECK_MEM(&got, &put[i], offsetof(struct page_sample, cpu) + sizeof(got.cpu));
	}
	CHECK(!coati_taken_next(&r, &got));
	CHECK(!t.is_unordered);
	coati_taken_fini(&t);
}

/* ---- a recording ---- */

static const uint64_t leaves[] = { TAPE_WORK, TAPE_LEAF, TAPE_OTHER };
static const char *const leaf_names[] = { "work", "leaf", "other" };

/* Weights are all different: they say which sample it is. */
static void put_sample(struct tape *t, uint32_t event, uint64_t number, uint64_t time)
{
	tape_put(t, (struct tape_sample){ .event = event,
					  .pid = 10,
					  .tid = 10 + (uint32_t)below(3),
					  .cpu = (uint32_t)below(2),
					  .time = time,
					  .period = number + 1,
					  TAPE_STACK(leaves[number % 3], TAPE_MAIN) });
}

/* How threads are off CPUs: not at all; for so short that no sample comes meanwhile; or while there
 * are others, so that their time off the CPU is known, and reported, behind those. */
enum off { NEVER, SHORT, LONG };

/* Some samples are at the same time. */
static void write_recording(const char *path, enum off off, uint64_t from)
{
	struct tape t;

	if (off) {
		tape_begin_switches(&t, path);
	} else {
		tape_program();
		tape_begin(&t, path);
		tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
			   COATI_SAMPLE_CALLCHAIN);
	}
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_PAGE_FAULTS, "page-faults",
		   COATI_SAMPLE_CALLCHAIN);
	tape_start(&t);
	t.time = from;
	tape_process(&t, 10, "app");
	if (off == LONG)
		tape_switch(&t, 10, 12, t.time + 10, COATI_MISC_SWITCH_OUT);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t time = t.time + 1000 * below(3);

		put_sample(&t, !below(8), i, time);
		if (off && i % 50 == 10)
			tape_switch(&t, 10, 11, t.time + 10, COATI_MISC_SWITCH_OUT);
		if (off && i % 50 == (off == LONG ? 40 : 10))
			tape_switch(&t, 10, 11, t.time + 20, 0);
	}
	if (off == LONG)
		tape_switch(&t, 10, 12, t.time + 10, 0);
	tape_close(&t);
}

/* One sample as it is compared. */
struct line {
	uint64_t time, weight, tid, event, cpu;
};

struct lines {
	struct line v[3 * SAMPLES];
	size_t nr, nr_hidden;
	uint64_t first, last; /* times of samples on CPUs */
	uint64_t begin, end;  /* of all that the page shows */
	struct coati_profile *p;
};

static int by_all(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return memcmp(x, y, sizeof(*x));
}

static void see(void *ctx, const struct coati_profile_sample *s)
{
	struct lines *l = ctx;

	CHECK_U64(l->nr, <, sizeof(l->v) / sizeof(*l->v));
	l->v[l->nr++] =
		(struct line){ s->time, s->weight, s->thread, s->event, (uint64_t)(s->cpu + 1) };
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What the profile gives, one by one. Beside times on and off CPUs, page faults are not shown. */
static void expect(const char *const *paths, const struct coati_filter *filter, bool off,
		   struct lines *l)
{
	struct coati_profile_opts o = { .size = sizeof(o), .filter = filter };
	struct coati_profile_hooks hooks = { .on_sample = see, .ctx = l };
	size_t nr = 0;

	*l = (struct lines){ .first = UINT64_MAX, .begin = UINT64_MAX };
	l->p = tape_read_hooked(&o, &hooks, paths);
	for (size_t i = 0; i < l->nr; i++) {
		struct line k = l->v[i];
		const struct coati_profile_event *e = coati_profile_event(l->p, (uint32_t)k.event);

		k.tid = (uint64_t)coati_profile_thread(l->p, (uint32_t)k.tid)->tid;
		l->begin = least(l->begin, k.time);
		l->end = most(l->end, k.time + (e->is_off_cpu ? k.weight : 0));
		if (!e->is_off_cpu) {
			l->first = least(l->first, k.time);
			l->last = most(l->last, k.time);
		}
		if (!off || strcmp(e->name, "page-faults") != 0)
			l->v[nr++] = k;
	}
	l->nr_hidden = l->nr - nr;
	l->nr = nr;
	qsort(l->v, l->nr, sizeof(*l->v), by_all);
	coati_profile_free(&l->p);
}

static struct column_reader find(const struct page *p, const char *name, uint64_t *ret_nr)
{
	for (size_t i = 0; i < p->columns.v.len; i++)
		if (!strcmp(p->columns.v.v[i]->name, name)) {
			*ret_nr = p->columns.v.v[i]->count;
			return column_read(p->columns.v.v[i]);
		}
	test_fail_at(__FILE__, __LINE__, "the page has no column %s", name);
}

static const char *function_of(const struct page *p, uint64_t node)
{
	const struct page_names *n = &p->names;

	CHECK(node && node < n->nodes.len);
	return n->texts.v[n->functions.v[n->frames.v[n->nodes.v[node].frame].function].name];
}

/* What the page has. On CPUs, weights tell the function. */
static void look_at(const struct page *p, struct lines *l)
{
	uint64_t nr, same;
	struct column_reader time = find(p, "s.time", &nr), node = find(p, "s.node", &same),
			     thread = find(p, "s.thread", &same),
			     weight = find(p, "s.weight", &same), event = find(p, "s.event", &same),
			     cpu = find(p, "s.cpu", &same), count = find(p, "s.count", &same);

	CHECK_U64(nr, ==, same);
	l->nr = 0;
	for (uint64_t i = 0, last = 0; i < nr; i++) {
		struct line *k = &l->v[l->nr++];

		k->time = p->begin + column_next(&time);
		k->weight = column_next(&weight);
		k->tid = (uint64_t)coati_profile_thread(p->profile, (uint32_t)column_next(&thread))
				 ->tid;
		k->event = column_next(&event);
		k->cpu = column_next(&cpu);
		CHECK(k->time >= last);
		CHECK_U64(column_next(&count), ==, 1);
		last = k->time;
		if (coati_profile_event(p->profile, (uint32_t)k->event)->is_off_cpu)
			CHECK(column_next(&node) > 0);
		else
			CHECK_STR(function_of(p, column_next(&node)),
				  leaf_names[(k->weight - 1) % 3]);
	}
	qsort(l->v, l->nr, sizeof(*l->v), by_all);
}

static void make(const char *const *paths, const struct page_opts *opts, uint32_t threads,
		 struct page **ret, struct strbuf *data)
{
	struct coati_error err = { 0 };

	coati_recording_threads_set((struct recording_threads){ .nr = threads });
	CHECK_OK(coati_page_new(opts, ret, &err));
	for (; *paths; paths++)
		CHECK_OK(coati_page_read(*ret, *paths, NULL, NULL, &err));
	CHECK_OK(coati_page_data(*ret, data, &err));
	coati_recording_threads_set((struct recording_threads){ .nr = 1 });
}

/* The page has what the profile gives, to the last number; and the same bytes with eight threads.
 * How many samples it has. */
static size_t check(const char *const *paths, const struct coati_filter *filter, bool off)
{
	static struct lines want, got;
	const struct page_opts opts = { .filter = filter, .title = "t" };
	struct strbuf data = STRBUF_INIT(DATA_MAX), again = STRBUF_INIT(DATA_MAX);
	struct page *p = NULL;

	expect(paths, filter, off, &want);
	make(paths, &opts, 1, &p, &data);
	look_at(p, &got);
	CHECK_U64(got.nr, ==, want.nr);
	CHECK_MEM(got.v, want.v, want.nr * sizeof(*want.v));
	CHECK_U64(p->begin, ==, want.begin);
	CHECK_U64(p->end, ==, want.end);
	if (!filter) {
		CHECK_U64(p->live.first_sample, ==, want.first);
		CHECK_U64(p->live.last_sample, ==, want.last);
	}
	coati_page_free(&p);
	make(paths, &opts, 8, &p, &again);
	CHECK_U64(again.len, ==, data.len);
	CHECK_MEM(again.text, data.text, data.len);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
	coati_strbuf_fini(&again);
	CHECK_U64(want.nr_hidden != 0, ==, off);
	return got.nr + want.nr_hidden;
}

static const char *const a_alone[] = { "a", NULL }, *const b_and_a[] = { "b", "a", NULL };

TEST(page_has_all_samples_of_a_recording_as_they_came)
{
	write_recording("a", NEVER, TIME);
	CHECK_U64(check(a_alone, NULL, false), ==, SAMPLES);
	CHECK_U64(check(a_alone,
			&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.event = "page-faults" },
			false),
		  <, SAMPLES / 2);
}

TEST(page_has_all_samples_that_it_shows_as_they_came)
{
	write_recording("a", SHORT, TIME);
	CHECK_U64(check(a_alone, NULL, true), ==, SAMPLES + SAMPLES / 50);
}

TEST(page_has_all_samples_of_a_recording_whose_time_off_cpus_comes_late)
{
	write_recording("a", LONG, TIME);
	CHECK_U64(check(a_alone, NULL, true), ==, SAMPLES + SAMPLES / 50 + 1);
}

TEST(page_has_all_samples_of_two_recordings_of_which_the_later_came_first)
{
	write_recording("a", LONG, TIME);
	write_recording("b", LONG, 2 * TIME);
	CHECK_U64(check(b_and_a, NULL, true), ==, 2 * (SAMPLES + SAMPLES / 50 + 1));
}

/* ---- what is joined, and what is said of it ---- */

TEST(page_finding_counts_samples_that_were_joined)
{
	struct page_opts opts = { .max_items = 10, .title = "t" };
	struct strbuf data = STRBUF_INIT(DATA_MAX);
	struct findings all, joined;
	struct page *p = NULL;

	write_recording("a", NEVER, TIME);
	make(a_alone, &(struct page_opts){ .title = "t" }, 1, &p, &data);
	CHECK_OK(coati_page_findings(p, &all));
	coati_page_free(&p);
	coati_strbuf_clear(&data);
	make(a_alone, &opts, 1, &p, &data);
	CHECK_OK(coati_page_findings(p, &joined));
	coati_page_free(&p);
	CHECK_U64(all.measures[FINDING_HOT_FUNCTION].nr, >, SAMPLES / 4);
	for (int i = 0; i < FINDING_KINDS; i++) {
		CHECK_U64(joined.measures[i].nr, ==, all.measures[i].nr);
		CHECK_U64(joined.measures[i].ns, ==, all.measures[i].ns);
	}
	coati_strbuf_fini(&data);
}

/* ---- compressing ---- */

static int collect(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *s = ctx;

	coati_strbuf_add(s, bytes, size);
	return s->failed;
}

/* Noise of eight values, zeros, times of what takes turns, text, and noise again. */
static void fill(struct strbuf *s, size_t noise)
{
	static const char *const turns[] = { "\x01\x80\x10", "\x02\x81\x11", "\x03\x82\x12",
					     "\x04\x83\x13" };

	for (size_t i = 0; i < noise; i++)
		coati_strbuf_addc(s, (char)below(8));
	coati_strbuf_pad(s, '\0', noise);
	for (size_t i = 0; i < noise; i++)
		coati_strbuf_add(s, turns[below(8) ? i % 2 : below(4)], 3);
	for (uint32_t i = 0; i < 20000; i++)
		coati_strbuf_printf(s, "{\"name\":\"function %u\"},", i % 500);
	for (size_t i = 0; i < noise; i++)
		coati_strbuf_addc(s, (char)below(8));
}

TEST(page_is_compressed_as_its_parts_need_it)
{
	static const size_t noises[] = { 0, 1000, 65536, 300000 };

	if (!coati_gzip_works())
		test_skip("built without zlib, or it is not installed");
	for (size_t i = 0; i < sizeof(noises) / sizeof(*noises); i++) {
		struct strbuf bytes = STRBUF_INIT(DATA_MAX), packed = STRBUF_INIT(DATA_MAX),
			      usual = STRBUF_INIT(DATA_MAX), back = STRBUF_INIT(DATA_MAX);
		struct deflater *d = NULL;
		bool is_gzip = false;

		fill(&bytes, noises[i]);
		CHECK_OK(coati_page_compress(&bytes, &packed, &is_gzip, NULL));
		CHECK(is_gzip);
		CHECK_OK(coati_inflate_gzip(packed.text, packed.len, &back, NULL));
		CHECK_U64(back.len, ==, bytes.len);
		CHECK_MEM(back.text, bytes.text, bytes.len);
		CHECK_OK(coati_deflater_new(collect, &usual, &d, NULL));
		CHECK_OK(coati_deflater_put(d, bytes.text, bytes.len, true));
		coati_deflater_free(d);
		/* hardly larger than by one way for all; of much noise, smaller */
		CHECK_U64(packed.len, <=, usual.len + usual.len / 16 + 256);
		if (noises[i] == 300000)
			CHECK_U64(packed.len, <, usual.len - usual.len / 100);
		coati_strbuf_fini(&bytes);
		coati_strbuf_fini(&packed);
		coati_strbuf_fini(&usual);
		coati_strbuf_fini(&back);
	}
}
