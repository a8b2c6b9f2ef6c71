/* SPDX-License-Identifier: MIT */
/* coati trace: the timeline of a recording in the terminal. Here: its options and what they
 * exclude. */
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/faults.h"
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
	OPT_HEAD("View"),
	OPT_STR(0, "task", struct trace_args, task, "ID",
		"show one task: time breakdown and "
		"critical path"),
	OPT_STR(0, "tasks", struct trace_args, tasks, "TYPE", "show the slowest tasks of a type"),
	OPT_U32(0, "slowest", struct trace_args, slowest, "N",
		"with --tasks: show the N slowest "
		"(default 10)",
		1, 1000000),
	OPT_STR(0, "thread", struct trace_args, thread, "TID|NAME",
		"show what a thread did, step by step"),
	OPT_FLAG(0, "blame", struct trace_args, blame,
		 "show which thread and code woke each "
		 "blocked thread"),
	OPT_FLAG(0, "events", struct trace_args, events, "print every event, one per line"),
	OPT_FLAG(0, "check", struct trace_args, check,
		 "check the timeline; exit with status 1 if "
		 "it is wrong"),
	OPT_STR(0, "from", struct trace_args, from, "TIME", "start at TIME: 1.5s, 200ms"),
	OPT_STR(0, "to", struct trace_args, to, "TIME", "stop at TIME"),
	OPT_HEAD("Input and output"),
	OPT_TEXTS('i', "input", struct trace_args, inputs, 0, "FILE",
		  "input file, - for stdin (default: newest recording in this directory)"),
	OPT_FLAG(0, "json", struct trace_args, json, "print JSON"),
	OPT_TEXTS(0, "fail-if", struct trace_args, fail_if, 0, "CONDITION",
		  "exit with status 1 if it holds: 'lost > 1%'"),
	OPT_STRICT(struct trace_args),
	OPT_STR('o', "output", struct trace_args, output, "FILE", "output file, - for stdout"),
	OPT_U32('n', "limit", struct trace_args, limit, "N",
		"maximum number of rows, 0 for all (default 30; --json, --events: all)", 0,
		UINT32_MAX),
	OPT_CHOICE(0, "color", struct trace_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_NO_SANDBOX(struct trace_args),
	OPT_FLAG('q', "quiet", struct trace_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati trace", "threads and tasks of the newest recording" },
	{ "coati trace --blame", "which thread woke which" },
	{ "coati trace --events --from 10ms --to 20ms", "all events of ten milliseconds" },
	{ NULL, NULL },
};

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct trace_args *a)
{
	int views = (a->task != NULL) + (a->tasks != NULL) + (a->thread != NULL) + a->blame +
		    a->events + a->check;

	if (views > 1)
		return "choose one of --task, --tasks, --thread, --blame, --events and --check";
	if (a->slowest && !a->tasks)
		return "--slowest needs --tasks";
	if (a->inputs.len > 1)
		return "a timeline needs exactly one recording";
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
	.summary = "show what each thread and task did over time and what it waited for",
	.usage = "[options] [FILE]",
	.options = opts,
	.examples = examples,
	.run = run,
};
