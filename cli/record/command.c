/* SPDX-License-Identifier: MIT */
/* coati record: samples and traces into a recording. Here: its options and what they exclude. */
#include <string.h>

#include <coati/capture.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/record/announce.h"
#include "cli/record/args.h"
#include "cli/record/output.h"
#include "cli/record/session.h"
#include "cli/talk.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define GIB	(UINT64_C(1) << 30)

const char *const coati_record_stacks[] = { "auto", "none",  "fp",  "dwarf",
					    "lbr",  "table", "bpf", NULL };

static const struct option opts[] = {
	OPT_HEAD("Events"),
	OPT_TEXTS('e', "event", struct record_args, events, RECORD_EVENT, "EVENT",
		  "events to sample (see coati list); repeatable"),
	OPT_TEXTS(0, "filter", struct record_args, events, RECORD_FILTER, "TEXT",
		  "filter expression for the tracepoint before it"),
	OPT_RATE('F', "freq", struct record_args, freq, "HZ", "samples per second (default 1000)",
		 1, 1000000),
	OPT_U64('c', "count", struct record_args, period, "N",
		"take one sample every N events "
		"instead",
		1, INT64_MAX),
	OPT_CHOICE_MAYBE('g', "stacks", struct record_args, stacks, coati_record_stacks, "[MODE]",
			 "call stack mode: auto, none, bpf, table, fp, dwarf or lbr"),
	OPT_SIZE(0, "stack-size", struct record_args, stack_bytes, "SIZE",
		 "stack bytes to copy with table and dwarf", 8, 65536),
	OPT_U32(0, "max-stack", struct record_args, max_stack, "N",
		"maximum number of frames per "
		"stack",
		1, 65535),
	OPT_U32(0, "verify", struct record_args, verify, "N",
		"with bpf: check every Nth stack against the unwind data", 1, 1000000),
	OPT_FLAG(0, "off-cpu", struct record_args, off_cpu,
		 "record off-CPU time: context switches with stacks"),
	OPT_FLAG(0, "trace", struct record_args, trace,
		 "record a timeline: context switches, wakeups, live events"),
	OPT_FLAG(0, "syscalls", struct record_args, syscalls,
		 "with --trace: record every system "
		 "call"),
	OPT_FLAG(0, "no-irq", struct record_args, no_irq, "with --trace: leave out interrupts"),
	OPT_FLAG(0, "context-switches", struct record_args, switches,
		 "write a record at each context switch"),
	OPT_FLAG(0, "namespaces", struct record_args, namespaces,
		 "record the namespaces of running processes"),
	OPT_FLAG(0, "cgroups", struct record_args, cgroups, "record the cgroup of each sample"),
	OPT_FLAG(0, "data", struct record_args, data, "record data addresses and data mappings"),
	OPT_HEAD("Target"),
	OPT_IDS('p', "pid", struct record_args, pids, "PID", "processes, comma-separated"),
	OPT_IDS('t', "tid", struct record_args, tids, "TID", "threads, comma-separated"),
	OPT_FLAG('a', "all", struct record_args, all, "whole system"),
	OPT_CPUS('C', "cpu", struct record_args, cpus, "CPUS",
		 "everything that runs on these CPUs: 0-3,7"),
	OPT_STR(0, "cgroup", struct record_args, cgroup, "PATH",
		"everything that runs in this "
		"cgroup"),
	OPT_FLAG('i', "no-inherit", struct record_args, no_inherit,
		 "do not follow new threads and child processes"),
	OPT_HEAD("Timing"),
	OPT_DURATION('d', "duration", struct record_args, duration_ns, "TIME", "stop after TIME",
		     NSEC_PER_MSEC, 1000 * HOUR_NS),
	OPT_DURATION('D', "delay", struct record_args, delay_ns, "TIME",
		     "start sampling after TIME", NSEC_PER_MSEC, 1000 * HOUR_NS),
	OPT_FLAG(0, "overwrite", struct record_args, overwrite,
		 "keep the newest samples; write them on SIGUSR2 and at the end"),
	OPT_STR(0, "when", struct record_args, when, "EVENT>N",
		"with --overwrite: write when EVENT happens more than N times"),
	OPT_FLAG(0, "snapshot", struct record_args, snapshot,
		 "with --pid: save what its flight recorder holds now"),
	OPT_HEAD("Output"),
	OPT_STR('o', "output", struct record_args, out, "FILE",
		"output file, - for stdout (default coati.data)"),
	OPT_FLAG(0, "no-pack", struct record_args, no_pack,
		 "do not store function names in the file"),
	OPT_FLAG('z', "compress", struct record_args, zstd, "compress with zstd"),
	OPT_U32(0, "compression-level", struct record_args, zstd_level, "N",
		"zstd level, 1 (fast) to 19 (small)", 1, 19),
	OPT_SIZE(0, "max-size", struct record_args, max_bytes, "SIZE",
		 "stop before the file exceeds SIZE", 64 * 1024, UINT64_MAX),
	OPT_STR(0, "switch-output", struct record_args, switch_on, "WHEN",
		"start a new file every SIZE, TIME or on SIGUSR2 (signal)"),
	OPT_U32(0, "max-files", struct record_args, max_files, "N",
		"with --switch-output: keep the last N files", 1, 100000),
	OPT_SIZE('m', "ring-size", struct record_args, ring_bytes, "SIZE",
		 "ring buffer size per CPU", 4096, GIB),
	OPT_U32(0, "realtime", struct record_args, realtime, "PRIO",
		"real-time priority of the recorder", 1, 99),
	OPT_TEXTS(0, "fail-if", struct record_args, fail_if, 0, "CONDITION",
		  "exit with status 1 if it holds: 'lost > 1%'"),
	OPT_FLAG('q', "quiet", struct record_args, quiet, "no messages on stderr except errors"),
	OPT_FLAG('v', "verbose", struct record_args, verbose,
		 "print what was left out, ring sizes and the recorder's cost"),
	OPT_HELP,
	/* as perf spells it */
	OPT_HIDDEN_STR("call-graph", struct record_args, call_graph, "MODE[,SIZE]"),
	OPT_FOREIGN_LETTER('b', "branch-any", "use --call-graph lbr"),
	OPT_FOREIGN("mmap-pages", "--ring-size (-m) SIZE takes bytes: 512k, 4M"),
	OPT_FOREIGN("timestamp", "every sample has its time"),
	OPT_FOREIGN("no-buildid-cache",
		    "recordings carry their symbols; --no-pack leaves them out"),
	OPT_FOREIGN("switch-events", "use --context-switches, or --off-cpu for stacks as well"),
	OPT_FOREIGN("all-user", "put :u behind the event: -e cpu-clock:u"),
	OPT_FOREIGN("all-kernel", "put :k behind the event: -e cpu-clock:k"),
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati record -- ls -l /", "sample a command" },
	{ "coati record -a -d 2s", "sample the whole system for two seconds" },
	{ "coati record -e page-faults -c 1 -- ls", "sample every page fault of a command" },
	{ NULL, NULL },
};

/* perf's --call-graph MODE[,SIZE] as --stacks and --stack-size. NULL when all is well. */
static const char *take_call_graph(struct record_args *a)
{
	const char *text = a->call_graph;
	size_t len = text ? strcspn(text, ",") : 0;

	if (!text)
		return NULL;
	for (int i = 0; coati_record_stacks[i]; i++) {
		if (strncmp(coati_record_stacks[i], text, len) || coati_record_stacks[i][len])
			continue;
		a->stacks = i;
		if (text[len] && coati_parse_size(text + len + 1, 8, 65536, &a->stack_bytes) < 0)
			return "--call-graph MODE,SIZE: SIZE is 8 to 65536 bytes of stack";
		return NULL;
	}
	return "--call-graph MODE: MODE is one of auto, none, fp, table, dwarf and lbr";
}

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct record_args *a)
{
	bool tasks = a->pids.len || a->tids.len;
	bool system = a->all || a->cpus || a->cgroup;

	if (a->snapshot)
		return coati_record_snapshot_conflict(a);
	if (a->events.len && a->events.v[0].tag == RECORD_FILTER)
		return "--filter must follow the --event (-e) that it filters";
	if (tasks && system)
		return "--pid and --tid cannot be combined with --all, --cpu and --cgroup";
	if (!tasks && !system && !a->command)
		return "nothing to record: give a command, --pid, --tid, --all, --cpu or --cgroup";
	if (a->freq && a->period)
		return "--freq and --count cannot be combined";
	if (a->quiet && a->verbose)
		return "--quiet and --verbose cannot be combined";
	if (a->off_cpu && a->overwrite)
		return "--off-cpu and --overwrite cannot be combined: off-CPU time needs every "
		       "context switch";
	if (a->trace && a->overwrite)
		return "--trace and --overwrite cannot be combined: a timeline needs every "
		       "context switch";
	if (a->trace && a->switch_on)
		return "--trace and --switch-output cannot be combined: a timeline is one file";
	if (a->syscalls && !a->trace)
		return "--syscalls needs --trace";
	if (a->no_irq && !a->trace)
		return "--no-irq needs --trace";
	if (a->when && !a->overwrite)
		return "--when needs --overwrite";
	if (a->max_files && !a->switch_on)
		return "--max-files needs --switch-output";
	if (a->switch_on && a->overwrite)
		return "--switch-output and --overwrite cannot be combined";
	if (a->switch_on && a->out && a->out[0] == '-' && !a->out[1])
		return "--switch-output needs files, not standard output";
	if (a->verify && a->stacks != COATI_STACKS_BPF && a->stacks != COATI_STACKS_AUTO)
		return "--verify is for --stacks (-g) bpf and auto";
	if (a->stack_bytes && a->stacks != COATI_STACKS_AUTO && a->stacks != COATI_STACKS_BPF &&
	    a->stacks != COATI_STACKS_DWARF && a->stacks != COATI_STACKS_TABLE)
		return "--stack-size is for --stacks (-g) table, bpf and dwarf";
	return NULL;
}

static int run(int argc, char **argv)
{
	struct option_line line = { .argc = argc, .argv = argv };
	struct record_args args = {
		.events = { .max = 4096 },
		.pids = { .max = 65536 },
		.tids = { .max = 65536 },
		.fail_if = { .max = 256 },
		.out = coati_record_default,
	};
	const char **words = coati_record_words(argc, argv);
	const char *conflict;
	int ret;

	args.argc = words ? argc + 2 : 0;
	args.argv = words;
	if (coati_command_parse(&coati_command_record, &line, &args, &ret)) {
		/* The operands were moved to the front; what is behind them is no longer of
		 * interest. */
		line.argv[line.argc] = NULL;
		args.command = line.argc ? line.argv : NULL;
		conflict = take_call_graph(&args);
		if (!conflict)
			conflict = find_conflict(&args);
		args.off_cpu |= args.trace;
		coati_talk_quietly(args.quiet);
		if (conflict)
			ret = coati_command_misuse(&coati_command_record, "%s", conflict);
		else if (coati_conditions_check(&coati_command_record, &args.fail_if,
						RECORD_FIGURES))
			ret = EXIT_USAGE;
		else
			ret = args.snapshot ? coati_record_snapshot(&args)
					    : coati_record_session(&args);
	}
	coati_record_words_free(words);
	coati_options_fini(opts, &args);
	return ret;
}

const struct coati_command coati_command_record = {
	.name = "record",
	.summary = "sample or trace a command, processes or the whole system",
	.usage = "[options] [--] [COMMAND [ARGUMENT...]]",
	.options = opts,
	.examples = examples,
	.flags = COMMAND_RUNS_CHILD,
	.run = run,
};
