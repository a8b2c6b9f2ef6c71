/* SPDX-License-Identifier: MIT */
/* see diff/session.h */
#include "cli/diff/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <coati/trace.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/database.h"
#include "cli/diff/compare.h"
#include "cli/diff/gate.h"
#include "cli/diff/html.h"
#include "cli/diff/table.h"
#include "cli/faults.h"
#include "cli/talk.h"
#include "cli/twins.h"
#include "fleet/place.h"
#include "profile/diff.h"
#include "profile/walk.h"
#include "reading/contexts.h"
#include "reading/hooks.h"

static const char *const side_names[] = { "before", "after" };

/* ---- words ---- */

/* "95", "95%", "0.5 %". */
static int parse_percent(const char *what, const char *text, double min, double max, double *ret)
{
	if (coati_parse_percent(text, min, max, ret) == 0)
		return 0;
	return coati_command_misuse(&coati_command_diff, "--%s %s: must be %g to %g percent", what,
				    text, min, max);
}

static int parse_words(struct diff *d)
{
	const struct diff_args *a = d->args;
	struct coati_error err = { 0 };
	double percent;
	int r = 0;

	if (coati_by_parse(a->by ? a->by : "function", &d->by, &d->label, &err) < 0)
		return coati_command_misuse(&coati_command_diff, "--by: %s", err.text);
	if (d->by == COATI_BY_TIME)
		return coati_command_misuse(&coati_command_diff,
					    "--by time: two recordings have no common time");
	if (d->by == COATI_BY_WAIT)
		return coati_command_misuse(&coati_command_diff,
					    "--by wait: diff compares on-CPU time only");
	d->confidence = 0.95;
	if (a->confidence) {
		r = parse_percent("confidence", a->confidence, 50, 99.99, &percent);
		d->confidence = percent / 100;
	}
	if (r == 0 && a->run_spread) {
		r = parse_percent("run-spread", a->run_spread, 0, 100, &percent);
		d->run_spread = percent > 0 ? percent / 100 : -1;
	}
	if (r == 0 && a->min) {
		r = parse_percent("min", a->min, 0, 100, &percent);
		d->min_share = percent > 0 ? percent / 100 : -1;
	}
	return r == 0 ? coati_gates_new(d) : r;
}

/* ---- files ---- */

/* A list with commas, unless there is a file of that name. The texts are copies. */
static int add_list(struct diff_side *s, const char *text)
{
	bool whole = access(text, F_OK) == 0;

	for (;;) {
		size_t len = whole ? strlen(text) : strcspn(text, ",");
		struct option_text *t = len ? ARRAY_ADD(&s->files) : NULL;

		if (t)
			t->text = coati_strndup(text, len);
		if (len && (!t || !t->text))
			return -ENOMEM;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

/* DIR@FROM..TO: recordings of an agent's directory, and the time that is meant. */
static int add_folder(struct diff_side *s, const char *text, const struct source_args *of)
{
	char *own = coati_strdup(text);
	struct store_range range = of->range;
	struct option_texts files = { .max = s->files.max };
	struct coati_error err = { 0 };
	struct option_text *t = own ? ARRAY_ADD(&files) : NULL;
	/* a database has its range with it */
	bool split = own && !coati_place_is(text) && access(text, F_OK) != 0 &&
		     coati_store_split(own, &range);
	int r = t ? 0 : coati_fail(&err, -ENOMEM, "out of memory");

	if (t)
		t->text = own;
	if (r == 0)
		r = coati_store_expand(&files, &range, &err);
	if (r == 0 && (split || range.from || range.to))
		r = coati_store_time(&range, s->time_room, &err);
	for (size_t i = 0; r == 0 && i < files.len; i++)
		r = add_list(s, files.v[i].text);
	if (r < 0)
		coati_say("%s", err.code ? err.text : "out of memory, or too many recordings");
	ARRAY_FINI(&files);
	coati_free(own);
	return r;
}

/* Runs show by how much they differ from each other. */
static int refuse_twins(const struct diff_side *s, const char *side)
{
	const char *twin = coati_twin_find(&s->files);
	char room[256];

	if (!twin)
		return 0;
	coati_quote(twin, room, sizeof(room));
	return coati_command_misuse(&coati_command_diff,
				    "--%s: %s is given twice: record each run anew", side, room);
}

static int split_files(struct diff *d)
{
	const struct option_texts *files = &d->args->files;

	for (int side = 0; side < 2; side++) {
		struct diff_side *s = &d->sides[side];

		s->files.max = 4000;
		for (size_t i = 0; i < files->len; i++)
			if (files->v[i].tag == side &&
			    add_folder(s, files->v[i].text, &d->args->of) < 0)
				return DIFF_TROUBLE;
		s->filter = d->args->of.filter;
		if (s->time_room[0])
			s->filter.time = s->time_room;
		if (!s->files.len)
			return coati_command_misuse(&coati_command_diff, "--%s: no file given",
						    side_names[side]);
		if (refuse_twins(s, side_names[side]) != 0)
			return DIFF_TROUBLE;
	}
	return 0;
}

static void free_files(struct diff_side *s)
{
	for (size_t i = 0; i < s->files.len; i++)
		coati_free((void *)(uintptr_t)s->files.v[i].text);
	ARRAY_FINI(&s->files);
}

/* ---- a side ---- */

static int make_profile(struct diff *d, struct diff_side *s, struct coati_error *err)
{
	const struct diff_args *a = d->args;
	struct coati_images_opts images = coati_source_images(&a->of);
	struct coati_profile_opts o = {
		.size = sizeof(o),
		.flags = COATI_PROFILE_SERIES |
			 (d->by == COATI_BY_CPU || a->of.filter.cpu ? COATI_PROFILE_PER_CPU : 0),
		.bin_ns = COATI_DIFF_BIN_NS,
		.max_bins = COATI_DIFF_MAX_BINS,
		.images = &images,
		.filter = &s->filter,
	};
	struct coati_profile_hooks hooks = { 0 };
	int r = coati_source_contexts(&a->of, d->by == COATI_BY_LABEL, &s->report.contexts,
				      &hooks.contexts, err);

	return r < 0 ? r : coati_profile_make(&o, &hooks, &s->report.profile, err);
}

/* What was left out while reading needs no second look. */
static int make_view(struct diff *d, struct diff_side *s, struct coati_error *err)
{
	const struct diff_args *a = d->args;
	struct coati_filter filter = a->of.filter;
	struct coati_view_opts o = { .size = sizeof(o),
				     .filter = &filter,
				     .flags = COATI_VIEW_NO_OFF_CPU,
				     .nameless_bytes = a->of.split_nameless };
	int r;

	filter.time = NULL;
	if (a->of.no_inline)
		o.flags |= COATI_VIEW_NO_INLINES;
	if (d->by == COATI_BY_LINE)
		o.flags |= COATI_VIEW_LINES;
	if (a->counts)
		o.flags |= COATI_VIEW_COUNTS;
	r = coati_view_new(s->report.profile, &o, &s->report.view, err);
	if (r == 0) {
		s->report.info.size = sizeof(s->report.info);
		coati_view_info(s->report.view, &s->report.info);
		s->report.quality.size = sizeof(s->report.quality);
		coati_profile_quality(s->report.profile, &s->report.quality);
	}
	return r;
}

static int read_profile(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
			struct coati_error *err)
{
	const struct report *r = ctx;
	int code = coati_database_read(path, r->profile, err);

	return code == -ENOENT ? coati_profile_read(r->profile, path, fn, fn_ctx, err) : code;
}

static int say_error(const struct coati_error *err)
{
	coati_say("%s", err->text);
	return DIFF_TROUBLE;
}

static int begin_side(struct diff *d, int side)
{
	struct diff_side *s = &d->sides[side];
	struct coati_error err = { 0 };

	s->args = (struct report_args){ .of = d->args->of, .counts = d->args->counts };
	s->report.args = &s->args;
	s->report.input = s->title;
	s->report.by = d->by;
	s->report.mode = MODE_ON;
	return make_profile(d, s, &err) < 0 ? say_error(&err) : 0;
}

/* What is in databases, while there is a network. */
static int fetch(const struct diff *d)
{
	const struct source_args *of = &d->args->of;
	const struct database_query q = { .from = of->range.from,
					  .to = of->range.to,
					  .service = of->service,
					  .with_contexts = coati_database_needs(of, d->by),
					  .with_times = true };
	int r = coati_database_fetch(&d->sides[0].files, &q);

	return r < 0 ? r : coati_database_fetch(&d->sides[1].files, &q);
}

static int confine(const struct diff *d)
{
	const struct diff_args *a = d->args;
	struct confinement c = { .is_off = a->no_sandbox,
				 .with_names = true,
				 .files = &d->sides[0].files,
				 .others = &d->sides[1].files,
				 .output = a->html ? a->html : a->output,
				 .of = &a->of };

	return fetch(d) == 0 && coati_confinement_enter(&c) ? 0 : DIFF_TROUBLE;
}

/* Read one side; how it is named, for people, becomes its title. */
static int read_side(struct diff *d, int side)
{
	struct diff_side *s = &d->sides[side];
	struct input in = {
		.files = &s->files, .quiet = d->args->quiet, .read = read_profile, .ctx = &s->report
	};
	struct coati_error err = { 0 };
	char name[4096] = "";

	if (!coati_input_find(&in, name, sizeof(name)) || coati_input_read(&in, name) < 0)
		return DIFF_TROUBLE;
	coati_input_title(&in, name, name, sizeof(name));
	snprintf(s->title, sizeof(s->title), "%s: %s", side_names[side], name);
	return make_view(d, s, &err) < 0 ? say_error(&err) : EXIT_DONE;
}

/* ---- the answer ---- */

static int compare(struct diff *d)
{
	struct coati_diff_opts o = {
		.size = sizeof(o),
		.by = d->by,
		.measure = (enum coati_diff_measure)d->args->measure,
		.label = d->label,
		.confidence = d->confidence,
		.min_share = d->min_share,
		.run_spread = d->run_spread,
		.seed = d->args->seed,
	};
	struct coati_error err = { 0 };

	if (coati_diff_new(d->sides[0].report.view, d->sides[1].report.view, &o, &d->diff, &err) <
	    0)
		return say_error(&err);
	coati_diff_info(d->diff, &d->info);
	d->rows = coati_diff_rows(d->diff, &d->nr);
	return EXIT_DONE;
}

/* Nothing is wrong with the recordings of either side, or it does not matter. */
static bool is_sound(const struct diff *d)
{
	struct faults faults;
	bool ret = true;

	for (int side = 0; d->args->strict && side < 2; side++) {
		coati_faults_of_profile(d->sides[side].report.profile, &faults);
		ret &= coati_faults_judge(&faults, d->sides[side].title) == EXIT_DONE;
	}
	return ret;
}

/*
 * Both the comparison and its writing must succeed; then the exit status is what the conditions
 * say, or the verdict.
 */
static int show(struct diff *d)
{
	struct coati_error err = { 0 };
	int judged, shown, ended;

	if (coati_output_open(&d->out, d->args->output ? d->args->output : "-", d->args->color,
			      &err) < 0)
		return say_error(&err);
	judged = coati_gates_judge(d);
	coati_diff_find_warnings(d);
	coati_diff_find_verdict(d);
	shown = d->args->html ? coati_diff_html(d, d->args->html) : coati_diff_table(d);
	ended = coati_output_end_with(&d->out, shown);
	return ended != EXIT_DONE || !is_sound(d) ? DIFF_TROUBLE : judged;
}

static void free_diff(struct diff *d)
{
	coati_gates_free(d);
	coati_diff_free(&d->diff);
	for (int side = 0; side < 2; side++) {
		coati_view_free(&d->sides[side].report.view);
		coati_profile_free(&d->sides[side].report.profile);
		coati_contexts_free(&d->sides[side].report.contexts);
		free_files(&d->sides[side]);
	}
	coati_strbuf_fini(&d->verdict);
	coati_strbuf_fini(&d->warnings);
	coati_free(d);
}

int coati_diff_session(const struct diff_args *args)
{
	struct diff *d = coati_alloc(sizeof(*d));
	int ret;

	if (!d) {
		coati_say("out of memory");
		return DIFF_TROUBLE;
	}
	d->args = args;
	d->verdict = (struct strbuf)STRBUF_INIT(65536);
	d->warnings = (struct strbuf)STRBUF_INIT(65536);
	ret = parse_words(d);
	if (ret == 0)
		ret = split_files(d);
	for (int side = 0; side < 2 && ret == 0; side++)
		ret = begin_side(d, side);
	if (ret == 0)
		ret = confine(d);
	for (int side = 0; side < 2 && ret == 0; side++)
		ret = read_side(d, side);
	if (ret == 0)
		ret = compare(d);
	if (ret == 0)
		ret = show(d);
	free_diff(d);
	return ret;
}
