/* SPDX-License-Identifier: MIT */
/* coati diff: what changed between recordings. Here: its options and what they exclude. */
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/diff/args.h"
#include "cli/diff/gate.h"
#include "cli/diff/session.h"
#include "cli/faults.h"
#include "cli/talk.h"

#define LIMIT	    30
#define LIMIT_USUAL UINT32_MAX

static const char *const measures[] = { "share", "second", "run", NULL };

static const struct option opts[] = {
	OPT_TEXTS(0, "before", struct diff_args, files, DIFF_BEFORE, "FILES",
		  "recordings before the change, comma-separated (instead of A)"),
	OPT_TEXTS(0, "after", struct diff_args, files, DIFF_AFTER, "FILES",
		  "recordings after the "
		  "change, comma-separated (instead of B)"),
	OPT_STR(0, "by", struct diff_args, by, "WHAT",
		"group rows by function, line, image, "
		"thread ..."),
	OPT_CHOICE(0, "measure", struct diff_args, measure, measures, "WHAT",
		   "compare share (default), or weight per second or per run"),
	OPT_STR(0, "confidence", struct diff_args, confidence, "PERCENT",
		"confidence level over "
		"all rows (default 95)"),
	OPT_STR(0, "run-spread", struct diff_args, run_spread, "PERCENT",
		"assumed run-to-run variation with fewer than 4 runs (1; weights: 5)"),
	OPT_U64(0, "seed", struct diff_args, seed, "N", "seed of the resampling (default 0)", 0,
		UINT64_MAX),
	OPT_TEXTS(0, "fail-if", struct diff_args, fail_if, 0, "CONDITION",
		  "exit with 1 if it holds: 'func:NAME > +5%', 'total > 3%'"),
	OPT_CHOICE(0, "fail-when", struct diff_args, fail_when, coati_fail_words, "HOW",
		   "when it counts: certain (default), estimate or possible"),
	OPT_STRICT(struct diff_args),
	OPT_STR(0, "html", struct diff_args, html, "FILE",
		"write flame graphs of both sides as "
		"an HTML page"),
	OPT_FLAG(0, "json", struct diff_args, json, "print JSON"),
	OPT_FLAG(0, "csv", struct diff_args, csv, "print comma-separated values"),
	OPT_STR('o', "output", struct diff_args, output, "FILE", "output file, - for stdout"),
	OPT_U32('n', "limit", struct diff_args, limit, "N",
		"maximum number of rows, 0 for all "
		"(default 30; --json, --csv: all)",
		0, UINT32_MAX),
	OPT_STR(0, "min", struct diff_args, min, "PERCENT",
		"hide rows below this share (default "
		"0.1)"),
	OPT_FLAG(0, "counts", struct diff_args, counts,
		 "count samples instead of adding up "
		 "weights"),
	SOURCE_OPTIONS(struct diff_args),
	OPT_NO_SANDBOX(struct diff_args),
	OPT_CHOICE(0, "color", struct diff_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_FLAG('q', "quiet", struct diff_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati diff old.data new.data", "compare two recordings" },
	{ "coati diff old/*.data -- new/*.data", "several runs per side" },
	{ "coati diff a.data b.data --fail-if 'func:parse > +5%'", "fail a test on a regression" },
	{ NULL, NULL },
};

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct diff_args *a)
{
	int forms = a->json + a->csv + (a->html != NULL);

	if (forms > 1)
		return "choose one of --json, --csv and --html";
	if (a->html && a->output)
		return "--html FILE names the output file: leave out --output";
	if (a->html && a->limit != LIMIT_USUAL)
		return "--limit is for tables";
	if (a->html && a->by && strcmp(a->by, "function") != 0)
		return "--html shows functions: --by is for tables";
	if (a->of.filter.wait)
		return "--wait filters off-CPU time, but diff compares on-CPU time";
	return coati_source_conflict(&a->of);
}

static bool add_file(struct diff_args *a, const char *path, int side)
{
	struct option_text *t = ARRAY_ADD(&a->files);

	if (t)
		*t = (struct option_text){ .text = path, .tag = side };
	return t != NULL;
}

static uint32_t count_side(const struct diff_args *a, int side)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < a->files.len; i++)
		nr += a->files.v[i].tag == side;
	return nr;
}

/*
 * A word behind the dashes is the name of a recording; who means an option learns where it belongs.
 */
static const char *find_option(char **rest, int nr_rest)
{
	for (int i = 0; i < nr_rest; i++)
		if (rest[i][0] == '-' && rest[i][1] && access(rest[i], F_OK) != 0)
			return rest[i];
	return NULL;
}

/* The operands: A B, or A... -- B...; @rest are the words behind the dashes. NULL, or what is
 * wrong. */
static const char *add_operands(struct diff_args *a, const struct option_line *line, char **rest,
				int nr_rest)
{
	bool named = a->files.len > 0, split = line->argc > 0 && nr_rest > 0, room = true;

	for (int i = 0; i < line->argc; i++)
		room &= add_file(a, line->argv[i], split || i == 0 ? DIFF_BEFORE : DIFF_AFTER);
	for (int i = 0; i < nr_rest; i++)
		room &= add_file(a, rest[i], split || i > 0 ? DIFF_AFTER : DIFF_BEFORE);
	if (!room)
		return "out of memory, or more than 2048 recordings";
	if (named && line->argc + nr_rest > 0)
		return "name recordings with --before and --after, or without them, not both";
	if (!split && line->argc + nr_rest > 2)
		return "diff compares two recordings; separate several runs per side with --: A1 "
		       "A2 -- B1 B2";
	if (!count_side(a, DIFF_BEFORE) || !count_side(a, DIFF_AFTER))
		return "expected two recordings: coati diff BEFORE AFTER";
	return NULL;
}

/* The options stop at the first --; where it stands tells which recordings are of which side. */
static int find_dashes(int argc, char **argv)
{
	int i = 0;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i;
}

static int run(int argc, char **argv)
{
	struct diff_args a = { .files.max = 2048,
			       .fail_if.max = 256,
			       .of.filter.size = sizeof(a.of.filter),
			       .limit = LIMIT_USUAL };
	int dashes = find_dashes(argc, argv), nr_rest = argc > dashes ? argc - dashes - 1 : 0;
	struct option_line line = { .argc = dashes, .argv = argv };
	const char *wrong, *option = find_option(argv + dashes + 1, nr_rest);
	int code;

	if (coati_command_parse(&coati_command_diff, &line, &a, &code)) {
		coati_talk_quietly(a.quiet);
		wrong = find_conflict(&a);
		if (!wrong)
			wrong = add_operands(&a, &line, argv + dashes + 1, nr_rest);
		if (a.limit == LIMIT_USUAL)
			a.limit = a.json || a.csv ? 0 : LIMIT;
		if (option)
			code = coati_command_misuse(
				&coati_command_diff,
				"%s is after --, where only recordings are expected: put options "
				"before it",
				option);
		else if (wrong)
			code = coati_command_misuse(&coati_command_diff, "%s", wrong);
		else
			code = coati_diff_session(&a);
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_diff = {
	.name = "diff",
	.summary = "compare recordings and tell real changes from noise",
	.usage = "[options] A B | A... -- B...",
	.options = opts,
	.examples = examples,
	.exits = "0 fine, 1 a condition holds, 2 usage or unreadable input, 3 cannot judge",
	.run = run,
};
