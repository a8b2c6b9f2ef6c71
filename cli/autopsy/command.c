/* SPDX-License-Identifier: MIT */
/*
 * coati autopsy: what a process did in its last seconds, from its flight recorder, whose memory
 * outlives it. For processes that were killed, crashed, ran out of memory; a living one may be
 * looked at, too.
 */
#include <string.h>

#include "cli/autopsy/autopsy.h"

#include <unistd.h>
#include "base/clock.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/faults.h"
#include "cli/output.h"
#include "cli/talk.h"

#define YEAR (UINT64_C(366) * 24 * 3600 * NSEC_PER_SEC)

/* What is shown when nothing else is asked for. */
#define LAST_NS (5 * NSEC_PER_SEC)
#define EVENTS	10
#define LOGS	20

#define INDENT 15 /* behind the times */

static const struct option opts[] = {
	OPT_HEAD("View"),
	OPT_DURATION(0, "last", struct autopsy_args, last_ns, "TIME",
		     "show events of the last TIME (default 5s)", 0, YEAR),
	OPT_U32('n', "events", struct autopsy_args, events, "COUNT",
		"show at most COUNT events per thread (default 10)", 0, 1000000),
	OPT_U32(0, "logs", struct autopsy_args, logs, "COUNT",
		"show at most COUNT log lines (default 20)", 0, 1000000),
	OPT_IDS('t', "thread", struct autopsy_args, tids, "TID", "only these threads"),
	OPT_FLAG(0, "json", struct autopsy_args, json, "print JSON"),
	OPT_TEXTS(0, "fail-if", struct autopsy_args, fail_if, 0, "CONDITION",
		  "exit with status 1 if it holds: 'lost > 1%'"),
	OPT_STRICT(struct autopsy_args),
	OPT_STR('o', "output", struct autopsy_args, output, "FILE",
		"save all of it as a recording"),
	OPT_HEAD("Recorder files"),
	OPT_FLAG(0, "list", struct autopsy_args, list, "list recorder files"),
	OPT_DURATION(0, "clean", struct autopsy_args, clean_ns, "AGE",
		     "remove files of dead processes older than AGE (0s: all)", 0, YEAR),
	OPT_STR(0, "directory", struct autopsy_args, directory, "DIR",
		"where to look (default /dev/shm/coati-UID)"),
	OPT_NO_SANDBOX(struct autopsy_args),
	OPT_HELP,
	OPT_END
};

static const struct coati_example examples[] = {
	{ "coati autopsy 1234", "the last seconds of process 1234" },
	{ "coati autopsy --last 500ms -n 100 core.1234", "more events, found through a core file" },
	{ "coati autopsy --list", "list flight recorders" },
	{ NULL, NULL }
};

static void say_of(const struct autopsy_target *t, const struct coati_error *err)
{
	if (t->fd >= 0)
		coati_say("%s: %s", t->path, err->text);
	else
		coati_say("%s", err->text);
}

static int show(const struct autopsy_args *args, const struct autopsy_target *t)
{
	struct autopsy a = { .args = args, .shown = t->path };
	struct coati_error err = { 0 };
	struct figures figures;
	struct faults faults;
	struct output out;
	int ret;

	if (coati_autopsy_read(&a, t, &err) < 0) {
		say_of(t, &err);
		coati_autopsy_fini(&a);
		return EXIT_FAILED;
	}
	coati_output_init(&out, COLOR_NEVER);
	if (args->json) {
		coati_autopsy_json(&a, &out.text);
	} else {
		coati_autopsy_text(&a, &out.text);
		coati_output_wrap(&out, 0, INDENT);
	}
	coati_autopsy_figures(&a, &figures);
	coati_autopsy_faults(&a, &faults);
	coati_autopsy_fini(&a);
	ret = coati_output_end(&out);
	if (ret == EXIT_DONE)
		ret = coati_conditions_judge(&args->fail_if, &figures);
	if (args->strict && coati_faults_judge(&faults, t->path) != EXIT_DONE)
		ret = EXIT_FAILED;
	return ret;
}

/* A recorder that was copied and not looked at. */
static int judge_again(const struct autopsy_args *args, const struct autopsy_target *t)
{
	struct autopsy a = { .args = args, .shown = t->path };
	struct coati_error err = { 0 };
	struct faults faults;
	int r = coati_autopsy_read(&a, t, &err);

	if (r < 0)
		say_of(t, &err);
	else
		coati_autopsy_faults(&a, &faults);
	coati_autopsy_fini(&a);
	return r < 0 ? EXIT_FAILED : coati_faults_judge(&faults, t->path);
}

static int save(const struct autopsy_args *args, const struct autopsy_target *t)
{
	struct coati_error err = { 0 };
	struct autopsy_saved saved;

	if (coati_autopsy_save(t, args->output, &saved, &err) == 0)
		return args->strict ? judge_again(args, t) : EXIT_DONE;
	say_of(t, &err);
	return EXIT_FAILED;
}

static int run_target(const struct autopsy_args *a, const char *target)
{
	struct coati_error err = { 0 };
	struct autopsy_target t = { .fd = -1 };
	int code;

	if (coati_autopsy_find(a, target, &t, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	code = a->output ? save(a, &t) : show(a, &t);
	if (t.fd >= 0)
		close(t.fd);
	return code;
}

/* @target: a process, a recorder's file or a core file; NULL: all recorders. */
static bool confine(const struct autopsy_args *a, const char *target)
{
	return coati_confinement_enter(&(struct confinement){
		.is_off = a->no_sandbox,
		.flags = SANDBOX_RECORDERS | (a->clean_ns != AUTOPSY_ALL ? SANDBOX_REMOVE : 0),
		.input = target,
		.folder = a->directory,
		.output = a->output,
		.describe = a->output ? coati_autopsy_describe_job : NULL });
}

static int run_parsed(const struct autopsy_args *a, const struct option_line *line)
{
	bool files = a->list || a->clean_ns != AUTOPSY_ALL;

	if (a->list && a->clean_ns != AUTOPSY_ALL)
		return coati_command_misuse(&coati_command_autopsy,
					    "--list and --clean cannot be combined");
	if (files && (line->argc || a->output || a->tids.len))
		return coati_command_misuse(&coati_command_autopsy,
					    "--list and --clean apply to all recorders and take "
					    "no PID or file");
	if (a->output && a->json)
		return coati_command_misuse(
			&coati_command_autopsy,
			"--output writes a recording and cannot be combined with --json");
	if (a->output &&
	    (a->tids.len || a->last_ns != LAST_NS || a->events != EVENTS || a->logs != LOGS))
		return coati_command_misuse(
			&coati_command_autopsy,
			"--output writes everything and cannot be combined with --last, --events "
			"(-n), --logs or --thread (-t)");
	if (a->fail_if.len && (files || a->output))
		return coati_command_misuse(
			&coati_command_autopsy,
			"--fail-if checks one recorder and cannot be combined with --list, "
			"--clean or --output; coati trace --fail-if checks a recording");
	if (a->strict && files)
		return coati_command_misuse(
			&coati_command_autopsy,
			"--strict checks one recorder and cannot be combined with --list or "
			"--clean");
	if (coati_conditions_check(&coati_command_autopsy, &a->fail_if, AUTOPSY_FIGURES))
		return EXIT_USAGE;
	if (!files && line->argc != 1)
		return coati_command_misuse(&coati_command_autopsy,
					    "expected one PID, recorder file or core file");
	if (!confine(a, files ? NULL : line->argv[0]))
		return EXIT_FAILED;
	if (a->list)
		return coati_autopsy_list(a);
	return files ? coati_autopsy_clean(a) : run_target(a, line->argv[0]);
}

static int run(int argc, char **argv)
{
	struct autopsy_args a = { .clean_ns = AUTOPSY_ALL,
				  .last_ns = LAST_NS,
				  .events = EVENTS,
				  .logs = LOGS,
				  .tids.max = 4096,
				  .fail_if.max = 256 };
	struct option_line line = { .argc = argc, .argv = argv };
	int code;

	if (coati_command_parse(&coati_command_autopsy, &line, &a, &code))
		code = run_parsed(&a, &line);
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_autopsy = {
	.name = "autopsy",
	.summary = "show the last seconds of a process from its flight recorder",
	.usage = "[options] PID|FILE|CORE",
	.options = opts,
	.examples = examples,
	.run = run,
};
