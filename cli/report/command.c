/* SPDX-License-Identifier: MIT */
/* coati report: a recording as an answer. Here: its options and what they exclude. */
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/faults.h"
#include "cli/report/args.h"
#include "cli/report/session.h"
#include "cli/talk.h"

#define LIMIT	    40
#define LIMIT_USUAL UINT32_MAX

const char *const coati_report_modes[] = { "auto", "on", "off", "both", NULL };

static const struct option opts[] = {
	OPT_TEXTS('i', "input", struct report_args, inputs, 0, "FILE",
		  "input files, - for stdin; repeatable (default: newest recording here)"),
	OPT_STR(0, "by", struct report_args, by, "WHAT",
		"group by function, line, image, thread, task, label:KEY, wait ..."),
	OPT_CHOICE(0, "mode", struct report_args, mode, coati_report_modes, "MODE",
		   "show on-CPU time, off-CPU time or both (default on)"),
	OPT_FLAG(0, "tree", struct report_args, tree, "show a call tree from the root"),
	OPT_STR(0, "callers", struct report_args, callers, "FUNCTION",
		"show the callers of "
		"FUNCTION"),
	OPT_STR(0, "callees", struct report_args, callees, "FUNCTION",
		"show the callees of "
		"FUNCTION"),
	OPT_FLAG(0, "flame", struct report_args, flame, "show a flame graph in the terminal"),
	OPT_STR(0, "source", struct report_args, source, "FUNCTION",
		"annotate source lines and instructions of FUNCTION"),
	OPT_STR(0, "html", struct report_args, html, "FILE",
		"write a page for the browser: flame graph, timeline, tables"),
	OPT_FLAG(0, "sources", struct report_args, sources,
		 "with --html: put the source files into the page"),
	OPT_FLAG(0, "json", struct report_args, json, "print JSON"),
	OPT_FLAG(0, "csv", struct report_args, csv, "print comma-separated values"),
	OPT_STR('o', "output", struct report_args, output, "FILE", "output file, - for stdout"),
	OPT_U32('n', "limit", struct report_args, limit, "N",
		"maximum number of rows, 0 for all (default 40; --json, --csv: all)", 0,
		UINT32_MAX),
	OPT_STR(0, "min", struct report_args, min, "PERCENT",
		"hide rows and branches below this share (default 0; trees 0.5)"),
	OPT_TEXTS(0, "fail-if", struct report_args, fail_if, 0, "CONDITION",
		  "exit with status 1 if it holds: 'lost > 1%'"),
	OPT_STRICT(struct report_args),
	OPT_FLAG(0, "counts", struct report_args, counts,
		 "count samples instead of adding up "
		 "weights"),
	SOURCE_OPTIONS(struct report_args),
	OPT_NO_SANDBOX(struct report_args),
	OPT_CHOICE(0, "color", struct report_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_FLAG('q', "quiet", struct report_args, quiet, "no messages on stderr except errors"),
	OPT_FLAG('v', "verbose", struct report_args, verbose, "print full names and all remarks"),
	OPT_HELP,
	/* as perf spells it */
	OPT_HIDDEN_SWITCH("children", struct report_args, children),
	OPT_HIDDEN_STR("sort", struct report_args, by, "WHAT"),
	OPT_FOREIGN("stdio", "text is the default"),
	OPT_FOREIGN("tui", "there is no browser in the terminal; --html FILE makes a page"),
	OPT_FOREIGN("gtk", "--html FILE makes a page"),
	OPT_FOREIGN_LETTER('g', "call-graph",
			   "use --tree, --callers FUNCTION or --callees FUNCTION"),
	OPT_FOREIGN("comms", "use --thread (-t) LIST"),
	OPT_FOREIGN("dsos", "use --image NAME"),
	OPT_FOREIGN("symbols", "use --function NAME"),
	OPT_FOREIGN("percent-limit", "use --min PERCENT"),
	OPT_FOREIGN("inline", "inlined functions are shown; --no-inline leaves them out"),
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati report", "newest recording in this directory, by function" },
	{ "coati report --tree --focus parse", "call tree of stacks that contain parse" },
	{ "coati report --html page.html", "a page for the browser, one file" },
	{ NULL, NULL },
};

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct report_args *a)
{
	int views = a->tree + a->flame + (a->callers != NULL) + (a->callees != NULL) +
		    (a->source != NULL) + (a->html != NULL);

	if (views > 1)
		return "choose one of --tree, --callers, --callees, --flame, --source and --html";
	if (a->json && a->csv)
		return "--json and --csv cannot be combined";
	if (a->csv && views)
		return "--csv is for tables";
	if (a->json && (a->flame || a->html))
		return "--json goes with tables, trees and --source";
	if (a->html && a->output)
		return "--html FILE names the output file: leave out --output";
	if (a->by && a->html)
		return "--html has tables of every kind: --by cannot be combined with it";
	if (a->sources && !a->html)
		return "--sources needs --html";
	if (views && a->limit != LIMIT_USUAL)
		return "--limit is for tables; trees have --min";
	if (a->min && (a->flame || a->html || a->source))
		return "--min is for tables and trees; --focus and --show-from choose what a "
		       "flame graph shows";
	if (views && a->children)
		return "--children is for tables";
	if (a->by && a->source)
		return "--source shows lines and instructions: --by cannot be combined with it";
	if (a->quiet && a->verbose)
		return "--quiet and --verbose cannot be combined";
	return coati_source_conflict(&a->of);
}

static int run(int argc, char **argv)
{
	struct report_args a = {
		.inputs.max = 8000,
		.fail_if.max = 256,
		.of.filter.size = sizeof(a.of.filter),
		.limit = LIMIT_USUAL,
	};
	struct option_line line = { .argc = argc, .argv = argv };
	const char *conflict;
	int code;

	if (coati_command_parse(&coati_command_report, &line, &a, &code)) {
		conflict = find_conflict(&a);
		coati_talk_quietly(a.quiet);
		if (a.limit == LIMIT_USUAL)
			a.limit = a.json || a.csv ? 0 : LIMIT;
		if (coati_input_add_operands(&a.inputs, &line) < 0) {
			coati_say("out of memory, or more than 8000 recordings");
			code = EXIT_FAILED;
		} else if (!conflict && coati_source_expand(&a.of, &a.inputs) < 0) {
			code = EXIT_FAILED;
		} else {
			code = conflict
				       ? coati_command_misuse(&coati_command_report, "%s", conflict)
				       : coati_report_session(&a);
		}
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_report = {
	.name = "report",
	.summary = "show where a recording spent its time",
	.usage = "[options] [FILE...]",
	.options = opts,
	.examples = examples,
	.run = run,
};
