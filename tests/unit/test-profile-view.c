/* SPDX-License-Identifier: MIT */
/* Views: filters by sample and by frame, trees in both directions, tables of one function. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "unit/profile-tape.h"

/*
 * Two threads of "app" (10: tid 10 "app", tid 11 "worker") and one of "tool" (20):
 *	10	leaf < work < main	1000	at 1 s
 *	11	leaf < other < main	2000	at 2 s, cgroup 5
 *	20	work < work < main	4000	at 3 s
 *	20	other			8000	at 5 s
 */
static void write_it(void)
{
	struct coati_record cgroup = { .type = COATI_RECORD_CGROUP,
				       .u.cgroup = { .id = 5, .path = "/shop" } };
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_CGROUP);
	tape_start(&t);
	t.time = 100;
	tape_process(&t, 10, "app");
	tape_fork(&t, 10, 11, 10, 10);
	tape_comm(&t, 10, 11, "worker", 0);
	tape_process(&t, 20, "tool");
	tape_record(&t, &cgroup);
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .time = UINT64_C(1000000000),
					   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .tid = 11,
					   .cpu = 1,
					   .cgroup = 5,
					   .period = 2000,
					   .time = UINT64_C(2000000000),
					   TAPE_STACK(TAPE_LEAF, TAPE_OTHER, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 20,
					   .cpu = 2,
					   .period = 4000,
					   .time = UINT64_C(3000000000),
					   TAPE_STACK(TAPE_WORK, TAPE_WORK, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 20,
					   .period = 8000,
					   .time = UINT64_C(5000000000),
					   TAPE_STACK(TAPE_OTHER) });
	tape_close(&t);
}

static struct coati_profile *write_and_read(const struct coati_profile_opts *o)
{
	write_it();
	return tape_read(o, (const char *const[]){ "a", NULL });
}

static struct coati_profile *write_and_hook(const struct coati_profile_hooks *hooks)
{
	write_it();
	return tape_read_hooked(NULL, hooks, (const char *const[]){ "a", NULL });
}

/* The weight that a filter leaves, asked of a view. */
static uint64_t viewed(struct coati_profile *p, struct coati_filter f)
{
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_view *v;

	f.size = sizeof(f);
	v = tape_view(p, &f);
	coati_view_info(v, &info);
	coati_view_free(&v);
	return info.total;
}

/* The same, of a profile that read only what the filter lets through. */
static uint64_t read_through(struct coati_filter f)
{
	struct coati_profile_opts o = { .size = sizeof(o),
					.flags = COATI_PROFILE_PER_CPU,
					.filter = &f };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	uint64_t weight;

	f.size = sizeof(f);
	p = write_and_read(&o);
	weight = viewed(p, (struct coati_filter){ 0 });
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples + q.filtered, ==, 4);
	coati_profile_free(&p);
	return weight;
}

TEST(profile_filters_samples_alike_in_views_and_while_reading)
{
	static const struct {
		struct coati_filter f;
		uint64_t weight;
	} cases[] = {
		{ { .thread = "11" }, 2000 },
		{ { .thread = "worker,20" }, 14000 },
		{ { .process = "10" }, 3000 },
		{ { .process = "too*" }, 12000 },
		{ { .comm = "app" }, 1000 },
		{ { .cpu = "0" }, 9000 },
		{ { .cpu = "1-2" }, 6000 },
		{ { .event = "cpu-clock" }, 15000 },
		{ { .event = "cycles" }, 0 },
		{ { .label = "cgroup=/shop" }, 2000 },
		{ { .label = "cgroup=/sh?p" }, 2000 },
		{ { .label = "cgroup" }, 2000 },
		{ { .label = "cgroup=/other" }, 0 },
		{ { .label = "thread_name=worker" }, 2000 },
		{ { .label = "thread_id=11,cgroup=/shop" }, 2000 },
		{ { .label = "process_name=to*" }, 12000 },
		{ { .label = "process_id=20" }, 12000 },
		{ { .label = "process_id" }, 15000 },
		{ { .label = "process" }, 0 },
		{ { .process = "10", .cpu = "0" }, 1000 },
	};
	struct coati_profile_opts o = { .size = sizeof(o), .flags = COATI_PROFILE_PER_CPU };
	struct coati_profile *p = write_and_read(&o);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_U64(viewed(p, cases[i].f), ==, cases[i].weight);
		CHECK_U64(read_through(cases[i].f), ==, cases[i].weight);
	}
	coati_profile_free(&p);
}

TEST(profile_filters_by_time)
{
	/* samples lie at 0, 1, 2 and 4 s after the first */
	CHECK_U64(read_through((struct coati_filter){ .time = "1s-" }), ==, 14000);
	CHECK_U64(read_through((struct coati_filter){ .time = "-1500ms" }), ==, 3000);
	CHECK_U64(read_through((struct coati_filter){ .time = "0.5s-2s" }), ==, 6000);
	CHECK_U64(read_through((struct coati_filter){ .time = "@3-@4" }), ==, 4000);
	CHECK_U64(read_through((struct coati_filter){ .time = "50%-100%" }), ==, 12000);
	CHECK_U64(read_through((struct coati_filter){ .time = "0%-30%" }), ==, 3000);
}

/* Many of one thread are taken together: the first and the last moment belong to the range. */
TEST(profile_filters_by_time_among_many_samples)
{
	struct coati_filter f = { .size = sizeof(f), .time = "20us-40us" };
	struct coati_profile_opts o = { .size = sizeof(o), .filter = &f };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t i = 0; i < 64; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .time = 2000000000 + 1000 * i,
						   TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	tape_close(&t);
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 21);
	CHECK_U64(q.filtered, ==, 64 - 21);
	coati_profile_free(&p);
}

TEST(profile_filters_whole_bins_of_time_in_a_view)
{
	struct coati_profile_opts o = { .size = sizeof(o), .bin_ns = 1000000000 };
	struct coati_profile *p = write_and_read(&o);

	CHECK_U64(viewed(p, (struct coati_filter){ .time = "1s-2.5s" }), ==, 6000);
	CHECK_U64(viewed(p, (struct coati_filter){ .time = "3s-" }), ==, 8000);
	coati_profile_free(&p);
}

TEST(profile_filters_stacks_by_their_frames)
{
	struct coati_profile *p = write_and_read(NULL);

	CHECK_U64(viewed(p, (struct coati_filter){ .function = "work" }), ==, 5000);
	CHECK_U64(viewed(p, (struct coati_filter){ .function = "*o*" }), ==, 15000);
	CHECK_U64(viewed(p, (struct coati_filter){ .image = "program" }), ==, 15000);
	CHECK_U64(viewed(p, (struct coati_filter){ .image = "*/program" }), ==, 15000);
	CHECK_U64(viewed(p, (struct coati_filter){ .image = "libc.so.6" }), ==, 0);
	CHECK_U64(viewed(p, (struct coati_filter){ .focus = "^lea" }), ==, 3000);
	CHECK_U64(viewed(p, (struct coati_filter){ .ignore = "work" }), ==, 10000);
	CHECK_U64(viewed(p, (struct coati_filter){ .focus = "leaf", .ignore = "other|none" }), ==,
		  1000);
	coati_profile_free(&p);
}

TEST(profile_hides_and_shows_frames)
{
	struct coati_filter hide = { .size = sizeof(hide), .hide = "leaf" };
	struct coati_filter show = { .size = sizeof(show), .show = "main|other" };
	struct coati_filter from = { .size = sizeof(from), .show_from = "work" };
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, &hide);

	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "leaf").total, ==, 0);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "other").self, ==, 10000);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "work").self, ==, 5000);
	coati_view_free(&v);
	v = tape_view(p, &show);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "main").self, ==, 5000);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "other").self, ==, 10000);
	coati_view_free(&v);
	v = tape_view(p, &from);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "main").total, ==, 0);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "work").total, ==, 5000);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "other").total, ==, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}

static void refused(struct coati_filter f, int code, const char *part)
{
	struct coati_profile_opts o = { .size = sizeof(o) };
	struct coati_view_opts vo = { .size = sizeof(vo), .filter = &f };
	struct coati_profile *p = NULL;
	struct coati_view *v = NULL;
	struct coati_error err = { 0 };

	f.size = sizeof(f);
	CHECK_OK(coati_profile_new(&o, &p, NULL));
	CHECK_ERR(coati_view_new(p, &vo, &v, &err), code);
	CHECK_HAS(err.text, part);
	coati_profile_free(&p);
}

TEST(profile_says_what_is_wrong_with_a_filter)
{
	char longer[2000];

	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	refused((struct coati_filter){ .focus = "a(" }, -EINVAL, "focus: \"a(\"");
	refused((struct coati_filter){ .show = "\\\\(a)\\1" }, -EINVAL, "back reference");
	refused((struct coati_filter){ .hide = longer }, -E2BIG, "hide");
	refused((struct coati_filter){ .cpu = "0-x" }, -EINVAL, "cpu: \"0-x\"");
	refused((struct coati_filter){ .thread = "1,,2" }, -EINVAL, "thread");
	refused((struct coati_filter){ .time = "yesterday" }, -EINVAL, "time: \"yesterday\"");
	refused((struct coati_filter){ .time = "5s" }, -EINVAL, "time");
	refused((struct coati_filter){ .time = "1%-101%" }, -EINVAL, "time");
}

static int shown(const struct coati_view *v, uint32_t stack, uint32_t event, uint32_t thread)
{
	struct coati_profile_sample sample = {
		.weight = 7, .stack = stack, .event = event, .thread = thread
	};
	struct coati_view_entry e = { 0 };
	int r = coati_view_sample(v, &sample, &e);

	CHECK_U64(e.weight, ==, r ? 7 : 0);
	return r;
}

TEST(profile_view_shows_samples_of_the_stacks_that_a_filter_leaves)
{
	struct coati_filter f = { .size = sizeof(f), .thread = "tool" };
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, &f), *on = NULL;
	struct coati_view_opts o = { .size = sizeof(o), .flags = COATI_VIEW_NO_OFF_CPU };

	CHECK_INT(coati_profile_entry_count(p), ==, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct coati_profile_entry *e = coati_profile_entry(p, i);
		bool is_tool = coati_profile_thread(p, e->thread)->pid == 20;

		CHECK_INT(shown(v, e->stack, e->event, e->thread), ==, is_tool);
	}
	CHECK_INT(shown(v, (uint32_t)p->stacks.len, 0, 0), ==, 0);
	coati_view_free(&v);
	/* a sample of no event is none off CPUs, whatever lies behind the events */
	CHECK_OK(coati_view_new(p, &o, &on, NULL));
	p->events.v[0].is_off_cpu = true;
	CHECK_INT(shown(on, 0, 0, 0), ==, 0);
	CHECK_U64(p->events.len, ==, 1);
	p->events.len = 0;
	CHECK_INT(shown(on, 0, 0, 0), ==, 1);
	p->events.len = 1;
	coati_view_free(&on);
	coati_profile_free(&p);
}

/* The tree as text: "name total self(child child)". */
static size_t print_node(const struct coati_tree_node *nodes, uint32_t i, char *to, size_t cap)
{
	const struct coati_tree_node *n = &nodes[i];
	size_t len = (size_t)snprintf(to, cap, "%s %llu %llu", n->name,
				      (unsigned long long)n->total / 1000,
				      (unsigned long long)n->self / 1000);

	for (uint32_t c = n->first_child; c != UINT32_MAX; c = nodes[c].next_sibling) {
		CHECK_U64(nodes[c].parent, ==, i);
		CHECK_U64(nodes[c].depth, ==, n->depth + 1);
		len += (size_t)snprintf(to + len, cap - len, c == n->first_child ? "(" : " ");
		len += print_node(nodes, c, to + len, cap - len);
		if (nodes[c].next_sibling == UINT32_MAX)
			len += (size_t)snprintf(to + len, cap - len, ")");
	}
	return len;
}

static void check_tree(struct coati_view *v, struct coati_tree_query q, const char *want)
{
	const struct coati_tree_node *nodes;
	char text[1024];
	size_t nr;

	q.size = sizeof(q);
	CHECK_OK(coati_view_tree(v, &q, &nodes, &nr, NULL));
	print_node(nodes, 0, text, sizeof(text));
	CHECK_STR(text, want);
}

TEST(profile_tree_goes_down_from_the_outermost_frame)
{
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, NULL);

	check_tree(v, (struct coati_tree_query){ 0 },
		   "all 15 0(other 8 8 main 7 0(work 5 0(work 4 4 leaf 1 1) other 2 0(leaf 2 2)))");
	check_tree(v, (struct coati_tree_query){ .max_depth = 2 },
		   "all 15 0(other 8 8 main 7 0(work 5 5 other 2 2))");
	check_tree(v, (struct coati_tree_query){ .by = COATI_BY_IMAGE }, "all 15 0(program 15 15)");
	check_tree(
		v, (struct coati_tree_query){ .flags = COATI_TREE_BY_THREAD, .max_depth = 2 },
		"all 15 0(tool 12 0(other 8 8 main 4 4) worker 2 0(main 2 2) app 1 0(main 1 1))");
	check_tree(v, (struct coati_tree_query){ .flags = COATI_TREE_BY_PROCESS, .max_depth = 1 },
		   "all 15 0(tool 12 12 app 3 3)");
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_tree_shows_callers_and_callees_of_a_function)
{
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, NULL);

	check_tree(v, (struct coati_tree_query){ .kind = COATI_TREE_UP, .function = "leaf" },
		   "all 3 0(leaf 3 0(other 2 0(main 2 2) work 1 0(main 1 1)))");
	/* its innermost frame is where the weight is, its callers are above */
	check_tree(v, (struct coati_tree_query){ .kind = COATI_TREE_UP, .function = "work" },
		   "all 5 0(work 5 0(work 4 0(main 4 4) main 1 1))");
	check_tree(v, (struct coati_tree_query){ .function = "work" },
		   "all 5 0(work 5 0(work 4 4 leaf 1 1))");
	check_tree(v, (struct coati_tree_query){ .function = "nobody" }, "all 0 0");
	check_tree(v, (struct coati_tree_query){ .kind = COATI_TREE_UP },
		   "all 15 0(other 8 8 work 4 0(work 4 0(main 4 4)) leaf 3 0(other 2 0(main 2 2) "
		   "work 1 0(main 1 1)))");
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_tree_folds_what_calls_itself_when_asked)
{
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, NULL);
	struct coati_tree_query q = { .size = sizeof(q), .flags = COATI_TREE_FOLD };
	const struct coati_tree_node *nodes;
	uint32_t folded = 0;
	size_t nr;

	check_tree(v, q, "all 15 0(other 8 8 main 7 0(work 5 4(leaf 1 1) other 2 0(leaf 2 2)))");
	CHECK_OK(coati_view_tree(v, &q, &nodes, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		if (nodes[i].flags & COATI_NODE_FOLDED) {
			CHECK_STR(nodes[i].name, "work");
			folded++;
		}
	CHECK_U64(folded, ==, 1);
	q.kind = COATI_TREE_UP;
	q.function = "work";
	check_tree(v, q, "all 5 0(work 5 0(main 5 5))");
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* Two stacks through one node, the first of which was folded there, and the other way round. */
TEST(profile_tree_remembers_a_fold_whatever_comes_through_the_node_later)
{
	static const uint64_t stacks[][4] = {
		{ COATI_CONTEXT_USER, TAPE_WORK, TAPE_WORK, TAPE_MAIN },
		{ COATI_CONTEXT_USER, TAPE_LEAF, TAPE_WORK, TAPE_MAIN },
	};

	for (uint32_t first = 0; first < 2; first++) {
		struct coati_tree_query q = { .size = sizeof(q), .flags = COATI_TREE_FOLD };
		const struct coati_tree_node *nodes;
		struct coati_profile *p;
		struct coati_view *v;
		struct tape t;
		size_t nr;

		tape_program();
		tape_open(&t, "a");
		tape_process(&t, 10, "app");
		for (uint32_t i = 0; i < 2; i++)
			tape_put(&t, (struct tape_sample){
					     .pid = 10, .chain = stacks[first ^ i], .nr = 4 });
		tape_close(&t);
		p = tape_profile("a");
		v = tape_view(p, NULL);
		check_tree(v, q, "all 2 0(main 2 0(work 2 1(leaf 1 1)))");
		CHECK_OK(coati_view_tree(v, &q, &nodes, &nr, NULL));
		CHECK_U64(nr, ==, 4);
		for (size_t i = 0; i < nr; i++)
			CHECK_INT(!!(nodes[i].flags & COATI_NODE_FOLDED), ==,
				  !strcmp(nodes[i].name, "work"));
		coati_view_free(&v);
		coati_profile_free(&p);
	}
}

TEST(profile_table_by_time_is_in_the_order_of_time)
{
	struct coati_profile_opts o = { .size = sizeof(o), .bin_ns = 1000000000 };
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_TIME };
	struct coati_profile *p = write_and_read(&o);
	struct coati_view *v = tape_view(p, NULL);
	static const uint64_t seconds[] = { 0, 1, 2, 4 };
	const struct coati_row *rows;
	size_t nr;

	CHECK_OK(coati_view_rows(v, &q, &rows, &nr, NULL));
	CHECK_U64(nr, ==, 4);
	for (size_t i = 0; i < nr; i++) {
		CHECK_U64(rows[i].address, ==, seconds[i] * 1000000000);
		CHECK_U64(rows[i].self, ==, 1000u << i);
	}
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_tables_are_sorted_and_can_be_of_one_function)
{
	struct coati_rows_query q = { .size = sizeof(q) };
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, NULL);
	const struct coati_row *rows;
	size_t nr;

	CHECK_OK(coati_view_rows(v, &q, &rows, &nr, NULL));
	CHECK_U64(nr, ==, 4);
	CHECK_STR(rows[0].name, "other");
	CHECK_STR(rows[1].name, "work");
	CHECK_STR(rows[2].name, "leaf");
	CHECK_STR(rows[3].name, "main");
	CHECK_U64(rows[1].total_count, ==, 2);
	CHECK_U64(rows[1].self_count, ==, 1);
	q.by = COATI_BY_ADDRESS;
	q.function = "work";
	CHECK_OK(coati_view_rows(v, &q, &rows, &nr, NULL));
	CHECK_U64(nr, ==, 2);
	CHECK_U64(rows[0].self, ==, 4000);
	CHECK_U64(rows[0].address - rows[1].address, ==, 1);
	CHECK_U64(rows[1].total, ==, 5000);
	q.by = COATI_BY_LABEL;
	CHECK_ERR(coati_view_rows(v, &q, &rows, &nr, NULL), -EINVAL);
	CHECK_U64(tape_row(v, COATI_BY_LABEL, "/shop").self, ==, 2000);
	CHECK_U64(tape_row(v, COATI_BY_LABEL, "").self, ==, 13000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_view_hands_out_every_entry_with_its_frames)
{
	struct coati_filter f = { .size = sizeof(f), .ignore = "leaf" };
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, &f);
	struct coati_view_entry e;
	uint64_t pos = 0, weight = 0;

	while (coati_view_next(v, &pos, &e) > 0) {
		weight += e.weight;
		CHECK_INT(coati_profile_thread(p, e.entry->thread)->pid, ==, 20);
		CHECK(e.nr_frames == 1 || e.nr_frames == 3);
		CHECK_U64(e.stack_flags, ==, 0);
	}
	CHECK_U64(weight, ==, 12000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

static void keep_sample(void *ctx, const struct coati_profile_sample *s)
{
	struct coati_profile_sample **at = ctx;

	*(*at)++ = *s;
}

TEST(profile_view_shows_single_samples_as_it_shows_their_stacks)
{
	struct coati_profile_sample samples[8], *end = samples, none = { .stack = UINT32_MAX };
	struct coati_profile_hooks hooks = { .on_sample = keep_sample, .ctx = &end };
	struct coati_filter f = { .size = sizeof(f), .focus = "leaf|other", .hide = "main" };
	struct coati_profile *p = write_and_hook(&hooks);
	struct coati_view *v = tape_view(p, &f);
	uint64_t weight = 0, frames = 0;
	struct coati_view_entry e;

	CHECK_U64(end - samples, ==, 4);
	for (struct coati_profile_sample *s = samples; s < end; s++) {
		if (!coati_view_sample(v, s, &e))
			continue;
		CHECK_U64(e.weight, ==, s->weight);
		weight += e.weight;
		frames += e.nr_frames;
	}
	CHECK_U64(weight, ==, 11000);
	CHECK_U64(frames, ==, 2 + 2 + 1);
	CHECK_INT(coati_view_sample(v, &none, &e), ==, 0);
	coati_view_free(&v);
	CHECK_OK(coati_view_new(p,
				&(struct coati_view_opts){ .size = sizeof(struct coati_view_opts),
							   .flags = COATI_VIEW_COUNTS },
				&v, NULL));
	CHECK_INT(coati_view_sample(v, &samples[2], &e), ==, 1);
	CHECK_U64(e.weight, ==, 1);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* The weight of one value of a label. */
static uint64_t by_label(struct coati_view *v, const char *key, const char *value)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_LABEL, .label = key };
	const struct coati_row *rows;
	size_t nr;

	CHECK_OK(coati_view_rows(v, &q, &rows, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(rows[i].name, value))
			return rows[i].total;
	return 0;
}

TEST(profile_rows_by_label_know_what_follows_from_the_thread)
{
	struct coati_profile *p = write_and_read(NULL);
	struct coati_view *v = tape_view(p, NULL);

	CHECK_U64(by_label(v, "cgroup", "/shop"), ==, 2000);
	CHECK_U64(by_label(v, "cgroup", ""), ==, 13000);
	CHECK_U64(by_label(v, "thread_name", "worker"), ==, 2000);
	CHECK_U64(by_label(v, "thread_id", "20"), ==, 12000);
	CHECK_U64(by_label(v, "process_name", "app"), ==, 3000);
	CHECK_U64(by_label(v, "process_id", "10"), ==, 3000);
	CHECK_U64(by_label(v, "nobody", ""), ==, 15000);
	CHECK_STR(coati_profile_label_key(p, 0), "cgroup");
	CHECK_STR(coati_profile_label_key(p, 1), "process_id");
	CHECK_STR(coati_profile_label_key(p, 4), "thread_name");
	CHECK_STR(coati_profile_label_key(p, 5), "service");
	CHECK(!coati_profile_label_key(p, 6));
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_tables_are_known_by_name)
{
	struct coati_error err = { 0 };
	const char *label = NULL;
	enum coati_by by = COATI_BY_COUNT;

	for (int i = 0; i < COATI_BY_COUNT; i++) {
		if (i == COATI_BY_LABEL)
			continue;
		CHECK_OK(coati_by_parse(coati_by_name((enum coati_by)i), &by, &label, NULL));
		CHECK_INT(by, ==, i);
	}
	CHECK_OK(coati_by_parse("label:user", &by, &label, NULL));
	CHECK_INT(by, ==, COATI_BY_LABEL);
	CHECK_STR(label, "user");
	CHECK_ERR(coati_by_parse("functiom", &by, &label, &err), -EINVAL);
	CHECK_HAS(err.text, "did you mean function");
	CHECK_ERR(coati_by_parse("label", &by, &label, &err), -EINVAL);
	CHECK_HAS(err.text, "label:KEY");
}

/* ---- stacks that are cut ---- */

static const char *outermost(struct coati_view *v, const struct coati_view_entry *e)
{
	return coati_view_frame(v, e->frames[e->nr_frames - 1])->function;
}

/* Five samples of work in main, whose chains say that they ended in each of the five ways. Weights
 * tell them apart. */
TEST(view_puts_stacks_that_are_cut_below_a_root_of_their_own)
{
	static const char *const roots[] = { "main", "[truncated]", "[truncated]", "[truncated]",
					     "main" };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_view_entry e;
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;
	uint64_t pos = 0;
	int nr = 0;

	tape_program();
	tape_open(&t, "tape");
	tape_process(&t, 10, "prog");
#define END COATI_CONTEXT_USER
#define PUT(n, ...)                                            \
	tape_put(&t, (struct tape_sample){ .pid = 10,          \
					   .tid = 10,          \
					   .period = 1 << (n), \
					   TAPE_STACK(TAPE_WORK, TAPE_MAIN + 1, ##__VA_ARGS__) })
	PUT(0);
	PUT(1, END);
	PUT(2, END, END);
	PUT(3, END, END, END);
	PUT(4, END, END, END, END);
	tape_close(&t);
	p = tape_profile("tape");
	v = tape_view(p, NULL);
	while (coati_view_next(v, &pos, &e) > 0) {
		int n = __builtin_ctzll(e.weight);

		CHECK_INT(n, <, 5);
		CHECK_STR(outermost(v, &e), roots[n]);
		CHECK_INT(e.nr_frames, ==, roots[n][0] == '[' ? 3 : 2);
		nr++;
	}
	CHECK_INT(nr, ==, 5);
	/* it is no code: tables do not have it, and no function loses weight to it */
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "[truncated]").total, ==, 0);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "main").total, ==, 31);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "work").self, ==, 31);
	coati_profile_quality(p, &q);
	CHECK_U64(q.truncated, ==, 1);
	CHECK_U64(q.gap, ==, 1);
	CHECK_U64(q.guessed, ==, 1);
	coati_view_free(&v);
	coati_profile_free(&p);
}

/* The same with what calls main outermost: nothing is missing above it, whatever stopped the walk
 * there. */
TEST(view_takes_stacks_that_end_in_a_root_for_whole)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_view_entry e;
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;
	uint64_t pos = 0;
	int nr = 0;

	tape_program_named((const char *const[]){ "main", "work", "leaf", "_start_c" });
	tape_open(&t, "tape");
	tape_process(&t, 10, "prog");
#undef PUT
#define PUT(n, outer, ...)                       \
	tape_put(&t, (struct tape_sample){       \
			     .pid = 10,          \
			     .tid = 10,          \
			     .period = 1 << (n), \
			     TAPE_STACK(TAPE_WORK, TAPE_MAIN + 1, (outer) + 1, ##__VA_ARGS__) })
	PUT(0, TAPE_OTHER, END); /* by its name */
	PUT(1, TAPE_OTHER, END, END);
	PUT(2, TAPE_LEAF, END, END); /* as the caller of main */
	PUT(3, TAPE_LEAF, END, END, END);
	tape_close(&t);
	p = tape_profile("tape");
	v = tape_view(p, NULL);
	while (coati_view_next(v, &pos, &e) > 0) {
		CHECK_INT(e.nr_frames, ==, 3);
		CHECK_STR(outermost(v, &e), e.weight < 4 ? "_start_c" : "leaf");
		nr++;
	}
	CHECK_INT(nr, ==, 4);
	coati_profile_quality(p, &q);
	CHECK_U64(q.complete, ==, 4);
	CHECK_U64(q.truncated + q.gap + q.unrooted, ==, 0);
	coati_view_free(&v);
	coati_profile_free(&p);
}
