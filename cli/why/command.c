/* SPDX-License-Identifier: MIT */
/* coati why: what the slow instances of a task or region spend their extra time on. */
#include "base/parse.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/faults.h"
#include "cli/input.h"
#include "cli/talk.h"
#include "cli/trace/text.h"
#include "cli/why/text.h"
#include "trace/timeline.h"

struct why_args {
	struct option_texts inputs;
	const char *slow;
	bool json;
	const char *output;
	struct option_texts fail_if; /* conditions on the data quality */
	int color;
	bool quiet, no_sandbox, strict;
};

static const struct option opts[] = {
	OPT_STR(0, "slow", struct why_args, slow, "pNN",
		"slow: above the NNth percentile, p50 to p99.99 (default p99)"),
	OPT_TEXTS('i', "input", struct why_args, inputs, 0, "FILE",
		  "input file, - for stdin (default: newest recording in this directory)"),
	OPT_FLAG(0, "json", struct why_args, json,
		 "print JSON; verdict is causes, no difference or cannot tell"),
	OPT_TEXTS(0, "fail-if", struct why_args, fail_if, 0, "CONDITION",
		  "exit with status 1 if it holds: 'lost > 1%'"),
	OPT_STRICT(struct why_args),
	OPT_STR('o', "output", struct why_args, output, "FILE", "output file, - for stdout"),
	OPT_CHOICE(0, "color", struct why_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_NO_SANDBOX(struct why_args),
	OPT_FLAG('q', "quiet", struct why_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati why request", "explain the slowest 1 %" },
	{ "coati why request --slow p90", "explain the slowest 10 %" },
	{ "coati why parse --json", "for a region, as JSON" },
	{ NULL, NULL },
};

/* ---- the course ---- */

static int show(struct trace *t, const struct why_args *a, const char *name, double percent)
{
	uint32_t type = coati_timeline_find_type(t->timeline, name);
	struct coati_why *w = NULL;
	struct coati_error err = { 0 };
	int ret;

	if (type == COATI_TIMELINE_NONE) {
		coati_say("no task or region has type %.200s; coati trace lists the types", name);
		return EXIT_FAILED;
	}
	if (coati_timeline_why(t->timeline, type, percent, &w, &err) < 0 ||
	    coati_output_open(&t->out, a->output ? a->output : "-", a->color, &err) < 0) {
		coati_say("%s", err.text);
		coati_why_free(&w);
		return EXIT_FAILED;
	}
	coati_timeline_info(t->timeline, &t->info);
	if (a->json)
		coati_why_json(t, w);
	else
		coati_why_text(t, w);
	ret = coati_output_end(&t->out);
	coati_why_free(&w);
	return ret != EXIT_DONE ? ret : coati_trace_judge(t);
}

static int read_timeline(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
			 struct coati_error *err)
{
	const struct trace *t = ctx;

	return coati_timeline_read(t->timeline, path, fn, fn_ctx, err);
}

static bool confine(const struct why_args *a, const char *newest)
{
	return coati_confinement_enter(&(struct confinement){ .is_off = a->no_sandbox,
							      .with_names = true,
							      .files = &a->inputs,
							      .input = newest,
							      .output = a->output });
}

static int session(const struct why_args *a, const char *name, double percent)
{
	char file[4096] = "";
	struct trace t = { .fail_if = &a->fail_if, .is_strict = a->strict, .input = file };
	struct input in = { .files = &a->inputs,
			    .quiet = a->quiet,
			    .trace = true,
			    .read = read_timeline,
			    .ctx = &t };
	const struct coati_timeline_opts o = { .size = sizeof(o),
					       .flags = COATI_TIMELINE_SUMMARY | COATI_TIMELINE_WHY,
					       .instances_of = name };
	struct coati_error err = { 0 };
	int ret = EXIT_FAILED;

	if (coati_timeline_new(&o, &t.timeline, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	if (coati_input_find(&in, file, sizeof(file)) && confine(a, file) &&
	    coati_input_read(&in, file) >= 0) {
		coati_input_title(&in, file, file, sizeof(file));
		ret = show(&t, a, name, percent);
	}
	coati_timeline_free(&t.timeline);
	return ret;
}

static int run(int argc, char **argv)
{
	struct why_args a = { .inputs.max = 16, .fail_if.max = 256 };
	struct option_line line = { .argc = argc, .argv = argv };
	double percent = 99;
	int code;

	if (coati_command_parse(&coati_command_why, &line, &a, &code)) {
		coati_talk_quietly(a.quiet);
		if (line.argc != 1)
			code = coati_command_misuse(&coati_command_why,
						    "expected the name of one task or region");
		else if (a.inputs.len > 1)
			code = coati_command_misuse(&coati_command_why,
						    "a timeline needs exactly one recording");
		else if (a.slow && (a.slow[0] != 'p' ||
				    coati_parse_percent(a.slow + 1, 50, 99.99, &percent) < 0))
			code = coati_command_misuse(&coati_command_why,
						    "--slow %.50s: must be p50 to p99.99", a.slow);
		else if (coati_conditions_check(&coati_command_why, &a.fail_if, TRACE_FIGURES))
			code = EXIT_USAGE;
		else
			code = session(&a, line.argv[0], percent);
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_why = {
	.name = "why",
	.summary = "explain why instances of a task are slow",
	.usage = "[options] TYPE",
	.options = opts,
	.examples = examples,
	.run = run,
};
