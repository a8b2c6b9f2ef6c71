/* SPDX-License-Identifier: MIT */
/* coati export: a recording in the words of other tools. Here: its options and what they
 * exclude. */
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/faults.h"
#include "cli/export/session.h"
#include "cli/report/figures.h"
#include "cli/talk.h"

static const char *const modes[] = { "auto", "on", "off", "both", NULL };

static const struct option opts[] = {
	OPT_STR('f', "format", struct export_args, format, "FORMAT",
		"pprof folded speedscope firefox perfetto chrome otlp perfdata json"),
	OPT_STR('o', "output", struct export_args, output, "FILE",
		"output file, - for stdout (default: named after the recording)"),
	OPT_TEXTS('i', "input", struct export_args, inputs, 0, "FILE",
		  "input files, - for stdin; repeatable (default: newest recording here)"),
	OPT_FLAG(0, "check", struct export_args, check,
		 "read the file back and compare its sums with the profile"),
	OPT_CHOICE(0, "mode", struct export_args, mode, modes, "MODE",
		   "show on-CPU time, off-CPU time or both (default on)"),
	OPT_FLAG(0, "counts", struct export_args, counts,
		 "count samples instead of adding up "
		 "weights"),
	OPT_FLAG(0, "no-compress", struct export_args, plain,
		 "do not compress formats that "
		 "usually are"),
	OPT_TEXTS(0, "fail-if", struct export_args, fail_if, 0, "CONDITION",
		  "exit with status 1 if it holds: 'lost > 1%'"),
	OPT_STRICT(struct export_args),
	OPT_STR(0, "comment", struct export_args, comment, "TEXT",
		"add a comment, where the format has one"),
	SOURCE_OPTIONS(struct export_args),
	OPT_NO_SANDBOX(struct export_args),
	OPT_FLAG('q', "quiet", struct export_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati export -f pprof", "coati.data for go tool pprof: coati.pb.gz" },
	{ "coati export -f folded -o - | flamegraph.pl > flame.svg", "write to a pipe" },
	{ "coati export -o app.folded --check",
	  "choose the format by file name; verify the result" },
	{ NULL, NULL },
};

static const char *find_conflict(const struct export_args *a)
{
	if (!a->format && !a->output)
		return "no format given: use -f pprof, folded ..., or -o FILE with a known suffix";
	if (a->check && a->output && a->output[0] == '-' && !a->output[1])
		return "--check reads the output back and needs a file: use -o FILE";
	return coati_source_conflict(&a->of);
}

static int run(int argc, char **argv)
{
	struct export_args a = { .inputs.max = 8000,
				 .fail_if.max = 256,
				 .of.filter.size = sizeof(a.of.filter) };
	struct option_line line = { .argc = argc, .argv = argv };
	const char *conflict;
	int code;

	if (coati_command_parse(&coati_command_export, &line, &a, &code)) {
		conflict = find_conflict(&a);
		coati_talk_quietly(a.quiet);
		if (conflict) {
			code = coati_command_misuse(&coati_command_export, "%s", conflict);
		} else if (coati_input_add_operands(&a.inputs, &line) < 0) {
			coati_say("out of memory, or more than 8000 recordings");
			code = EXIT_FAILED;
		} else if (coati_source_expand(&a.of, &a.inputs) < 0) {
			code = EXIT_FAILED;
		} else if (coati_conditions_check(&coati_command_export, &a.fail_if,
						  REPORT_FIGURES)) {
			code = EXIT_USAGE;
		} else {
			code = coati_export_session(&a);
		}
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_export = {
	.name = "export",
	.summary = "convert a recording for other tools",
	.usage = "[options] [FILE...]",
	.options = opts,
	.examples = examples,
	.run = run,
};
