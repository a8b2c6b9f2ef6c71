/* SPDX-License-Identifier: MIT */
/* see report/session.h */
#include <coati/trace.h>

#include "cli/report/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/database.h"
#include "cli/input.h"
#include "cli/objdump.h"
#include "cli/report/figures.h"
#include "cli/report/html.h"
#include "cli/report/source.h"
#include "cli/report/table.h"
#include "cli/report/tree.h"
#include "cli/talk.h"
#include "profile/walk.h"
#include "reading/contexts.h"
#include "reading/hooks.h"

#define TREE_LEAST  0.5
#define TIME_STEP   NSEC_PER_SEC
#define TIME_PREFIX "time:"

/* ---- the profile ---- */

static int make_profile(struct report *r, struct coati_error *err)
{
	const struct report_args *a = r->args;
	struct coati_images_opts images = coati_source_images(&a->of);
	struct coati_profile_opts o = {
		.size = sizeof(o),
		.flags = r->by == COATI_BY_CPU || a->of.filter.cpu ? COATI_PROFILE_PER_CPU : 0,
		.bin_ns = r->bin_ns,
		.images = &images,
		.filter = &a->of.filter,
	};
	struct coati_profile_hooks hooks = { 0 };
	int code = coati_source_contexts(&a->of, r->by == COATI_BY_LABEL, &r->contexts,
					 &hooks.contexts, err);

	return code < 0 ? code : coati_profile_make(&o, &hooks, &r->profile, err);
}

/* What was left out while reading needs no second look. */
static int make_view(struct report *r, struct coati_error *err)
{
	const struct report_args *a = r->args;
	struct coati_filter filter = a->of.filter;
	struct coati_view_opts o = { .size = sizeof(o),
				     .filter = &filter,
				     .nameless_bytes = a->of.split_nameless };

	filter.time = NULL;
	if (a->of.no_inline)
		o.flags |= COATI_VIEW_NO_INLINES;
	if (r->by == COATI_BY_LINE || a->source)
		o.flags |= COATI_VIEW_LINES;
	if (a->counts)
		o.flags |= COATI_VIEW_COUNTS;
	if (r->mode == MODE_ON)
		o.flags |= COATI_VIEW_NO_OFF_CPU;
	if (r->mode == MODE_OFF)
		o.flags |= COATI_VIEW_NO_ON_CPU;
	return coati_view_new(r->profile, &o, &r->view, err);
}

static int show(struct report *r)
{
	const struct report_args *a = r->args;

	if (a->source)
		return coati_report_source(r, a->source);
	if (a->flame)
		return coati_report_flame(r);
	if (a->callers)
		return coati_report_tree(r, COATI_TREE_UP, a->callers);
	if (a->callees)
		return coati_report_tree(r, COATI_TREE_DOWN, a->callees);
	if (a->tree)
		return coati_report_tree(r, COATI_TREE_DOWN, NULL);
	return coati_report_table(r);
}

static void choose_mode(struct report *r)
{
	struct coati_profile_quality q = { .size = sizeof(q) };

	coati_profile_quality(r->profile, &q);
	r->mode = (enum report_mode)r->args->mode;
	if (r->mode == MODE_AUTO)
		r->mode = q.off_intervals && (!q.samples || r->by == COATI_BY_WAIT ||
					      r->args->of.filter.wait)
				  ? MODE_OFF
				  : MODE_ON;
}

static int show_view(struct report *r)
{
	const struct judgment judged = { &r->args->fail_if, r->args->strict, r->input };
	struct coati_error err = { 0 };
	int shown;

	choose_mode(r);
	if (make_view(r, &err) < 0) {
		coati_say("%s", err.text);
		return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	r->info.size = sizeof(r->info);
	coati_view_info(r->view, &r->info);
	if (coati_output_open(&r->out, r->args->output ? r->args->output : "-", r->args->color,
			      &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	shown = coati_output_end_with(&r->out, show(r));
	/* after the view, which knows the names */
	return shown != EXIT_DONE ? shown : coati_report_judge(r->profile, &judged);
}

/* "time" has rows of a second, "time:100ms" of so much. */
static int parse_by(struct report *r, const char *by, struct coati_error *err)
{
	size_t prefix = strlen(TIME_PREFIX);
	int code;

	if (!strncmp(by, TIME_PREFIX, prefix)) {
		r->by = COATI_BY_TIME;
		code = coati_parse_duration(by + prefix, 1, UINT64_MAX, &r->bin_ns);
		return code < 0 ? coati_fail(err, code,
					     "\"%.100s\" needs a duration, as in time:100ms", by)
				: 0;
	}
	code = coati_by_parse(by, &r->by, &r->label, err);
	if (code == 0 && r->by == COATI_BY_TIME)
		r->bin_ns = TIME_STEP;
	return code;
}

static int parse_words(struct report *r)
{
	const struct report_args *a = r->args;
	struct coati_error err = { 0 };

	if (parse_by(r, a->by ? a->by : "function", &err) < 0)
		return coati_command_misuse(&coati_command_report, "--by: %s", err.text);
	if (coati_conditions_check(&coati_command_report, &a->fail_if, REPORT_FIGURES))
		return EXIT_USAGE;
	r->min_percent = a->tree || a->callers || a->callees ? TREE_LEAST : 0;
	if (a->min && coati_parse_percent(a->min, 0, 100, &r->min_percent) < 0)
		return coati_command_misuse(&coati_command_report,
					    "--min %s: must be 0 to 100 percent", a->min);
	return 0;
}

static int read_profile(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
			struct coati_error *err)
{
	const struct report *r = ctx;
	int code = coati_database_read(path, r->profile, err);

	return code == -ENOENT ? coati_profile_read(r->profile, path, fn, fn_ctx, err) : code;
}

/* What is in databases, while there is a network. */
static bool fetch(const struct report *r)
{
	const struct source_args *of = &r->args->of;
	const struct database_query q = { .from = of->range.from,
					  .to = of->range.to,
					  .service = of->service,
					  .with_contexts = coati_database_needs(of, r->by),
					  .with_times = r->by == COATI_BY_TIME };

	return coati_database_fetch(&r->args->inputs, &q) == 0;
}

bool coati_report_confine(const struct report_args *a, const char *newest)
{
	return coati_confinement_enter(&(struct confinement){
		.is_off = a->no_sandbox,
		.with_names = true,
		.flags = a->source || a->sources || a->serves ? SANDBOX_SOURCES : 0,
		.files = &a->inputs,
		.input = newest,
		.output = a->html ? a->html : a->output,
		.of = &a->of,
		.objdump = a->source || a->serves ? coati_objdump_job : NULL,
		.serve_fd = a->serve_fd,
		.pipe_fd = a->pipe_fd });
}

int coati_report_session(const struct report_args *args)
{
	char name[4096] = "";
	struct report r = { .args = args, .input = name };
	struct input in = {
		.files = &args->inputs, .quiet = args->quiet, .read = read_profile, .ctx = &r
	};
	struct coati_error err = { 0 };
	int ret = parse_words(&r);

	if (ret)
		return ret;
	if (args->html)
		return coati_report_html(args);
	if (make_profile(&r, &err) < 0) {
		coati_say("%s", err.text);
		coati_contexts_free(&r.contexts);
		return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	ret = coati_input_find(&in, name, sizeof(name)) && fetch(&r) &&
			      coati_report_confine(args, name) && coati_input_read(&in, name) >= 0
		      ? EXIT_DONE
		      : EXIT_FAILED;
	coati_input_title(&in, name, name, sizeof(name));
	if (ret == EXIT_DONE)
		ret = show_view(&r);
	coati_view_free(&r.view);
	coati_profile_free(&r.profile);
	coati_contexts_free(&r.contexts);
	return ret;
}
