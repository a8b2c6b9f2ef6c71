/* SPDX-License-Identifier: MIT */
/* coati view: a recording in the browser. Here: its options and what they exclude. */
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/faults.h"
#include "cli/report/args.h"
#include "cli/talk.h"
#include "cli/view/args.h"

static const struct option opts[] = {
	OPT_TEXTS('i', "input", struct view_args, inputs, 0, "FILE",
		  "input file; repeat to merge (default: the newest here)"),
	OPT_CHOICE(0, "mode", struct view_args, mode, coati_report_modes, "MODE",
		   "open with time on CPUs, or off them"),
	OPT_U32(0, "port", struct view_args, port, "N", "port on loopback (default: a free one)", 0,
		65535),
	OPT_FLAG(0, "no-open", struct view_args, no_open, "print the address, start no browser"),
	OPT_FLAG(0, "firefox", struct view_args, firefox, "open in profiler.firefox.com instead"),
	OPT_FLAG(0, "perfetto", struct view_args, perfetto, "open in ui.perfetto.dev instead"),
	SOURCE_OPTIONS(struct view_args),
	OPT_STRICT(struct view_args),
	OPT_NO_SANDBOX(struct view_args),
	OPT_FLAG('q', "quiet", struct view_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati view", "the newest recording here, in the browser" },
	{ "coati view --no-open --port 8080 trace.data", "on another machine: forward the port" },
	{ "coati view --firefox", "in the Firefox Profiler" },
	{ NULL, NULL },
};

static int run(int argc, char **argv)
{
	struct view_args a = { .inputs.max = 8000, .of.filter.size = sizeof(a.of.filter) };
	struct option_line line = { .argc = argc, .argv = argv };
	const char *conflict;
	int code;

	if (coati_command_parse(&coati_command_view, &line, &a, &code)) {
		coati_talk_quietly(a.quiet);
		conflict = a.firefox && a.perfetto ? "--firefox and --perfetto cannot be combined"
						   : coati_source_conflict(&a.of);
		if (coati_input_add_operands(&a.inputs, &line) < 0) {
			coati_say("out of memory, or more than 8000 recordings");
			code = EXIT_FAILED;
		} else if (!conflict && coati_source_expand(&a.of, &a.inputs) < 0) {
			code = EXIT_FAILED;
		} else {
			code = conflict ? coati_command_misuse(&coati_command_view, "%s", conflict)
					: coati_view_session(&a);
		}
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_view = {
	.name = "view",
	.summary = "flame graph, timeline and tables of a recording in the browser",
	.usage = "[options] [FILE...]",
	.options = opts,
	.examples = examples,
	.run = run,
};
