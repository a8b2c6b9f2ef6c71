/* SPDX-License-Identifier: MIT */
/*
 * Recordings that are read ahead in threads: what comes out is what one thread reads, to the last
 * record, number and sentence, whatever the file is. Recordings are made of random records of many
 * kinds in several rings, longer than some chunks of the reader; then they are cut and damaged.
 */
#include "lib/test.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "reading/profile.h"
#include "recording/recording.h"
#include "unit/profile-tape.h"
#include "unit/small-recording.h"

#define FILE_BYTES ((size_t)16 << 20)
#define RECORDS	   16000
#define ROUND	   1500
#define STACKS	   300
#define DEPTH_MAX  100
/* Less than waits where there are no rounds: there is too much of it, or there are too many. */
#define FEW_BYTES   ((uint64_t)2 << 20)
#define FEW_RECORDS ((uint64_t)200 << 10)
#define HEADER_SIZE 104

static uint64_t below(uint64_t limit)
{
	return test_random() % limit;
}

/* A chain by its number, at least of one address: most samples share theirs with others. */
static uint32_t make_chain(uint64_t number, uint64_t *words)
{
	uint32_t nr = 1 + (uint32_t)(coati_hash_u64(number, 1) % DEPTH_MAX), at = 0;

	if (number % 3 == 0) {
		words[at++] = COATI_CONTEXT_KERNEL;
		words[at++] = UINT64_C(0xffffffff81000000) + number;
	}
	words[at++] = COATI_CONTEXT_USER;
	for (uint32_t i = 0; i < nr; i++)
		words[at++] = TAPE_TEXT + coati_hash_u64(number, i) % 64;
	return at;
}

/* Times go back by up to a hundred records, as they do from ring to ring; and rarely further. */
static uint64_t some_time(const struct tape *t)
{
	uint64_t back = below(50) ? below(100) : below(8 * ROUND);

	return t->time + 1000 > 1000 * back + 1000000 ? t->time + 1000 - 1000 * back : 0;
}

static void put_sample(struct tape *t)
{
	uint64_t words[DEPTH_MAX + 4], number = below(8) ? below(STACKS) : test_random();
	uint32_t pid = 10 + (uint32_t)below(4);
	struct tape_sample s = { .event = (uint32_t)below(3),
				 .pid = pid,
				 .tid = pid + 100 * (uint32_t)below(2),
				 .cpu = (uint32_t)below(4),
				 .time = some_time(t),
				 .period = 1 + below(1000),
				 .chain = words };

	s.nr = below(40) ? make_chain(number, words) : 0;
	s.ip = below(9) ? 0 : TAPE_WORK;
	tape_put(t, s);
}

static void put_something(struct tape *t)
{
	uint8_t strange[64] = { 0 };
	uint16_t size = (uint16_t)(8 + 8 * below(7));
	uint32_t type = below(2) ? 200 : 30; /* nobody knows them */

	switch (below(200)) {
	case 0:
		tape_comm(t, 10, 10, below(2) ? "one" : "two", 0);
		break;
	case 1:
		tape_process(t, 10 + (uint32_t)below(4), "again");
		break;
	case 2:
		tape_fork(t, 20 + (uint32_t)below(4), 20, 10, 10);
		break;
	case 3:
		memcpy(strange, &type, sizeof(type));
		memcpy(strange + 6, &size, sizeof(size));
		CHECK_OK(coati_writer_record(t->writer, strange, size));
		break;
	default:
		put_sample(t);
	}
}

/* Rounds have @most records; 0: there are none. */
static void write_some(const char *path, uint32_t most)
{
	uint32_t round = most ? 1 + (uint32_t)below(most) : RECORDS + 1;
	struct tape t;

	tape_program();
	tape_begin(&t, path);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_TASK_CLOCK, "task-clock",
		   COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_CGROUP);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_PAGE_FAULTS, "page-faults", 0);
	tape_start(&t);
	for (uint32_t pid = 10; pid < 14; pid++)
		tape_process(&t, pid, "app");
	for (uint32_t i = 0; i < RECORDS; i++) {
		put_something(&t);
		if (i % round == round - 1)
			CHECK_OK(coati_writer_round(t.writer));
	}
	tape_close(&t);
}

/* ---- records ---- */

/* All that a reader of records gets to see, as one number, and how it ended. */
struct seen {
	uint64_t hash;
	uint64_t nr;
	int end;
	struct coati_error error;
	struct coati_recording_stats stats;
};

static void see(struct seen *s, const void *bytes, size_t size)
{
	s->hash = coati_hash_bytes(bytes, size, s->hash);
}

static void see_item(struct seen *s, const struct coati_recording_item *item)
{
	uint64_t numbers[] = { item->raw.type, item->raw.misc, item->raw.size, item->event,
			       item->flags,    item->offset,   item->time,     item->extra_size };

	see(s, numbers, sizeof(numbers));
	see(s, item->raw.body, item->raw.size - COATI_RAW_HEADER);
	s->nr++;
}

static int see_one(struct coati_recording *r, struct seen *s)
{
	struct coati_recording_item item;
	int n = coati_recording_next(r, &item);

	if (n > 0)
		see_item(s, &item);
	return n;
}

/* All of a bunch live until the next one. */
static int see_bunch(struct coati_recording *r, struct seen *s)
{
	struct recording_bunch b;
	uint32_t most = 1 + (uint32_t)below(2 * RECORDING_BUNCH);
	int n = coati_recording_next_bunch(r, most, &b);

	for (uint32_t i = 0; n > 0 && i < b.nr; i++)
		see_item(s, &b.items[i]);
	CHECK(n <= 0 || (b.nr && b.nr <= most && b.nr <= RECORDING_BUNCH));
	CHECK(n <= 0 || b.notes[b.nr - 1] == coati_recording_note(r));
	return n;
}

/* @threads 1: nothing is read ahead; BUNCHES: the same, and several records at once, or one. */
#define BUNCHES 0

static struct seen look_at(const char *path, const struct coati_recording_opts *opts,
			   uint32_t threads)
{
	const struct coati_ahead_opts ahead = { .threads = { .nr = threads ? threads : 1 } };
	struct seen s = { .stats = { .size = sizeof(s.stats) } };
	struct coati_recording *r = NULL;

	s.end = coati_recording_open(path, opts, &r, &s.error);
	if (s.end < 0)
		return s;
	coati_recording_ahead(r, &ahead);
	do
		s.end = threads == BUNCHES && below(4) ? see_bunch(r, &s) : see_one(r, &s);
	while (s.end > 0);
	s.error = *coati_recording_error(r);
	CHECK_OK(coati_recording_get_stats(r, &s.stats));
	coati_recording_close(&r);
	return s;
}

static void check_same(const struct seen *a, const struct seen *b)
{
	CHECK_INT(a->end, ==, b->end);
	CHECK_STR(a->error.text, b->error.text);
	CHECK_U64(a->nr, ==, b->nr);
	CHECK_U64(a->hash, ==, b->hash);
	CHECK_MEM(&a->stats, &b->stats, sizeof(a->stats));
}

/* With one, two and eight threads and in bunches, in both orders, and with less memory than would
 * be needed. The number of records. */
static uint64_t check_records(const char *path)
{
	static const struct {
		uint32_t flags;
		uint64_t window;
	} ways[] = {
		{ 0, 0 }, { COATI_RECORDING_FILE_ORDER, 0 }, { 0, FEW_BYTES }, { 0, FEW_RECORDS }
	};
	uint64_t nr = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const struct coati_recording_opts opts = { .size = sizeof(opts),
							   .flags = ways[i].flags,
							   .window_bytes = ways[i].window };
		struct seen one = look_at(path, &opts, 1), two = look_at(path, &opts, 2),
			    eight = look_at(path, &opts, 8),
			    bunches = look_at(path, &opts, BUNCHES);

		check_same(&one, &bunches);
		check_same(&one, &two);
		check_same(&one, &eight);
		nr = one.nr;
	}
	return nr;
}

TEST(recording_read_by_threads_is_what_one_thread_reads)
{
	for (uint32_t i = 0; i < 3; i++) {
		write_some("whole", i * ROUND);
		CHECK_U64(check_records("whole"), >, RECORDS);
	}
}

/* Overwrite the start of the record that is at or behind @from. */
static void spoil(uint8_t *file, size_t size, size_t from, uint32_t type)
{
	size_t at = HEADER_SIZE;
	uint64_t data;
	uint16_t step;

	memcpy(&data, file + 40, sizeof(data));
	for (at = data; at < from && at + 8 < size; at += step) {
		memcpy(&step, file + at + 6, sizeof(step));
		CHECK(step >= 8);
	}
	if (at + 8 < size)
		memcpy(file + at, &type, sizeof(type));
}

TEST(recording_read_by_threads_ends_where_one_thread_stops)
{
	/* of other readings: records that change events, or with something behind them */
	static const uint32_t types[] = { COATI_RECORD_HEADER_ATTR,   COATI_RECORD_EVENT_UPDATE,
					  COATI_RECORD_TRACING_DATA,  COATI_RECORD_AUXTRACE,
					  COATI_RECORD_COMPRESSED,    COATI_RECORD_HEADER_FEATURE,
					  COATI_RECORD_FINISHED_ROUND };
	uint8_t *file = coati_alloc(FILE_BYTES), *copy = coati_alloc(FILE_BYTES);
	size_t size;

	CHECK(file && copy);
	write_some("whole", ROUND);
	size = small_slurp("whole", file, FILE_BYTES);
	CHECK(size > 3 * ((size_t)512 << 10) && size < FILE_BYTES);
	for (int i = 0; i < 12; i++) {
		size_t cut = i % 3 ? size : 1000 + below(size - 1000);

		memcpy(copy, file, size);
		if (i % 3 == 1)
			copy[1000 + below(size - 1000)] ^= (uint8_t)(1 + below(255));
		if (i % 3 == 2)
			spoil(copy, size, 1000 + below(size - 1000),
			      types[below(sizeof(types) / sizeof(*types))]);
		small_spit("damaged", copy, cut);
		check_records("damaged");
	}
	coati_free(copy);
	coati_free(file);
}

TEST(recording_read_by_threads_survives_failing_allocations)
{
	const struct coati_recording_opts opts = { .size = sizeof(opts) };
	struct seen whole;
	uint64_t start, needed;

	write_some("whole", ROUND);
	start = coati_alloc_count();
	whole = look_at("whole", &opts, 1);
	needed = coati_alloc_count() - start;
	for (uint64_t i = 0; i < 40; i++) {
		struct seen s;

		coati_alloc_fail_after(i * (needed + 40) / 40);
		s = look_at("whole", &opts, 3);
		coati_alloc_fail_after(UINT64_MAX);
		if (s.end == 0)
			check_same(&whole, &s);
		else
			CHECK_INT(s.end, ==, -ENOMEM);
	}
}

/* ---- profiles ---- */

static uint64_t hash_of(const void *bytes, size_t nr, size_t size)
{
	return coati_hash_bytes(bytes, nr * size, 1);
}

static void check_tables(const struct coati_profile *a, const struct coati_profile *b)
{
	CHECK_U64(a->entries.len, ==, b->entries.len);
	CHECK_U64(hash_of(a->entries.v, a->entries.len, sizeof(*a->entries.v)), ==,
		  hash_of(b->entries.v, b->entries.len, sizeof(*b->entries.v)));
	CHECK_U64(a->stacks.len, ==, b->stacks.len);
	for (size_t i = 0; i < a->stacks.len; i++) {
		const struct coati_profile_stack *s = &a->stacks.v[i], *t = &b->stacks.v[i];

		CHECK_INT(s->nr, ==, t->nr);
		CHECK_INT(s->flags, ==, t->flags);
		CHECK_MEM(s->locations, t->locations, s->nr * sizeof(*s->locations));
	}
	CHECK_U64(a->locations.len, ==, b->locations.len);
	for (size_t i = 0; i < a->locations.len; i++)
		CHECK_U64(a->locations.v[i].pub.address, ==, b->locations.v[i].pub.address);
	CHECK_U64(a->threads.len, ==, b->threads.len);
	CHECK_U64(a->label_sets.len, ==, b->label_sets.len);
	for (size_t i = 0; i < a->label_sets.len; i++) {
		const struct label_set *s = &a->label_sets.v[i], *t = &b->label_sets.v[i];

		CHECK_INT(s->nr, ==, t->nr);
		for (uint32_t n = 0; n < s->nr; n++)
			CHECK_STR(s->labels[n].value, t->labels[n].value);
	}
	CHECK_MEM(&a->quality, &b->quality, sizeof(a->quality));
	CHECK_U64(a->notes.len, ==, b->notes.len);
}

struct made {
	struct coati_profile *p;
	struct seen samples, items;
	uint64_t nr_together;
};

static void see_sample(void *ctx, const struct coati_profile_sample *s)
{
	const uint64_t numbers[] = { s->time,	s->weight,	  s->stack,  s->thread, s->event,
				     s->labels, (uint64_t)s->cpu, s->number, s->goes_on };
	struct made *m = ctx;

	see(&m->samples, numbers, sizeof(numbers));
	m->samples.nr++;
}

static int take_item(void *ctx, const struct coati_recording *r,
		     const struct coati_recording_item *item)
{
	struct made *m = ctx;
	const uint64_t numbers[] = { item->offset, item->time, item->event, item->raw.type };

	(void)r;
	see(&m->items, numbers, sizeof(numbers));
	m->items.nr++;
	return 0;
}

static int take_items(void *ctx, const struct coati_recording *r,
		      const struct coati_recording_item *items, uint32_t nr)
{
	struct made *m = ctx;

	for (uint32_t i = 0; i < nr; i++)
		take_item(ctx, r, &items[i]);
	m->nr_together += nr;
	return 0;
}

/* Labels of three threads of four, which are others in every hundredth microsecond. */
static uint64_t find_labels(void *ctx, int32_t pid, int32_t tid, uint64_t time,
			    struct coati_label_list *ret)
{
	static const struct coati_label labels[] = { { "of", "one" },
						     { "of", "two" },
						     { "of", "three" } };
	uint64_t number = ((uint64_t)tid + time / 100000) % 4;

	(void)ctx;
	(void)pid;
	*ret = number ? (struct coati_label_list){ &labels[number - 1], 1 }
		      : (struct coati_label_list){ 0 };
	return number;
}

static int read_labels(void *ctx, const char *path, struct coati_error *err)
{
	(void)ctx;
	(void)path;
	(void)err;
	return 0;
}

/* How records are looked at on their way. */
enum way { UNSEEN, ONE_BY_ONE, TOGETHER };

static void make(struct made *m, const char *path, const struct coati_filter *filter,
		 uint32_t threads, enum way way)
{
	static const struct coati_context_source labels = { .read = read_labels,
							    .find = find_labels };
	struct coati_profile_opts opts = { .size = sizeof(opts),
					   .bin_ns = 1000000,
					   .flags = filter->cpu ? COATI_PROFILE_PER_CPU : 0,
					   .filter = filter };
	struct coati_profile_hooks hooks = { .on_sample = see_sample,
					     .on_item = way == UNSEEN ? NULL : take_item,
					     .on_items = way == TOGETHER ? take_items : NULL,
					     .contexts = filter->time ? &labels : NULL,
					     .ctx = m };

	*m = (struct made){ 0 };
	coati_recording_threads_set((struct recording_threads){ .nr = threads });
	m->p = tape_read_hooked(&opts, &hooks, (const char *const[]){ path, NULL });
	coati_recording_threads_set((struct recording_threads){ .nr = 1 });
}

static void check_made(const char *path, const struct coati_filter *filter)
{
	static const struct {
		uint32_t threads;
		enum way way;
	} ways[] = { { 1, ONE_BY_ONE }, { 1, UNSEEN },	 { 2, UNSEEN },	 { 8, UNSEEN },
		     { 8, ONE_BY_ONE }, { 1, TOGETHER }, { 8, TOGETHER } };
	struct made first, other;

	make(&first, path, filter, ways[0].threads, ways[0].way);
	CHECK(first.p->entries.len);
	for (size_t i = 1; i < sizeof(ways) / sizeof(*ways); i++) {
		make(&other, path, filter, ways[i].threads, ways[i].way);
		check_tables(first.p, other.p);
		CHECK_U64(first.samples.nr, ==, other.samples.nr);
		CHECK_U64(first.samples.hash, ==, other.samples.hash);
		if (ways[i].way != UNSEEN) {
			CHECK_U64(first.items.nr, ==, other.items.nr);
			CHECK_U64(first.items.hash, ==, other.items.hash);
		}
		/* two of three events are weight on a stack, and two of three such samples are of
		 * threads that are still known behind the records between them */
		if (ways[i].way == TOGETHER)
			CHECK_U64(other.nr_together, >, first.samples.nr / 2);
		coati_profile_free(&other.p);
	}
	coati_profile_free(&first.p);
}

static void check_profiles(const char *path)
{
	const struct coati_filter all = { .size = sizeof(all) },
				  some = { .size = sizeof(some),
					   .cpu = "0,2",
					   .time = "20%-70%",
					   .event = "cpu-clock,page-faults" };

	check_made(path, &all);
	check_made(path, &some);
}

TEST(profile_read_by_threads_is_what_one_thread_makes_of_it)
{
	for (uint32_t i = 0; i < 3; i++) {
		write_some("whole", i * ROUND);
		check_profiles("whole");
	}
}

/* Threads that look at chains give up when nearly all differ: nothing changes but the cost. */
TEST(profile_read_by_threads_of_stacks_that_all_differ)
{
	uint64_t words[] = { COATI_CONTEXT_USER, 0, 0, 0 };
	struct tape t;

	tape_program();
	tape_open(&t, "differ");
	tape_process(&t, 10, "app");
	for (uint32_t i = 0; i < 60000; i++) {
		words[1] = TAPE_TEXT + i % 64;
		words[2] = TAPE_TEXT + i / 64 % 64;
		words[3] = TAPE_TEXT + i / 4096;
		tape_put(&t, (struct tape_sample){ .pid = 10, .chain = words, .nr = 4 });
		if (i % ROUND == 0)
			CHECK_OK(coati_writer_round(t.writer));
	}
	tape_close(&t);
	check_profiles("differ");
}

/* Two are enough, when there is enough to read. */
TEST(recording_is_read_ahead_by_two_threads_or_more)
{
	const struct recording_threads two = { .nr = 2 }, one = { .nr = 1 },
				       large = { .nr = 2, .least_bytes = 1 << 30 };
	struct coati_recording *r = NULL;

	write_some("whole", 0);
	CHECK_OK(coati_recording_open("whole", NULL, &r, NULL));
	CHECK(coati_recording_can_ahead(r, two));
	CHECK(!coati_recording_can_ahead(r, one));
	CHECK(!coati_recording_can_ahead(r, large));
	coati_recording_close(&r);
}
