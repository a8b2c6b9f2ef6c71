/* SPDX-License-Identifier: MIT */
/* Windows of the agent, built of a recording with known contents: each sample is in one of them,
 * with its service, thread, stack and weight. The processes have numbers that no process can have:
 * what runs here is not asked. */
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>

#include "agent/build.h"
#include "base/alloc.h"
#include "base/buckets.h"
#include "unit/profile-tape.h"

#define APP  5000010
#define TOOL 5000020

#define END UINT64_C(300000) /* of the first window */

struct side {
	struct agent_live live;
	struct agent_feed feed;
	struct agent_build build;
};

/* In the first window seven samples of two processes, behind it one. */
static void tape_some(void)
{
	struct tape t;

	tape_program();
	tape_begin_stream(&t, "a");
	t.time = 0;
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_start(&t);
	tape_process(&t, APP, "app");
	tape_fork(&t, APP, APP + 1, APP, APP);
	tape_comm(&t, APP, APP + 1, "worker", 0);
	tape_process(&t, TOOL, "tool");
	for (uint64_t i = 0; i < 3; i++) {
		tape_put(&t, (struct tape_sample){ .pid = APP,
						   .time = 100000 + i,
						   .period = 100 + i,
						   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
		tape_put(&t, (struct tape_sample){ .pid = APP,
						   .tid = APP + 1,
						   .time = 200000 + i,
						   .period = 20,
						   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
	}
	/* no file has that code */
	tape_put(&t, (struct tape_sample){ .pid = TOOL,
					   .time = END - 1,
					   .period = 7,
					   TAPE_STACK(0x1234, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = TOOL,
					   .time = END,
					   .period = 4,
					   TAPE_STACK(TAPE_OTHER, TAPE_MAIN) });
	tape_close(&t);
}

static void open_side(struct side *s)
{
	struct agent_feed_opts o = { .live = &s->live, .max_bytes = UINT64_C(64) << 20 };

	CHECK_OK(coati_agent_live_init(&s->live, NULL));
	coati_agent_build_init(&s->build);
	CHECK_OK(coati_agent_feed_open(&s->feed, open("a", O_RDONLY | O_CLOEXEC), &o, NULL));
	CHECK_OK(coati_agent_feed_take(&s->feed));
	CHECK_OK(coati_agent_feed_end(&s->feed));
}

static void close_side(struct side *s)
{
	coati_agent_build_fini(&s->build);
	coati_agent_feed_close(&s->feed);
	coati_agent_live_fini(&s->live);
}

static const struct agent_window *build_until(struct side *s, uint64_t end_ns)
{
	struct agent_feed *feeds[] = { &s->feed };

	CHECK_OK(coati_agent_build(&s->build, feeds, 1, &s->live, end_ns));
	return &s->build.window;
}

static void check_stack(const struct agent_window *w, const struct agent_row *row,
			const char *const *functions, uint32_t nr)
{
	const struct agent_stack *s = &w->stacks[row->stack];

	CHECK_U64(s->nr, ==, nr);
	for (uint32_t i = 0; i < nr; i++)
		CHECK_STR(w->frames[s->frames[i]].function, functions[i]);
}

TEST(agent_window_has_each_sample_before_its_end_once)
{
	static const char *const deep[] = { "leaf", "work", "main" };
	static const char *const late[] = { "other", "main" };
	static const struct {
		const char *service, *thread;
		uint64_t weight, samples;
	} rows[] = { { "app", "app", 303, 3 },
		     { "app", "worker", 60, 3 },
		     { "tool", "tool", 7, 1 } };
	const struct agent_window *w;
	const struct agent_frame *f;
	struct side s;

	tape_some();
	open_side(&s);
	w = build_until(&s, END);
	CHECK_U64(w->nr_rows, ==, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct agent_row *row = &w->rows[i];

		CHECK_STR(w->services[row->service].name, rows[i].service);
		CHECK_STR(w->processes[row->process].name, rows[i].service);
		CHECK_STR(row->thread, rows[i].thread);
		CHECK_U64(row->weight, ==, rows[i].weight);
		CHECK_U64(row->samples, ==, rows[i].samples);
		CHECK_U64(row->labels, ==, 0);
		if (i < 2)
			check_stack(w, row, deep, 3);
	}
	CHECK_U64(w->rows[0].stack, ==, w->rows[1].stack);
	CHECK_U64(w->nr_stacks, ==, 2);
	CHECK_U64(w->nr_frames, ==, 4);
	CHECK_U64(w->nr_labels, ==, 1); /* the empty set */
	CHECK_U64(w->nr_events, ==, 1);
	CHECK_STR(w->events[0].name, "cpu-clock");
	CHECK_U64(w->events[0].weight, ==, 303 + 60 + 7);
	CHECK_U64(w->events[0].samples, ==, 7);
	CHECK_U64(w->quality.samples, ==, 7);
	CHECK_U64(w->quality.intervals + w->quality.lost + w->quality.refused, ==, 0);
	f = &w->frames[w->stacks[w->rows[0].stack].frames[0]];
	CHECK_U64(f->flags, ==, 0);
	CHECK_INT(f->kind, ==, AGENT_FRAME_USER);
	CHECK_STR(f->image, "program");
	f = &w->frames[w->stacks[w->rows[2].stack].frames[0]];
	CHECK_U64(f->flags, ==, AGENT_FRAME_SYNTHETIC);
	CHECK_INT(f->kind, ==, AGENT_FRAME_UNKNOWN);
	/* the end belongs to the next window */
	w = build_until(&s, END + 1);
	CHECK_U64(w->nr_rows, ==, 1);
	CHECK_STR(w->services[w->rows[0].service].name, "tool");
	CHECK_U64(w->events[0].weight, ==, 4);
	CHECK_U64(w->quality.samples, ==, 1);
	check_stack(w, &w->rows[0], late, 2);
	w = build_until(&s, UINT64_MAX);
	CHECK_U64(w->nr_rows + w->nr_stacks + w->nr_events, ==, 0);
	close_side(&s);
}

/* Services over the cap are one, window after window; those of a rule are in none, and counted. */
TEST(agent_window_keeps_to_its_services_and_rules)
{
	struct service_rules rules;
	const struct agent_window *w;
	struct side s;

	tape_some();
	open_side(&s);
	s.build.max_services = 1;
	w = build_until(&s, 200000);
	CHECK_U64(w->nr_services, ==, 1);
	w = build_until(&s, END);
	CHECK_U64(w->nr_services, ==, 2);
	CHECK_STR(w->services[0].name, "app");
	CHECK_STR(w->services[1].name, "other");
	CHECK_INT((int)w->services[1].kind, ==, AGENT_SERVICE_OTHER);
	CHECK_U64(w->events[0].weight, ==, 60 + 7);
	close_side(&s);

	coati_service_rules_init(&rules);
	CHECK_OK(coati_service_rules_add(&rules, "drop app", NULL));
	open_side(&s);
	s.build.rules = &rules;
	CHECK_U64(build_until(&s, 100001)->quality.dropped, ==, 1);
	w = build_until(&s, END);
	CHECK_U64(w->nr_rows, ==, 1);
	CHECK_STR(w->services[0].name, "tool");
	CHECK_U64(w->quality.samples, ==, 1);
	CHECK_U64(w->quality.dropped, ==, 5);
	CHECK_U64(w->quality.dropped_weight, ==, 101 + 102 + 60);
	close_side(&s);
	coati_service_rules_fini(&rules);
}

static void end_task(struct agent_live *l, uint64_t time_ns, const char *type, uint64_t duration_ns)
{
	struct agent_task_end *t = ARRAY_ADD(&l->tasks);

	CHECK(t);
	*t = (struct agent_task_end){ time_ns, duration_ns, APP, type };
}

/* Tasks of a program that has no samples in the window, and is gone. */
TEST(agent_window_has_the_durations_of_tasks_that_ended_before_its_end)
{
	struct agent_live live;
	struct agent_build b;
	const struct agent_tasks *t;

	CHECK_OK(coati_agent_live_init(&live, NULL));
	coati_agent_build_init(&b);
	end_task(&live, 10, "request", 5000);
	end_task(&live, 20, "job", 70);
	end_task(&live, 30, "request", 1000);
	end_task(&live, 40, "request", 5000);
	end_task(&live, 50, "job", 3);
	CHECK_OK(coati_agent_build(&b, NULL, 0, &live, 50));
	CHECK_U64(live.tasks.len, ==, 1);
	CHECK_U64(b.window.nr_services, ==, 1);
	CHECK_STR(b.window.services[0].name, "unknown");
	CHECK_U64(b.window.nr_tasks, ==, 2);
	t = &b.window.tasks[0];
	CHECK_STR(t->type, "job");
	CHECK_U64(t->count, ==, 1);
	CHECK_U64(t->sum_ns, ==, 70);
	t = &b.window.tasks[1];
	CHECK_STR(t->type, "request");
	CHECK_U64(t->count, ==, 3);
	CHECK_U64(t->sum_ns, ==, 11000);
	CHECK_U64(t->max_ns, ==, 5000);
	CHECK_U64(t->nr_buckets, ==, 2);
	CHECK_U64(t->buckets[0].bucket, ==, bucket_of(1000));
	CHECK_U64(t->buckets[0].count, ==, 1);
	CHECK_U64(t->buckets[1].bucket, ==, bucket_of(5000));
	CHECK_U64(t->buckets[1].count, ==, 2);
	CHECK_OK(coati_agent_build(&b, NULL, 0, &live, 51));
	CHECK_U64(live.tasks.len, ==, 0);
	CHECK_U64(b.window.nr_tasks, ==, 1);
	CHECK_U64(b.window.tasks[0].sum_ns, ==, 3);
	coati_agent_build_fini(&b);
	coati_agent_live_fini(&live);
}
