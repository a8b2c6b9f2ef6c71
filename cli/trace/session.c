/* SPDX-License-Identifier: MIT */
/* see trace/session.h */
#include "cli/trace/session.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/input.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "live-read/check.h"
#include "trace/timeline.h"

static int read_timeline(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
			 struct coati_error *err)
{
	const struct trace *t = ctx;

	return coati_timeline_read(t->timeline, path, fn, fn_ctx, err);
}

/* "1.5s" after the beginning. */
static int parse_time(struct trace *t, const char *name, const char *text, uint64_t *ret)
{
	uint64_t ns;

	if (!text)
		return 0;
	if (coati_parse_duration(text, 0, INT64_MAX, &ns) < 0)
		return coati_command_misuse(
			&coati_command_trace,
			"--%s %.100s: expected a time since the start, such as 1.5s or 200ms", name,
			text);
	*ret = t->info.begin + ns < t->info.end ? t->info.begin + ns : t->info.end;
	return 0;
}

static int show_tasks(struct trace *t)
{
	uint32_t type = coati_timeline_find_type(t->timeline, t->args->tasks);

	if (type == COATI_TIMELINE_NONE) {
		coati_say("no task or region has type %.200s; coati trace lists the types",
			  t->args->tasks);
		return EXIT_FAILED;
	}
	return coati_trace_tasks(t, type);
}

static int show_task(struct trace *t)
{
	uint32_t task = COATI_TIMELINE_NONE;
	uint64_t id;

	if (coati_parse_u64(t->args->task, 0, UINT64_MAX, &id) < 0)
		return coati_command_misuse(&coati_command_trace,
					    "--task needs the number of a task");
	task = coati_timeline_find_task(t->timeline, id);
	if (task == COATI_TIMELINE_NONE) {
		coati_say("there is no task %llu; coati trace --tasks TYPE lists tasks",
			  (unsigned long long)id);
		return EXIT_FAILED;
	}
	return coati_trace_task(t, task);
}

static int show(struct trace *t)
{
	const struct trace_args *a = t->args;

	if (a->task)
		return show_task(t);
	if (a->tasks)
		return show_tasks(t);
	if (a->thread)
		return coati_trace_thread(t);
	if (a->blame)
		return coati_trace_blame(t);
	if (a->events)
		return coati_trace_events(t);
	return a->check ? coati_trace_check(t) : coati_trace_summary(t);
}

static int show_timeline(struct trace *t)
{
	struct coati_error err = { 0 };
	int shown;

	coati_timeline_info(t->timeline, &t->info);
	t->from = t->info.begin;
	t->to = t->info.end;
	shown = parse_time(t, "from", t->args->from, &t->from);
	if (shown == 0)
		shown = parse_time(t, "to", t->args->to, &t->to);
	if (shown)
		return shown;
	if (t->to < t->from)
		return coati_command_misuse(&coati_command_trace, "--from is later than --to");
	if (coati_output_open(&t->out, t->args->output ? t->args->output : "-", t->args->color,
			      &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	shown = coati_output_end_with(&t->out, show(t));
	return shown != EXIT_DONE ? shown : coati_trace_judge(t);
}

static bool confine(const struct trace_args *a, const char *newest)
{
	return coati_confinement_enter(&(struct confinement){ .is_off = a->no_sandbox,
							      .with_names = true,
							      .files = &a->inputs,
							      .input = newest,
							      .output = a->output });
}

/* Only sums are shown, or some of a type. */
static bool is_summary(const struct trace_args *a)
{
	return !a->task && !a->thread && !a->blame && !a->events && !a->check;
}

int coati_trace_session(const struct trace_args *args)
{
	char name[4096] = "";
	struct trace t = {
		.args = args, .fail_if = &args->fail_if, .is_strict = args->strict, .input = name
	};
	struct input in = { .files = &args->inputs,
			    .quiet = args->quiet,
			    .trace = true,
			    .read = read_timeline,
			    .ctx = &t };
	const struct coati_timeline_opts opts = { .size = sizeof(opts),
						  .flags = is_summary(args) ? COATI_TIMELINE_SUMMARY
									    : 0,
						  .instances_of = args->tasks };
	struct coati_error err = { 0 };
	int ret;

	if (coati_timeline_new(&opts, &t.timeline, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	ret = coati_input_find(&in, name, sizeof(name)) && confine(args, name) &&
			      coati_input_read(&in, name) >= 0
		      ? EXIT_DONE
		      : EXIT_FAILED;
	coati_input_title(&in, name, name, sizeof(name));
	if (ret == EXIT_DONE)
		ret = show_timeline(&t);
	coati_timeline_free(&t.timeline);
	return ret;
}
