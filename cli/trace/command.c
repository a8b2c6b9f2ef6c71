/* SPDX-License-Identifier: MIT */
/* coati trace: the timeline of a recording in the terminal. Here: its options and what they
 * exclude. */
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "cli/trace/args.h"
#include "cli/trace/session.h"
#include "cli/trace/text.h"

#define LIMIT_USUAL UINT32_MAX
#define LIMIT	    30
#define SLOWEST	    10

static const struct option opts[] = {
	OPT_HEAD("What"),
	OPT_STR(0, "task", struct trace_args, task, "ID", "one task: its ledger and critical path"),
	OPT_STR(0, "tasks", struct trace_args, tasks, "TYPE", "the slowest tasks of a type"),
	OPT_U32(0, "slowest", struct trace_args, slowest, "N", "with tasks: so many (10)", 1,
		1000000),
	OPT_STR(0, "thread", struct trace_args, thread, "TID|NAME",
		"what a thread did, step by step"),
	OPT_FLAG(0, "blame", struct trace_args, blame, "who let whom wait: wakers and their code"),
	OPT_FLAG(0, "events", struct trace_args, events, "everything that happened, a line each"),
	OPT_FLAG(0, "check", struct trace_args, check, "check the timeline; end with 1 if wrong"),
	OPT_STR(0, "from", struct trace_args, from, "TIME", "from here on: 1.5s, 200ms"),
	OPT_STR(0, "to", struct trace_args, to, "TIME", "up to here"),
	OPT_HEAD("Input and output"),
	OPT_TEXTS('i', "input", struct trace_args, inputs, 0, "FILE",
		  "read FILE; - is stdin (the newest recording here)"),
	OPT_FLAG(0, "json", struct trace_args, json, "as JSON"),
	OPT_TEXTS(0, "fail-if", struct trace_args, fail_if, 0, "CONDITION",
		  "status 1 when it holds: 'lost > 1%'"),
	OPT_STR('o', "output", struct trace_args, output, "FILE", "write to FILE; - is stdout"),
	OPT_U32('n', "limit", struct trace_args, limit, "N",
		"lines of a list; 0: all (30; --json, --events: all)", 0, UINT32_MAX),
	OPT_CHOICE(0, "color", struct trace_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_FLAG('q', "quiet", struct trace_args, quiet, "no remarks on stderr"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati trace", "threads and tasks of the newest recording here" },
	{ "coati trace --blame", "who let whom wait" },
	{ "coati trace --events --from 10ms --to 20ms", "everything in ten milliseconds" },
	{ NULL, NULL },
};

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct trace_args *a)
{
	int views = (a->task != NULL) + (a->tasks != NULL) + (a->thread != NULL) + a->blame +
		    a->events + a->check;

	if (views > 1)
		return "--task, --tasks, --thread, --blame, --events and --check are one view "
		       "each: choose one";
	if (a->slowest && !a->tasks)
		return "--slowest needs --tasks";
	if (a->inputs.len > 1)
		return "a timeline is of one recording";
	return NULL;
}

static int run(int argc, char **argv)
{
	struct trace_args a = { .inputs.max = 16, .fail_if.max = 256, .limit = LIMIT_USUAL };
	struct option_line line = { .argc = argc, .argv = argv };
	const char *wrong;
	int code;

	if (coati_command_parse(&coati_command_trace, &line, &a, &code)) {
		coati_talk_quietly(a.quiet);
		wrong = coati_input_add_operands(&a.inputs, &line) < 0 ? "too many recordings"
								       : find_conflict(&a);
		if (a.limit == LIMIT_USUAL)
			a.limit = a.json || a.events ? 0 : LIMIT;
		if (!a.slowest)
			a.slowest = SLOWEST;
		if (wrong)
			code = coati_command_misuse(&coati_command_trace, "%s", wrong);
		else if (coati_conditions_check(&coati_command_trace, &a.fail_if, TRACE_FIGURES))
			code = EXIT_USAGE;
		else
			code = coati_trace_session(&a);
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_trace = {
	.name = "trace",
	.summary = "what each thread and task did when, and what it waited for",
	.usage = "[options] [FILE]",
	.options = opts,
	.examples = examples,
	.run = run,
};
