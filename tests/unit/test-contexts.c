/* SPDX-License-Identifier: MIT */
/* Samples and what the thread was doing: labels, tasks and regions of live events on the samples of
 * a profile. */
#include "lib/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <coati/trace.h>

#include "reading/contexts.h"
#include "reading/hooks.h"
#include "unit/profile-tape.h"

#define US(n) (UINT64_C(1001000000) + (n)*1000)

/* Thread 7 works on a request, and in it on parsing, and on another kind of task; thread 9 on
 * nothing, but has labels. */
static const char told[] = "batch kind=sites pid=7\n"
			   "- site id=1 kind=1 name=\"handle\"\n"
			   "- site id=2 kind=1 name=\"parse\"\n"
			   "- site id=3 kind=3 name=\"request\"\n"
			   "- site id=4 kind=3 name=\"flush\"\n"
			   "batch tid=7 base=1001000000\n"
			   "1001000000 open_enter tid=7 id=0\n"
			   "1001010000 task_begin site=3 id=1\n"
			   "1001010000 task_enter id=1\n"
			   "1001020000 region_begin site=1\n"
			   "1001030000 region_begin site=2\n"
			   "1001040000 region_end\n"
			   "1001050000 region_end\n"
			   "1001060000 task_begin site=4 id=2 parent=1\n"
			   "1001060000 task_enter id=2\n"
			   "1001070000 task_enter id=0\n"
			   "batch tid=9 base=1001000000\n"
			   "1001000000 open_enter tid=9 id=0\n"
			   "1001030000 labels set=\"\\x05route\\x04/api\"\n"
			   "1001050000 labels set=\"\"\n"
			   "batch kind=end\n";

/* What the recorder says of the next recordings, or NULL. */
static const char *account;

/* The recording "a": a sample of each of the two threads every 10 us, in the middle between what
 * they tell. */
static void tape_told(void)
{
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_live_event(&t);
	tape_start(&t);
	tape_process(&t, 7, "app");
	for (uint32_t i = 0; i < 8; i++) {
		tape_put(&t, (struct tape_sample){ .pid = 7,
						   .time = US(10 * i + 5),
						   .period = 1 + i,
						   TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
		tape_put(&t, (struct tape_sample){ .pid = 7,
						   .tid = 9,
						   .time = US(10 * i + 5),
						   .period = 100,
						   TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	}
	tape_live_text(&t, told);
	if (account)
		CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER, account,
					      strlen(account)));
	CHECK_U64(coati_writer_live_batches(t.writer), ==, 4);
	tape_close(&t);
}

/* A profile of "a" with contexts, and a view of it. */
struct told_profile {
	struct coati_contexts *contexts;
	struct coati_profile *profile;
	struct coati_view *view;
};

static struct told_profile open_told(const struct coati_filter *f)
{
	struct told_profile t = { 0 };
	struct coati_profile_opts o = { .size = sizeof(o), .filter = f };
	struct coati_profile_hooks hooks = { 0 };

	CHECK_OK(coati_contexts_new(&t.contexts, NULL));
	hooks.contexts = coati_contexts_source(t.contexts);
	t.profile = tape_read_hooked(&o, &hooks, (const char *const[]){ "a", NULL });
	t.view = tape_view(t.profile, f);
	return t;
}

static void close_told(struct told_profile *t)
{
	coati_view_free(&t->view);
	coati_profile_free(&t->profile);
	coati_contexts_free(&t->contexts);
}

static uint64_t weight_of(const struct told_profile *t, const char *label, const char *value)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_LABEL, .label = label };
	const struct coati_row *rows;
	size_t nr;

	CHECK_OK(coati_view_rows(t->view, &q, &rows, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(rows[i].name, value))
			return rows[i].self;
	return 0;
}

static uint64_t total(const struct coati_filter *f)
{
	struct told_profile t = open_told(f);
	struct coati_view_info info = { .size = sizeof(info) };

	coati_view_info(t.view, &info);
	close_told(&t);
	return info.total;
}

TEST(contexts_label_samples_by_task_and_region)
{
	struct told_profile t;

	tape_told();
	t = open_told(NULL);
	CHECK_U64(weight_of(&t, "task", "request"), ==, 2 + 3 + 4 + 5 + 6);
	CHECK_U64(weight_of(&t, "task", "flush"), ==, 7);
	CHECK_U64(weight_of(&t, "task", ""), ==, 1 + 8 + 800);
	CHECK_U64(weight_of(&t, "region", "handle"), ==, 3 + 5);
	CHECK_U64(weight_of(&t, "region", "handle > parse"), ==, 4);
	close_told(&t);
}

TEST(contexts_are_looked_for_unless_the_recorder_says_that_there_are_none)
{
	static const char *const accounts[] = { "samples=16\nlive_batches=4\n", "samples=16\n",
						"samples=16\nlive_batches=0\n" };
	static const uint64_t weights[] = { 20, 20, 0 };

	for (size_t i = 0; i < sizeof(accounts) / sizeof(*accounts); i++) {
		struct told_profile t;

		account = accounts[i];
		tape_told();
		t = open_told(NULL);
		CHECK_U64(weight_of(&t, "task", "request"), ==, weights[i]);
		close_told(&t);
	}
	account = NULL;
}

TEST(contexts_label_samples_as_the_program_labels_its_thread)
{
	struct told_profile t;

	tape_told();
	t = open_told(NULL);
	CHECK_U64(weight_of(&t, "route", "/api"), ==, 200);
	CHECK_U64(weight_of(&t, "route", ""), ==, 36 + 600);
	close_told(&t);
}

TEST(contexts_let_samples_of_tasks_and_regions_through)
{
	tape_told();
	CHECK_U64(total(&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.task = "request" }),
		  ==, 20);
	CHECK_U64(total(&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.task = "nothing,f*" }),
		  ==, 7);
	/* also in the regions inside of it */
	CHECK_U64(total(&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.region = "handle" }),
		  ==, 12);
	CHECK_U64(total(&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.region = "parse",
						.task = "request" }),
		  ==, 4);
	CHECK_U64(total(&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.region = "pars" }),
		  ==, 0);
	CHECK_U64(total(&(struct coati_filter){ .size = sizeof(struct coati_filter),
						.label = "route=/api" }),
		  ==, 200);
}

TEST(contexts_are_needed_to_ask_for_tasks)
{
	struct coati_filter f = { .size = sizeof(f), .task = "request" };
	struct coati_profile_opts o = { .size = sizeof(o), .filter = &f };
	struct coati_profile *p = NULL;
	struct coati_error err = { 0 };

	CHECK_INT(coati_profile_new(&o, &p, &err), ==, -EINVAL);
	CHECK_HAS(err.text, "live events");
}

TEST(contexts_of_a_stream_are_refused_where_they_are_needed)
{
	struct coati_contexts *c = NULL;
	struct coati_error err = { 0 };
	const struct coati_context_source *s;

	CHECK_OK(coati_contexts_new(&c, NULL));
	s = coati_contexts_source(c);
	CHECK_INT(s->read(s->ctx, "-", &err), ==, -EOPNOTSUPP);
	CHECK_HAS(err.text, "file");
	coati_contexts_free(&c);
}

/* What the stable interface has: a flag instead of contexts. */
static uint64_t total_live(uint32_t flags, const struct coati_filter *f)
{
	struct coati_profile_opts o = { .size = sizeof(o), .flags = flags, .filter = f };
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_profile *p = NULL;
	struct coati_view *v;

	CHECK_OK(coati_profile_new(&o, &p, NULL));
	CHECK_OK(coati_profile_read(p, "a", NULL, NULL, NULL));
	v = tape_view(p, NULL);
	coati_view_info(v, &info);
	coati_view_free(&v);
	coati_profile_free(&p);
	return info.total;
}

TEST(profile_with_the_flag_live_knows_labels_tasks_and_regions)
{
	struct coati_filter label = { .size = sizeof(label), .label = "route=/api" };
	struct coati_filter task = { .size = sizeof(task), .task = "request" };

	tape_told();
	CHECK_U64(total_live(COATI_PROFILE_LIVE, &label), ==, 200);
	CHECK_U64(total_live(0, &label), ==, 0);
	CHECK_U64(total_live(COATI_PROFILE_LIVE, &task), ==, total(&task));
	CHECK_U64(total(&task), >, 0);
}
