/* SPDX-License-Identifier: MIT */
/* The model behind coati top: sums are exact, whatever was asked for, and memory stays under its
 * cap. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buckets.h"
#include "base/clock.h"
#include "cli/top/tree.h"
#include "reading/parts.h"

#define MIB (UINT64_C(1) << 20)
#define S   NSEC_PER_SEC

static uint32_t stack_of(struct top_model *m, const char *const *names, uint32_t nr)
{
	struct top_stack s = { .nr = nr };
	uint32_t frames[16], ret;

	for (uint32_t i = 0; i < nr; i++) {
		struct top_frame f = { .function = names[i], .image = "app" };

		CHECK_OK(coati_top_model_function(m, &f, &frames[i]));
	}
	s.frames = frames;
	CHECK_OK(coati_top_model_stack(m, &s, &ret));
	return ret;
}
#define STACK(m, ...)                                     \
	stack_of(m, (const char *const[]){ __VA_ARGS__ }, \
		 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static uint32_t thread_of(struct top_model *m, int32_t pid, int32_t tid)
{
	struct top_thread t = { pid, tid, "worker", "app" };
	uint32_t ret;

	CHECK_OK(coati_top_model_thread(m, &t, &ret));
	return ret;
}

static uint32_t label_of(struct top_model *m, const char *key, const char *value)
{
	struct coati_label l = { key, value };
	uint32_t ret;

	CHECK_OK(coati_top_model_labels(m, &l, 1, &ret));
	return ret;
}

static void init(struct top_model *m)
{
	CHECK_OK(coati_top_model_init(m, 64 * MIB, 600));
}

/* The row of that name; all zero when there is none. */
static struct top_row row_of(const struct top_model *m, struct top_query q, const char *name)
{
	struct top_rows rows;
	struct top_row ret = { 0 };

	CHECK_OK(coati_top_rows(m, &q, &rows));
	for (size_t i = 0; i < rows.rows.len; i++)
		if (!strcmp(rows.rows.v[i].name, name))
			ret = rows.rows.v[i];
	coati_top_rows_fini(&rows);
	return ret;
}

static uint64_t sum_of(const struct top_model *m, struct top_query q)
{
	struct top_rows rows;
	uint64_t sum = 0;

	CHECK_OK(coati_top_rows(m, &q, &rows));
	for (size_t i = 0; i < rows.rows.len; i++)
		sum += rows.rows.v[i].self;
	CHECK_U64(sum, ==, rows.weight);
	coati_top_rows_fini(&rows);
	return sum;
}

TEST(top_model_counts_the_innermost_frame_as_self_and_recursion_once)
{
	struct top_model m;
	struct top_query q = { .to = UINT64_MAX };
	struct top_row r;

	init(&m);
	CHECK_OK(coati_top_model_add(
		&m, &(struct top_sample){ .time_ns = S,
					  .weight = 10,
					  .stack = STACK(&m, "leaf", "walk", "walk", "main"),
					  .thread = thread_of(&m, 1, 1) }));
	CHECK_OK(coati_top_model_add(&m, &(struct top_sample){ .time_ns = S,
							       .weight = 5,
							       .stack = STACK(&m, "walk", "main"),
							       .thread = thread_of(&m, 1, 2) }));
	r = row_of(&m, q, "walk");
	CHECK_U64(r.self, ==, 5);
	CHECK_U64(r.total, ==, 15);
	CHECK_U64(r.total_count, ==, 2);
	r = row_of(&m, q, "leaf");
	CHECK_U64(r.self, ==, 10);
	r = row_of(&m, q, "main");
	CHECK_U64(r.self, ==, 0);
	CHECK_U64(r.total, ==, 15);
	q.by = TOP_BY_IMAGE;
	CHECK_U64(row_of(&m, q, "app").total, ==, 15);
	q.by = TOP_BY_THREAD;
	CHECK_U64(sum_of(&m, q), ==, 15);
	q.by = TOP_BY_PROCESS;
	CHECK_U64(row_of(&m, q, "app").self, ==, 15);
	coati_top_model_fini(&m);
}

/* What the model should say, added up the simple way. */
#define NR_FUNCTIONS 12
struct plain {
	uint64_t self[20][NR_FUNCTIONS], total[20][NR_FUNCTIONS]; /* by second */
};

static void add_random(struct top_model *m, struct plain *p, uint64_t base)
{
	static const char *const names[NR_FUNCTIONS] = { "a", "b", "c", "d", "e", "f",
							 "g", "h", "i", "j", "k", "l" };
	const char *frames[6];
	uint32_t nr = 1 + (uint32_t)(test_random() % 6), second = (uint32_t)(test_random() % 20);
	uint64_t weight = 1 + test_random() % 1000;
	bool seen[NR_FUNCTIONS] = { false };

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t f = (uint32_t)(test_random() % NR_FUNCTIONS);

		frames[i] = names[f];
		if (!i)
			p->self[second][f] += weight;
		if (!seen[f])
			p->total[second][f] += weight;
		seen[f] = true;
	}
	CHECK_OK(coati_top_model_add(
		m, &(struct top_sample){ .time_ns = (base + second) * S + test_random() % S,
					 .weight = weight,
					 .stack = stack_of(m, frames, nr),
					 .thread = thread_of(m, 7, 7 + (int32_t)second) }));
}

static void check_window(const struct top_model *m, const struct plain *p, uint64_t base,
			 uint32_t from, uint32_t to)
{
	struct top_query q = { .from = base + from, .to = base + to };

	for (uint32_t f = 0; f < NR_FUNCTIONS; f++) {
		char name[2] = { (char)('a' + f), 0 };
		struct top_row r = row_of(m, q, name);
		uint64_t self = 0, total = 0;

		for (uint32_t s = from; s <= to; s++) {
			self += p->self[s][f];
			total += p->total[s][f];
		}
		CHECK_U64(r.self, ==, self);
		CHECK_U64(r.total, ==, total);
	}
}

TEST(top_model_windows_have_exact_sums_before_and_after_the_tables_are_made_anew)
{
	struct plain p = { 0 };
	struct top_model m;
	uint64_t base = 1000;

	init(&m);
	for (int i = 0; i < 3000; i++)
		add_random(&m, &p, base);
	check_window(&m, &p, base, 0, 19);
	check_window(&m, &p, base, 3, 7);
	/* seconds 0 to 9 leave, and everything that only they refer to */
	m.max_seconds = 10;
	m.settled_bytes = 0;
	for (int i = 0; i < 20000; i++)
		(void)thread_of(&m, 100 + i, 100 + i);
	CHECK(coati_top_model_trim(&m, (base + 19) * S));
	CHECK_U64(m.seconds.len, ==, 10);
	CHECK_U64(m.threads.len, ==, 10);
	check_window(&m, &p, base, 10, 19);
	check_window(&m, &p, base, 12, 12);
	coati_top_model_fini(&m);
}

TEST(top_model_shares_time_off_the_cpus_out_among_seconds_and_counts_it_where_it_ends)
{
	struct top_query q = { .from = 5, .to = 5, .mode = TOP_OFF_CPU };
	struct top_sample s = { .time_ns = 5 * S + S / 4, .weight = 2 * S, .is_off = true };
	struct top_model m;

	init(&m);
	s.stack = STACK(&m, "futex_wait", "main");
	s.thread = thread_of(&m, 1, 1);
	CHECK_OK(coati_top_model_add(&m, &s));
	CHECK_U64(row_of(&m, q, "futex_wait").self, ==, S / 4 * 3);
	CHECK_U64(row_of(&m, q, "futex_wait").self_count, ==, 0);
	q.from = q.to = 6;
	CHECK_U64(row_of(&m, q, "futex_wait").self, ==, S);
	q.from = q.to = 7;
	CHECK_U64(row_of(&m, q, "futex_wait").self, ==, S / 4);
	CHECK_U64(row_of(&m, q, "futex_wait").self_count, ==, 1);
	q.mode = TOP_ON_CPU;
	CHECK_U64(sum_of(&m, q), ==, 0);
	q.mode = TOP_BOTH;
	q.from = 0;
	CHECK_U64(sum_of(&m, q), ==, 2 * S);
	coati_top_model_fini(&m);
}

TEST(top_model_moves_a_sample_to_the_labels_that_become_known)
{
	struct top_query q = { .to = UINT64_MAX, .by = TOP_BY_LABEL, .label = "route" };
	struct top_sample s = { .time_ns = S, .weight = 7 };
	struct top_model m;

	init(&m);
	s.stack = STACK(&m, "leaf");
	s.thread = thread_of(&m, 1, 1);
	CHECK_OK(coati_top_model_add(&m, &s));
	CHECK_OK(coati_top_model_add(&m, &s));
	CHECK_U64(row_of(&m, q, "").self, ==, 14);
	CHECK_OK(coati_top_model_relabel(&m, &s, label_of(&m, "route", "/api")));
	CHECK_U64(row_of(&m, q, "").self, ==, 7);
	CHECK_U64(row_of(&m, q, "/api").self, ==, 7);
	CHECK_U64(row_of(&m, q, "/api").self_count, ==, 1);
	q.by = TOP_BY_FUNCTION;
	CHECK_U64(row_of(&m, q, "leaf").self, ==, 14);
	coati_top_model_fini(&m);
}

/* New functions, stacks, threads and labels in every second, as from a program that makes code. */
static void add_new(struct top_model *m, uint64_t second, uint32_t i, uint64_t *fed)
{
	char name[128], value[64];
	struct top_sample s = { .time_ns = second * S + i, .weight = 1 };
	struct top_frame f = { .function = name, .image = "[jit]" };
	struct top_thread t = { (int32_t)second, (int32_t)(second * 1000 + i), value, "app" };
	struct coati_label l = { "request", value };
	struct top_stack stack = { .nr = 1 };
	uint32_t frame;

	snprintf(name, sizeof(name), "generated_code_number_%llu_%u", (unsigned long long)second,
		 i);
	snprintf(value, sizeof(value), "value-%llu-%u", (unsigned long long)second, i);
	(*fed)++;
	stack.frames = &frame;
	if (coati_top_model_function(m, &f, &frame) < 0 ||
	    coati_top_model_stack(m, &stack, &s.stack) < 0 ||
	    coati_top_model_thread(m, &t, &s.thread) < 0 ||
	    coati_top_model_labels(m, &l, 1, &s.labels) < 0)
		m->refused++;
	else if (coati_top_model_add(m, &s) < 0)
		return;
}

TEST(top_model_stays_under_its_cap_however_much_is_new)
{
	struct top_query q = { .to = UINT64_MAX };
	uint64_t cap = 2 * MIB, fed = 0, kept;
	struct top_model m;

	CHECK_OK(coati_top_model_init(&m, cap, 600));
	for (uint64_t second = 1; second <= 400; second++) {
		for (uint32_t i = 0; i < 200; i++)
			add_new(&m, second, i, &fed);
		CHECK_U64(coati_top_model_bytes(&m), <=, cap + cap / 8 + cap / 16);
		if (coati_top_model_trim(&m, second * S))
			CHECK_U64(coati_top_model_bytes(&m), <=, cap);
	}
	CHECK_U64(m.dropped, >, 0);
	CHECK_U64(m.refused, ==, 0);
	/* what is there is the newest, and all of it */
	kept = m.seconds.len;
	CHECK_U64(kept, >, 2);
	CHECK_U64(m.seconds.v[kept - 1].number, ==, 400);
	CHECK_U64(m.seconds.v[0].number, ==, 401 - kept);
	CHECK_U64(sum_of(&m, q), ==, kept * 200);
	coati_top_model_fini(&m);
}

TEST(top_model_refuses_and_counts_what_one_second_has_no_room_for)
{
	struct top_query q = { .to = UINT64_MAX };
	uint64_t fed = 0;
	struct top_model m;

	CHECK_OK(coati_top_model_init(&m, MIB, 600));
	for (uint32_t i = 0; i < 20000; i++)
		add_new(&m, 1, i, &fed);
	CHECK_U64(m.refused, >, 0);
	CHECK_U64(sum_of(&m, q) + m.refused, ==, fed);
	coati_top_model_fini(&m);
}

TEST(top_model_survives_every_allocation_that_fails)
{
	struct top_query q = { .to = UINT64_MAX };

	for (uint64_t n = 0;; n++) {
		struct top_model m;
		uint64_t fed = 0;
		bool failed;

		coati_alloc_fail_after(n);
		failed = coati_top_model_init(&m, MIB, 600) < 0;
		for (uint32_t i = 0; i < 30 && !failed; i++)
			add_new(&m, 1 + i / 10, i, &fed);
		m.settled_bytes = 0;
		(void)coati_top_model_trim(&m, 3 * S);
		coati_alloc_fail_after(UINT64_MAX);
		if (!failed) {
			struct top_rows rows;

			CHECK_OK(coati_top_rows(&m, &q, &rows));
			CHECK_U64(rows.count, <=, fed);
			coati_top_rows_fini(&rows);
		}
		failed |= m.refused || sum_of(&m, q) < fed;
		coati_top_model_fini(&m);
		if (!failed)
			break;
	}
}

TEST(top_buckets_are_in_order_and_off_by_a_thirtysecond_at_most)
{
	uint32_t before = 0;

	for (uint64_t ns = 0; ns < UINT64_C(1) << 62; ns += 1 + ns / 7) {
		uint32_t b = bucket_of(ns);

		CHECK_U64(b, >=, before);
		CHECK_U64(bucket_end(b), >=, ns);
		CHECK_U64(bucket_end(b), <=, ns + ns / 32);
		if (b)
			CHECK_U64(bucket_end(b - 1), <, ns);
		before = b;
	}
}

TEST(top_tasks_have_the_percentiles_of_their_durations)
{
	top_tasks tasks = { 0 };
	struct top_model m;

	init(&m);
	/* 1 to 60 ns are exact buckets */
	for (uint64_t i = 1; i <= 60; i++)
		CHECK_OK(coati_top_model_task(&m, 4 * S, "request", i));
	CHECK_OK(coati_top_model_task(&m, 5 * S, "flush", 1000000));
	CHECK_OK(coati_top_tasks(&m, 4, 4, &tasks));
	CHECK_U64(tasks.len, ==, 1);
	CHECK_STR(tasks.v[0].type, "request");
	CHECK_U64(tasks.v[0].count, ==, 60);
	CHECK_U64(tasks.v[0].p50, ==, 30);
	CHECK_U64(tasks.v[0].p90, ==, 54);
	CHECK_U64(tasks.v[0].p99, ==, 60);
	CHECK_U64(tasks.v[0].max, ==, 60);
	CHECK_OK(coati_top_tasks(&m, 0, 9, &tasks));
	CHECK_U64(tasks.len, ==, 2);
	CHECK_STR(tasks.v[1].type, "flush");
	CHECK_U64(tasks.v[1].p50, >=, 1000000);
	CHECK_U64(tasks.v[1].p50, <=, 1000000 + 1000000 / 32);
	ARRAY_FINI(&tasks);
	coati_top_model_fini(&m);
}

TEST(top_rows_compare_shows_what_is_new_and_what_has_vanished)
{
	struct top_query now = { .from = 10, .to = 10 }, before = { .from = 1, .to = 9 };
	struct top_model m;
	struct top_rows rows;

	init(&m);
	for (uint64_t s = 1; s <= 10; s++) {
		uint32_t usual = STACK(&m, "usual"), old = STACK(&m, "old"), new = STACK(&m, "new");

		CHECK_OK(coati_top_model_add(
			&m, &(struct top_sample){ .time_ns = s * S,
						  .weight = 50,
						  .stack = usual,
						  .thread = thread_of(&m, 1, 1) }));
		CHECK_OK(coati_top_model_add(
			&m, &(struct top_sample){ .time_ns = s * S,
						  .weight = 50,
						  .stack = s < 10 ? old : new,
						  .thread = thread_of(&m, 1, 1) }));
	}
	CHECK_OK(coati_top_rows_compare(&m, &now, &before, &rows));
	CHECK_U64(rows.rows.len, ==, 3);
	CHECK_U64(rows.weight, ==, 100);
	CHECK_U64(rows.before, ==, 900);
	CHECK_STR(rows.rows.v[0].name, "new");
	CHECK_U64(rows.rows.v[0].total, ==, 50);
	CHECK_U64(rows.rows.v[0].before, ==, 0);
	CHECK_STR(rows.rows.v[1].name, "old");
	CHECK_U64(rows.rows.v[1].total, ==, 0);
	CHECK_U64(rows.rows.v[1].before, ==, 450);
	CHECK_STR(rows.rows.v[2].name, "usual");
	CHECK_U64(rows.rows.v[2].before, ==, 450);
	coati_top_rows_fini(&rows);
	coati_top_model_fini(&m);
}

TEST(top_rows_filter_in_any_case_and_keep_the_whole)
{
	struct top_query q = { .to = UINT64_MAX, .filter = "REND" };
	struct top_model m;
	struct top_rows rows;

	init(&m);
	CHECK_OK(coati_top_model_add(&m, &(struct top_sample){ .time_ns = S,
							       .weight = 3,
							       .stack = STACK(&m, "render", "main"),
							       .thread = thread_of(&m, 1, 1) }));
	CHECK_OK(coati_top_rows(&m, &q, &rows));
	CHECK_U64(rows.rows.len, ==, 1);
	CHECK_U64(rows.nr_all, ==, 2);
	CHECK_U64(rows.weight, ==, 3);
	CHECK_STR(rows.rows.v[0].name, "render");
	coati_top_rows_fini(&rows);
	coati_top_model_fini(&m);
}

/* Self of all nodes is the whole; a node weighs what it and its children do. */
static void check_tree(const struct top_tree *t, uint64_t whole)
{
	uint64_t self = 0;

	CHECK_U64(t->nodes.v[0].total, ==, whole);
	for (uint32_t i = 0; i < t->nodes.len; i++) {
		const struct top_node *n = &t->nodes.v[i];
		uint64_t sum = n->self, last = UINT64_MAX;

		self += n->self;
		for (uint32_t c = n->first_child; c != TOP_NONE; c = t->nodes.v[c].next_sibling) {
			CHECK_U64(t->nodes.v[c].total, <=, last);
			last = t->nodes.v[c].total;
			sum += last;
		}
		CHECK_U64(n->total, ==, sum);
	}
	CHECK_U64(self, ==, whole);
}

TEST(top_trees_add_up_from_the_roots_and_of_one_function)
{
	struct plain p = { 0 };
	struct top_pick pick = { .is_on = true, .by = TOP_BY_FUNCTION, .name = "c", .path = "app" };
	struct top_query q = { .to = UINT64_MAX };
	struct top_model m;
	struct top_tree t;
	uint64_t of_c;

	init(&m);
	for (int i = 0; i < 1000; i++)
		add_random(&m, &p, 50);
	CHECK_OK(coati_top_tree(&m, &q, TOP_TREE_DOWN, &t));
	check_tree(&t, sum_of(&m, q));
	coati_top_tree_fini(&t);
	of_c = row_of(&m, q, "c").total;
	q.pick = &pick;
	for (int kind = TOP_TREE_DOWN; kind <= TOP_TREE_UP; kind++) {
		CHECK_OK(coati_top_tree(&m, &q, kind, &t));
		check_tree(&t, of_c);
		CHECK_U64(t.nodes.v[t.nodes.v[0].first_child].total, ==, of_c);
		CHECK_U64(t.nodes.v[t.nodes.v[0].first_child].next_sibling, ==, TOP_NONE);
		coati_top_tree_fini(&t);
	}
	coati_top_model_fini(&m);
}

TEST(top_spike_is_the_second_that_rises_most)
{
	struct top_model m;
	uint32_t stack;

	init(&m);
	stack = STACK(&m, "work");
	for (uint64_t s = 100; s < 200; s++)
		CHECK_OK(coati_top_model_add(
			&m, &(struct top_sample){ .time_ns = s * S,
						  .weight = s == 150   ? 900
							    : s == 120 ? 500
								       : 100,
						  .stack = stack,
						  .thread = thread_of(&m, 1, 1) }));
	CHECK_U64(coati_top_spike(&m, TOP_ON_CPU, UINT64_MAX), ==, 150);
	CHECK_U64(coati_top_spike(&m, TOP_ON_CPU, 150), ==, 120);
	CHECK_U64(coati_top_spike(&m, TOP_OFF_CPU, UINT64_MAX), ==, 0);
	coati_top_model_fini(&m);
}
