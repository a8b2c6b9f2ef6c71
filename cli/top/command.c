/* SPDX-License-Identifier: MIT */
/* coati top: where the time goes, live. Here: its options and what they exclude. */
#include "cli/command.h"

#include <errno.h>
#include <string.h>

#include <coati/capture.h>

#include "base/clock.h"
#include "cli/faults.h"
#include "cli/output.h"
#include "cli/record/args.h"
#include "cli/record/output.h"
#include "cli/talk.h"
#include "cli/top/args.h"
#include "cli/top/session.h"
#include "fleet/place.h"

#define MIB		(UINT64_C(1) << 20)
#define HOUR_NS		(3600 * NSEC_PER_SEC)
#define DEFAULT_MEMORY	(64 * MIB)
#define DEFAULT_HISTORY (600 * NSEC_PER_SEC)
#define DEFAULT_WINDOW	(10 * NSEC_PER_SEC)
#define DEFAULT_ONCE	(2 * NSEC_PER_SEC)
#define LABEL_PREFIX	"label:"

/* In the order of enum top_inlines. */
static const char *const inline_words[] = { "auto", "always", "never", NULL };

static const struct option opts[] = {
	OPT_HEAD("Target"),
	OPT_IDS('p', "pid", struct top_args, pids, "PID", "watch these processes, comma-separated"),
	OPT_IDS('t', "tid", struct top_args, tids, "TID", "watch these threads"),
	OPT_FLAG('a', "all", struct top_args, all, "watch the whole machine"),
	OPT_CPUS('C', "cpu", struct top_args, cpus, "CPUS", "watch these CPUs: 0-3,7"),
	OPT_HEAD("Events"),
	OPT_STR('e', "event", struct top_args, event, "EVENT",
		"sample this event (default cpu-clock)"),
	OPT_RATE('F', "freq", struct top_args, freq, "HZ", "samples per second (default 99)", 1,
		 100000),
	OPT_CHOICE('g', "stacks", struct top_args, stacks, coati_record_stacks, "MODE",
		   "call stacks: auto, none, bpf, table, fp, dwarf or lbr"),
	OPT_FLAG(0, "off-cpu", struct top_args, off_cpu,
		 "also record where threads wait; key o switches"),
	OPT_CHOICE(0, "inline", struct top_args, inlines, inline_words, "WHEN",
		   "show inlined functions: auto (with --once), always or never"),
	OPT_HEAD("View"),
	OPT_STR(0, "by", struct top_args, by_text, "WHAT",
		"rows: function, image, thread, process, service, label[:KEY], task, wait"),
	OPT_STR(0, "filter", struct top_args, filter, "TEXT", "show rows that contain TEXT"),
	OPT_DURATION(0, "interval", struct top_args, interval_ns, "TIME",
		     "time between two screens (default 1s)", 100 * NSEC_PER_MSEC, HOUR_NS),
	OPT_DURATION(0, "window", struct top_args, window_ns, "TIME",
		     "rows add up the last TIME (default 10s)", NSEC_PER_SEC, HOUR_NS),
	OPT_DURATION(0, "history", struct top_args, history_ns, "TIME",
		     "keep the last TIME for rewind (default 10m)", NSEC_PER_SEC, HOUR_NS),
	OPT_SIZE(0, "memory", struct top_args, memory, "SIZE",
		 "keep at most SIZE of history (default 64M)", MIB / 4, UINT64_C(1) << 40),
	OPT_CHOICE(0, "color", struct top_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_HEAD("Output"),
	OPT_STR(0, "store", struct top_args, store, "DIR",
		"print one table of what agents stored in DIR, or in clickhouse://HOST/DB"),
	OPT_STR(0, "from", struct top_args, range.from, "TIME",
		"with --store: start at this time of day: 14:05 (default -10m)"),
	OPT_STR(0, "to", struct top_args, range.to, "TIME",
		"with --store: up to this time (default now)"),
	OPT_STR(0, "service", struct top_args, service, "NAME",
		"with --store clickhouse://: this service (* and ? match)"),
	OPT_STRICT(struct top_args),
	OPT_FLAG(0, "once", struct top_args, once,
		 "sample for the given duration, print one table and exit"),
	OPT_FLAG(0, "json", struct top_args, json, "with --once: print JSON"),
	OPT_U32(0, "limit", struct top_args, limit, "N",
		"with --once: print at most N rows (default 20; JSON: all)", 1, 1000000),
	OPT_DURATION('d', "duration", struct top_args, duration_ns, "TIME",
		     "stop after TIME (default with --once: 2s)", NSEC_PER_MSEC, HOUR_NS),
	OPT_STR('o', "output", struct top_args, out, "FILE",
		"file for key w and --once (default coati.data)"),
	OPT_FLAG('q', "quiet", struct top_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati top -p 1234", "watch a process" },
	{ "coati top -a --by service", "watch the machine, by service" },
	{ "coati top --once --json -a", "two seconds of the machine, for a script" },
	{ NULL, NULL },
};

/* ---- words ---- */

static int parse_by(struct top_args *a)
{
	size_t prefix = strlen(LABEL_PREFIX);

	if (!a->by_text)
		return 0;
	if (!strncmp(a->by_text, LABEL_PREFIX, prefix) && a->by_text[prefix]) {
		a->by = TOP_BY_LABEL;
		a->label = a->by_text + prefix;
		return 0;
	}
	if (!strcmp(a->by_text, "region")) {
		a->by = TOP_BY_LABEL;
		a->label = a->by_text;
		return 0;
	}
	if (!strcmp(a->by_text, "cgroup")) {
		a->by = TOP_BY_LABEL;
		a->label = a->by_text;
		return 0;
	}
	for (int i = 0; i < TOP_BY_COUNT; i++) {
		if (!strcmp(a->by_text, coati_top_by_name(i))) {
			a->by = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* What the table cannot know. NULL when all is well. */
static const char *find_conflict(const struct top_args *a)
{
	bool tasks = a->pids.len || a->tids.len, system = a->all || a->cpus;

	if (tasks && system)
		return "--pid and --tid cannot be combined with --all and --cpu";
	if (!a->store && (a->range.from || a->range.to))
		return "--from and --to need --store";
	if (!a->store && a->strict)
		return "--strict needs --store";
	if (a->service && (!a->store || !coati_place_is(a->store)))
		return "--service needs --store clickhouse://HOST/DATABASE; for a directory use "
		       "--by service --filter NAME";
	if (a->store && (tasks || system || a->command))
		return "--store shows stored samples and cannot be combined with a command, --pid, "
		       "--tid, --all or --cpu";
	if (!tasks && !system && !a->command && !a->store)
		return "nothing to watch: give a command, --pid, --tid, --all or --cpu";
	if (a->json && !a->once)
		return "--json needs --once";
	if (a->limit && !a->once)
		return "--limit needs --once";
	if (a->once && a->by == TOP_BY_LABEL && !a->label)
		return "--by label needs a key with --once, as in --by label:endpoint";
	if (a->by == TOP_BY_WAIT && !a->off_cpu)
		return "--by wait needs --off-cpu";
	return NULL;
}

static void set_defaults(struct top_args *a)
{
	a->memory = a->memory ? a->memory : DEFAULT_MEMORY;
	a->history_ns = a->history_ns ? a->history_ns : DEFAULT_HISTORY;
	a->window_ns = a->window_ns ? a->window_ns : DEFAULT_WINDOW;
	a->interval_ns = a->interval_ns ? a->interval_ns : NSEC_PER_SEC;
	if (a->store && !a->range.from && !a->range.to)
		a->range.from = "-10m";
	if (a->once) {
		a->duration_ns = a->duration_ns ? a->duration_ns : DEFAULT_ONCE;
		a->history_ns = HOUR_NS;
	}
}

static int run_session(const struct top_args *a)
{
	struct top_session s;
	int ret;

	coati_talk_quietly(a->quiet);
	ret = a->store ? coati_top_stored(&s, a) : coati_top_open(&s, a);
	if (ret < 0)
		ret = a->once ? coati_top_once(&s) : coati_top_screen(&s);
	coati_top_close(&s);
	return ret;
}

static int run(int argc, char **argv)
{
	struct option_line line = { .argc = argc, .argv = argv };
	struct top_args args = { .pids = { .max = 65536 }, .tids = { .max = 65536 } };
	const char *conflict;
	int ret;

	if (coati_command_parse(&coati_command_top, &line, &args, &ret)) {
		args.once |= args.store != NULL;
		line.argv[line.argc] = NULL;
		args.command = line.argc ? line.argv : NULL;
		if (parse_by(&args) < 0)
			ret = coati_command_misuse(
				&coati_command_top,
				"--by %s: use function, image, thread, process, service, "
				"label[:KEY], task or wait",
				args.by_text);
		else if ((conflict = find_conflict(&args)))
			ret = coati_command_misuse(&coati_command_top, "%s", conflict);
		else {
			set_defaults(&args);
			ret = run_session(&args);
		}
	}
	coati_options_fini(opts, &args);
	return ret;
}

const struct coati_command coati_command_top = {
	.name = "top",
	.summary = "watch where the time goes, live in the terminal",
	.usage = "[options] [--] [COMMAND [ARGUMENT...]]",
	.options = opts,
	.examples = examples,
	.flags = COMMAND_RUNS_CHILD,
	.run = run,
};
