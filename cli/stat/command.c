/* SPDX-License-Identifier: MIT */
/* coati stat: counts events of a command, of processes or of the machine. Here: its options and
 * what they exclude. */
#include <stdio.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/stat/args.h"
#include "cli/stat/session.h"
#include "cli/talk.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

static const struct option opts[] = {
	OPT_HEAD("Events"),
	OPT_TEXTS('e', "event", struct stat_args, events, STAT_EVENT, "EVENT",
		  "events to count (see coati list); repeatable"),
	OPT_TEXTS(0, "filter", struct stat_args, events, STAT_FILTER, "TEXT",
		  "filter expression for the tracepoint before it"),
	OPT_HEAD("Target"),
	OPT_IDS('p', "pid", struct stat_args, pids, "PID", "processes, comma-separated"),
	OPT_IDS('t', "tid", struct stat_args, tids, "TID", "threads, comma-separated"),
	OPT_FLAG('a', "all", struct stat_args, all, "whole system"),
	OPT_CPUS('C', "cpu", struct stat_args, cpus, "CPUS",
		 "everything that runs on these CPUs: "
		 "0-3,7"),
	OPT_STR(0, "cgroup", struct stat_args, cgroup, "PATH",
		"everything that runs in this "
		"cgroup"),
	OPT_FLAG('i', "no-inherit", struct stat_args, no_inherit,
		 "do not follow new threads and child processes"),
	OPT_HEAD("Timing"),
	OPT_DURATION('I', "interval", struct stat_args, interval_ns, "TIME",
		     "print counts every TIME (100ms, 2s)", NSEC_PER_MSEC, 24 * HOUR_NS),
	OPT_DURATION('d', "duration", struct stat_args, duration_ns, "TIME", "stop after TIME",
		     NSEC_PER_MSEC, 1000 * HOUR_NS),
	OPT_DURATION('D', "delay", struct stat_args, delay_ns, "TIME", "start counting after TIME",
		     NSEC_PER_MSEC, 1000 * HOUR_NS),
	OPT_U32('r', "repeat", struct stat_args, repeat, "N",
		"run the command N times; print mean and deviation", 1, 1000000),
	OPT_HEAD("Output"),
	OPT_FLAG(0, "per-thread", struct stat_args, per_thread, "count each thread separately"),
	OPT_FLAG('A', "per-cpu", struct stat_args, per_cpu, "count each CPU separately"),
	OPT_SWITCH(0, "scale", struct stat_args, scale,
		   "extrapolate counters that ran only part of the time"),
	OPT_FLAG('j', "json", struct stat_args, json, "print one JSON object per run or interval"),
	OPT_FLAG(0, "csv", struct stat_args, csv, "print comma-separated values with column names"),
	OPT_STR('o', "output", struct stat_args, out, "FILE", "output file, - for stdout"),
	OPT_CHOICE(0, "color", struct stat_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_FLAG('q', "quiet", struct stat_args, quiet, "no messages on stderr except errors"),
	OPT_FLAG('v', "verbose", struct stat_args, verbose,
		 "print raw counts, times and what was left out"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati stat -- ls -l /", "count a command" },
	{ "coati stat -r 5 -e page-faults,task-clock true", "mean of five runs" },
	{ "coati stat -a -I 500ms -d 2s", "the whole system, twice a second" },
	{ NULL, NULL },
};

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct stat_args *a)
{
	bool tasks = a->pids.len || a->tids.len;
	bool system = a->all || a->cpus || a->cgroup;

	if (a->events.len && a->events.v[0].tag == STAT_FILTER)
		return "--filter must follow the --event (-e) that it filters";
	if (tasks && system)
		return "--pid and --tid cannot be combined with --all, --cpu and --cgroup";
	if (!tasks && !system && !a->command)
		return "nothing to count: give a command, --pid, --tid, --all, --cpu or --cgroup";
	if (a->json && a->csv)
		return "--json and --csv cannot be combined";
	if (a->quiet && a->verbose)
		return "--quiet and --verbose cannot be combined";
	if (a->per_thread && a->per_cpu)
		return "--per-thread and --per-cpu cannot be combined";
	if (a->per_thread && !tasks)
		return "--per-thread needs --pid or --tid";
	if (a->per_cpu && !system)
		return "--per-cpu needs --all, --cpu or --cgroup";
	if (a->repeat > 1 && !a->command)
		return "--repeat needs a command to run";
	if (a->repeat > 1 && a->interval_ns)
		return "--repeat and --interval cannot be combined";
	return NULL;
}

static int run(int argc, char **argv)
{
	struct option_line line = { .argc = argc, .argv = argv };
	struct stat_args args = {
		.events = { .max = 4096 },
		.pids = { .max = 65536 },
		.tids = { .max = 65536 },
		.repeat = 1,
		.scale = true,
	};
	const char *conflict;
	int ret;

	if (coati_command_parse(&coati_command_stat, &line, &args, &ret)) {
		/* The operands were moved to the front; what is behind them is no longer of
		 * interest. */
		line.argv[line.argc] = NULL;
		args.command = line.argc ? line.argv : NULL;
		conflict = find_conflict(&args);
		coati_talk_quietly(args.quiet);
		if (!conflict && args.interval_ns >= 60 * NSEC_PER_SEC)
			coati_note("a report every %llu s; milliseconds are written as in 100ms",
				   (unsigned long long)(args.interval_ns / NSEC_PER_SEC));
		ret = conflict ? coati_command_misuse(&coati_command_stat, "%s", conflict)
			       : coati_stat_session(&args);
	}
	coati_options_fini(opts, &args);
	return ret;
}

const struct coati_command coati_command_stat = {
	.name = "stat",
	.summary = "count events of a command, processes or the whole system",
	.usage = "[options] [--] [COMMAND [ARGUMENT...]]",
	.options = opts,
	.examples = examples,
	.flags = COMMAND_RUNS_CHILD,
	.run = run,
};
