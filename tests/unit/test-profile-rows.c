/* SPDX-License-Identifier: MIT */
/* Tables: which weight each row has, what else is in it, and the order of rows that weigh the
 * same. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profile/view.h"
#include "unit/profile-tape.h"

#define OTHER_BASE (TAPE_BASE + 0x100000)

static size_t rows_by(struct coati_view *v, enum coati_by by, const struct coati_row **ret)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = by, .label = "cgroup" };
	size_t nr;

	CHECK_INT(coati_view_rows(v, &q, ret, &nr, NULL), ==, 0);
	return nr;
}

/* Two files with the same functions, and threads of the same name; every stack weighs the same. */
static struct coati_profile *equal_weights(void)
{
	const uint32_t tids[] = { 13, 11, 12 };
	char folder[4000], path[4096];
	struct tape t;

	CHECK(getcwd(folder, sizeof(folder)));
	snprintf(path, sizeof(path), "%s/another", folder);
	tape_program();
	test_copy_file("program", "another");
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_map(&t, 10, OTHER_BASE, path);
	for (size_t i = 0; i < 3; i++)
		tape_comm(&t, 10, tids[i], "worker", 0);
	for (size_t i = 0; i < 3; i++) {
		tape_put(&t,
			 (struct tape_sample){ .pid = 10, .tid = tids[i], TAPE_STACK(TAPE_WORK) });
		tape_put(&t,
			 (struct tape_sample){ .pid = 10,
					       .tid = tids[i],
					       TAPE_STACK(TAPE_LEAF - TAPE_BASE + OTHER_BASE) });
		tape_put(&t,
			 (struct tape_sample){ .pid = 10, .tid = tids[i], TAPE_STACK(TAPE_LEAF) });
	}
	tape_close(&t);
	return tape_profile("a");
}

TEST(rows_of_equal_weight_are_in_order_of_name_image_and_thread)
{
	struct coati_profile *p = equal_weights();
	struct coati_view *v = tape_view(p, NULL);
	const struct coati_row *rows;

	CHECK_U64(rows_by(v, COATI_BY_FUNCTION, &rows), ==, 3);
	CHECK_STR(rows[0].name, "leaf");
	CHECK_STR(rows[0].image, "another");
	CHECK_STR(rows[1].name, "leaf");
	CHECK_STR(rows[1].image, "program");
	CHECK_STR(rows[2].name, "work");
	CHECK_U64(rows_by(v, COATI_BY_THREAD, &rows), ==, 3);
	for (int i = 0; i < 3; i++) {
		CHECK_STR(rows[i].name, "worker");
		CHECK_INT(rows[i].tid, ==, 11 + i);
		CHECK_INT(rows[i].pid, ==, 10);
		CHECK_INT(rows[i].cpu, ==, -1);
		CHECK_U64(rows[i].self, ==, 3000);
		CHECK_U64(rows[i].self_count, ==, 3);
		CHECK_U64(rows[i].total, ==, 3000);
		CHECK_U64(rows[i].total_count, ==, 3);
	}
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(rows_of_addresses_in_one_function_are_in_order_of_address)
{
	struct coati_view *v;
	struct coati_profile *p;
	const struct coati_row *rows;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t at = 3; at > 0; at--)
		tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF + at) });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	CHECK_U64(rows_by(v, COATI_BY_ADDRESS, &rows), ==, 3);
	for (int i = 0; i < 3; i++)
		CHECK_U64(rows[i].address, ==, rows[0].address + (uint64_t)i);
	CHECK_U64(rows_by(v, COATI_BY_FUNCTION, &rows), ==, 1);
	CHECK_U64(rows[0].self, ==, 3000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(rows_have_no_process_thread_or_cpu_but_those_they_are_of)
{
	const enum coati_by tables[] = { COATI_BY_FUNCTION, COATI_BY_IMAGE, COATI_BY_EVENT,
					 COATI_BY_COMM,	    COATI_BY_LABEL, COATI_BY_TIME };
	struct coati_profile *p = equal_weights();
	struct coati_view *v = tape_view(p, NULL);
	const struct coati_row *rows;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		CHECK_U64(rows_by(v, tables[i], &rows), >, 0);
		CHECK_INT(rows[0].pid, ==, -1);
		CHECK_INT(rows[0].tid, ==, -1);
		CHECK_INT(rows[0].cpu, ==, -1);
	}
	CHECK_U64(rows_by(v, COATI_BY_PROCESS, &rows), ==, 1);
	CHECK_INT(rows[0].pid, ==, 10);
	CHECK_INT(rows[0].tid, ==, -1);
	CHECK_U64(rows[0].self, ==, 9000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* A row has the flags that all of its frames have. */
TEST(rows_of_code_without_symbols_are_flagged)
{
	struct coati_profile *p;
	struct coati_view *v;
	const struct coati_row *rows;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t,
		 (struct tape_sample){ .pid = 10, .period = 5, TAPE_STACK(0x500100, TAPE_MAIN) });
	tape_put(&t,
		 (struct tape_sample){ .pid = 10, .period = 2, TAPE_STACK(0x500200, TAPE_MAIN) });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	CHECK_U64(rows_by(v, COATI_BY_FUNCTION, &rows), ==, 2);
	CHECK_STR(rows[0].name, "[unknown]");
	CHECK_U64(rows[0].self, ==, 7);
	CHECK_U64(rows[0].flags, ==, COATI_NAME_SYNTHETIC);
	CHECK_STR(rows[1].name, "main");
	CHECK_U64(rows[1].total, ==, 7);
	CHECK_U64(rows[1].flags, ==, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* Only rows of lines and addresses are at one place of a file. */
TEST(rows_of_lines_and_addresses_have_their_place_in_a_file)
{
	struct coati_view_opts o = { .size = sizeof(o), .flags = COATI_VIEW_LINES };
	struct coati_profile *p;
	struct coati_view *v;
	const struct coati_row *rows;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_close(&t);
	p = tape_profile("a");
	CHECK_OK(coati_view_new(p, &o, &v, NULL));
	CHECK_U64(v->frames.len, ==, 1);
	v->frames.v[0].file = "a.c"; /* the program has no lines of its own */
	v->frames.v[0].line = 7;
	CHECK_U64(rows_by(v, COATI_BY_LINE, &rows), ==, 1);
	CHECK_STR(rows[0].name, "a.c:7");
	CHECK_STR(rows[0].file, "a.c");
	CHECK_U64(rows[0].line, ==, 7);
	CHECK_U64(rows_by(v, COATI_BY_ADDRESS, &rows), ==, 1);
	CHECK_STR(rows[0].name, "leaf");
	CHECK_STR(rows[0].file, "a.c");
	CHECK_U64(rows[0].line, ==, 7);
	CHECK_U64(rows[0].address, ==, v->frames.v[0].address);
	CHECK_U64(rows_by(v, COATI_BY_FUNCTION, &rows), ==, 1);
	CHECK(!rows[0].file);
	CHECK_U64(rows[0].line, ==, 0);
	CHECK_U64(rows[0].address, ==, v->frames.v[0].start);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(rows_of_a_table_that_does_not_exist_are_refused)
{
	struct coati_profile *p = equal_weights();
	struct coati_view *v = tape_view(p, NULL);
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_COUNT };
	const struct coati_row *rows;
	size_t nr;

	CHECK_ERR(coati_view_rows(v, &q, &rows, &nr, NULL), -EINVAL);
	q.by = COATI_BY_LABEL;
	CHECK_ERR(coati_view_rows(v, &q, &rows, &nr, NULL), -EINVAL);
	q.by = COATI_BY_COUNT - 1;
	q.label = "cgroup";
	CHECK_INT(coati_view_rows(v, &q, &rows, &nr, NULL), ==, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* ---- weights of counters that samples carry along ---- */

#define READS (COATI_READ_GROUP | COATI_READ_ID)

/* A sample of a group: what its two counters have counted. */
static void put_group(struct tape *t, uint32_t tid, uint64_t first, uint64_t second)
{
	const uint64_t words[] = { 2, first, 100, second, 101 };

	tape_put(t, (struct tape_sample){ .pid = 10,
					  .tid = tid,
					  .read = words,
					  .nr_read = 2,
					  TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
}

static void open_group(struct tape *t)
{
	tape_program();
	tape_begin(t, "a");
	t->read_format = READS;
	for (int i = 0; i < 2; i++)
		tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK + (uint64_t)i,
			   i ? "second" : "first", COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_READ);
	tape_start(t);
	tape_process(t, 10, "app");
	tape_comm(t, 10, 11, "worker", 0);
}

TEST(rows_of_a_group_weigh_what_each_counter_counted_since_the_sample_before)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	open_group(&t);
	put_group(&t, 10, 100, 7);
	put_group(&t, 10, 150, 7); /* the second one counted nothing */
	put_group(&t, 11, 250, 17);
	put_group(&t, 11, 30, 20); /* the first one was set to zero */
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	coati_profile_quality(p, &q);
	CHECK_U64(q.no_event, ==, 0);
	CHECK_U64(coati_profile_event(p, 0)->weight, ==, 100 + 50 + 100 + 30);
	CHECK_U64(coati_profile_event(p, 0)->samples, ==, 4);
	CHECK_U64(coati_profile_event(p, 1)->weight, ==, 7 + 10 + 3);
	CHECK_U64(coati_profile_event(p, 1)->samples, ==, 3);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(rows_of_a_group_that_is_inherited_count_in_each_thread)
{
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	t.read_format = READS;
	t.attr_flags = COATI_ATTR_INHERIT;
	for (int i = 0; i < 2; i++)
		tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK + (uint64_t)i,
			   i ? "second" : "first", COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_READ);
	tape_start(&t);
	tape_process(&t, 10, "app");
	put_group(&t, 10, 100, 7);
	put_group(&t, 11, 120, 8);
	put_group(&t, 10, 150, 9);
	tape_close(&t);
	p = tape_profile("a");
	CHECK_U64(coati_profile_event(p, 0)->weight, ==, 100 + 120 + 50);
	CHECK_U64(coati_profile_event(p, 1)->weight, ==, 7 + 8 + 2);
	coati_profile_free(&p);
}

TEST(rows_of_a_group_leave_out_counters_of_no_event)
{
	const uint64_t words[] = { 2, 5, 999, 6, 100 };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	open_group(&t);
	tape_put(&t, (struct tape_sample){
			     .pid = 10, .read = words, .nr_read = 2, TAPE_STACK(TAPE_LEAF) });
	tape_close(&t);
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.no_event, ==, 1);
	CHECK_U64(q.samples, ==, 1);
	CHECK_U64(coati_profile_event(p, 0)->weight, ==, 6);
	coati_profile_free(&p);
}

/* ---- what is in a view ---- */

TEST(view_of_one_kind_of_waiting_has_the_weight_of_nothing_else)
{
	const struct {
		uint64_t out, in;
		uint16_t misc;
	} switches[] = { { 2000, 5000, COATI_MISC_SWITCH_OUT },
			 { 6000, 6500, COATI_MISC_SWITCH_OUT | COATI_MISC_SWITCH_OUT_PREEMPT },
			 { 7000, 7300, COATI_MISC_SWITCH_OUT | COATI_MISC_SWITCH_OUT_PREEMPT } };
	struct coati_filter f = { .size = sizeof(f), .wait = "preempted" };
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_begin_switches(&t, "a");
	tape_start(&t);
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, .time = 1500, TAPE_STACK(TAPE_LEAF) });
	for (size_t i = 0; i < 3; i++) {
		struct coati_record rec = { .type = COATI_RECORD_SWITCH,
					    .misc = switches[i].misc,
					    .id = { .pid = 10, .tid = 10 } };

		rec.id.time = switches[i].out;
		tape_record(&t, &rec);
		rec.misc = 0;
		rec.id.time = switches[i].in;
		tape_record(&t, &rec);
	}
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 1000 + 3000 + 500 + 300);
	coati_view_free(&v);
	v = tape_view(p, &f);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 500 + 300);
	CHECK_U64(info.samples, ==, 2);
	CHECK_U64(info.nr_stacks, ==, 1);
	coati_view_free(&v);
	coati_profile_free(&p);
}
