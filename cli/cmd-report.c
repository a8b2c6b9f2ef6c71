/* SPDX-License-Identifier: MIT */
/* coati report: a recording as an answer. Here: its options and what they exclude. */
#include "base/array.h"
#include "command.h"
#include "report-args.h"
#include "report-session.h"
#include "talk.h"

#define LIMIT	    40
#define LIMIT_USUAL UINT32_MAX

static const struct option opts[] = {
	OPT_TEXTS('i', "input", struct report_args, inputs, 0, "FILE",
		  "this one; - is stdin; again to merge several (the newest here)"),
	OPT_HEAD("What to show"),
	OPT_STR(0, "by", struct report_args, by, "WHAT",
		"rows: function, line, address, image, thread, process, cpu, event ..."),
	OPT_FLAG(0, "tree", struct report_args, tree,
		 "top down: who calls whom, from the outermost"),
	OPT_STR(0, "callers", struct report_args, callers, "FUNCTION", "who calls FUNCTION"),
	OPT_STR(0, "callees", struct report_args, callees, "FUNCTION", "what FUNCTION calls"),
	OPT_FLAG(0, "flame", struct report_args, flame, "a flame graph of text"),
	OPT_STR(0, "source", struct report_args, source, "FUNCTION",
		"its source and instructions with their weights"),
	OPT_STR(0, "html", struct report_args, html, "FILE", "a flame graph as one HTML page"),
	OPT_FLAG(0, "json", struct report_args, json, "as JSON"),
	OPT_FLAG(0, "csv", struct report_args, csv, "as comma-separated values"),
	OPT_STR('o', "output", struct report_args, output, "FILE", "write to FILE; - is stdout"),
	OPT_U32('n', "limit", struct report_args, limit, "N",
		"rows; 0: all (40; --json and --csv: all)", 0, UINT32_MAX),
	OPT_STR(0, "min", struct report_args, min, "PERCENT",
		"branches of a tree with at least this share (0.5)"),
	OPT_FLAG(0, "counts", struct report_args, counts, "count samples instead of their weight"),
	OPT_HEAD("Of what: lists with commas, * and ? as in a shell; REGEX matches in functions"),
	OPT_STR(0, "time", struct report_args, filter.time, "FROM-TO",
		"part of the time: 1.5s-3s, 10%-20%, 200ms-"),
	OPT_STR('t', "thread", struct report_args, filter.thread, "LIST",
		"threads, by number or name"),
	OPT_STR('p', "process", struct report_args, filter.process, "LIST",
		"processes, by number or name"),
	OPT_CPUS('C', "cpu", struct report_args, filter.cpu, "CPUS", "these CPUs: 0-3,7"),
	OPT_STR('e', "event", struct report_args, filter.event, "LIST", "events"),
	OPT_STR(0, "label", struct report_args, filter.label, "KEY=VALUE",
		"samples with this label"),
	OPT_STR(0, "function", struct report_args, filter.function, "NAME",
		"stacks with this function"),
	OPT_STR(0, "image", struct report_args, filter.image, "NAME", "stacks through this file"),
	OPT_STR(0, "focus", struct report_args, filter.focus, "REGEX", "only stacks that match"),
	OPT_STR(0, "ignore", struct report_args, filter.ignore, "REGEX", "no stacks that match"),
	OPT_STR(0, "hide", struct report_args, filter.hide, "REGEX", "leave frames out that match"),
	OPT_STR(0, "show", struct report_args, filter.show, "REGEX",
		"leave frames out that do not match"),
	OPT_STR(0, "show-from", struct report_args, filter.show_from, "REGEX",
		"stacks from the outermost match on"),
	OPT_FLAG(0, "no-inline", struct report_args, no_inline,
		 "functions as linked, no inlined ones"),
	OPT_FLAG(0, "mangled", struct report_args, mangled, "names as in the symbol table"),
	OPT_STR(0, "root", struct report_args, root, "DIR", "look for files below DIR"),
	OPT_STR(0, "debug-dirs", struct report_args, debug_dirs, "DIRS",
		"look for debug files there, list with : (/usr/lib/debug)"),
	OPT_FLAG(0, "debuginfod", struct report_args, debuginfod,
		 "ask the servers of DEBUGINFOD_URLS for what is not here"),
	OPT_FLAG(0, "no-local", struct report_args, no_local,
		 "only names that came with the recording"),
	OPT_CHOICE(0, "color", struct report_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_FLAG('q', "quiet", struct report_args, quiet, "no remarks on stderr"),
	OPT_FLAG('v', "verbose", struct report_args, verbose, "names in full, all remarks"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati report", "the newest recording here, by function" },
	{ "coati report --tree --focus parse", "who calls whom, in stacks with parse in them" },
	{ "coati report --html flame.html", "a flame graph for the browser" },
	{ NULL, NULL },
};

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct report_args *a)
{
	int views = a->tree + a->flame + (a->callers != NULL) + (a->callees != NULL) +
		    (a->source != NULL) + (a->html != NULL);

	if (views > 1)
		return "--tree, --callers, --callees, --flame, --source and --html are one view each: choose one";
	if (a->json && a->csv)
		return "--json and --csv do not go together";
	if (a->csv && views)
		return "--csv is for tables";
	if (a->json && (a->flame || a->html))
		return "--json goes with tables, trees and --source";
	if (a->html && a->output)
		return "--html names its file itself: --output is not needed";
	if (views && a->limit != LIMIT_USUAL)
		return "--limit is for tables; trees have --min";
	if (a->quiet && a->verbose)
		return "--quiet and --verbose do not go together";
	return NULL;
}

/* A recording may also be named without -i. */
static int add_operands(struct report_args *a, const struct option_line *line)
{
	for (int i = 0; i < line->argc; i++) {
		struct option_text *t = ARRAY_ADD(&a->inputs);

		if (!t)
			return -1;
		t->text = line->argv[i];
	}
	return 0;
}

static int run(int argc, char **argv)
{
	struct report_args a = {
		.inputs.max = 1024,
		.filter.size = sizeof(a.filter),
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
		if (add_operands(&a, &line) < 0) {
			coati_say("out of memory, or more than 1024 recordings");
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
	.summary = "the profile of a recording in the terminal",
	.usage = "[options] [FILE...]",
	.options = opts,
	.examples = examples,
	.run = run,
};
