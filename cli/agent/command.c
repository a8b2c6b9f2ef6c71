/* SPDX-License-Identifier: MIT */
/* coati agent: sample the whole machine, always. Here: its options and what they exclude. */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coati/capture.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "cli/agent/args.h"
#include "cli/agent/session.h"
#include "cli/record/args.h"
#include "cli/record/output.h"
#include "cli/talk.h"

#define MIB	    (UINT64_C(1) << 20)
#define HOUR_NS	    (3600 * NSEC_PER_SEC)
#define DAY_NS	    (24 * HOUR_NS)
#define WORDS_MAX   4096
#define BUDGET	    0.01
#define MEMORY	    (64 * MIB)
#define CONFIG_NAME "COATI_AGENT_CONFIG"

const struct option coati_agent_options[] = {
	OPT_HEAD("Output"),
	OPT_STR(0, "store", struct agent_args, store, "DIR",
		"write recordings into the directory DIR"),
	OPT_DURATION(0, "segment", struct agent_args, segment_ns, "TIME",
		     "start a new recording every TIME (default 10m)", 100 * NSEC_PER_MSEC, DAY_NS),
	OPT_DURATION(0, "keep-age", struct agent_args, keep_age_ns, "TIME",
		     "remove recordings older than TIME (default 168h)", NSEC_PER_SEC,
		     3650 * DAY_NS),
	OPT_SIZE(0, "keep-bytes", struct agent_args, keep_bytes, "SIZE",
		 "remove the oldest recordings above SIZE in total (default 2G)", MIB / 4,
		 UINT64_C(1) << 50),
	OPT_FLAG(0, "print", struct agent_args, print, "print each window as a line of JSON"),
	OPT_HEAD("Servers"),
	OPT_STR(0, "clickhouse", struct agent_args, clickhouse, "URL",
		"send windows to http://HOST:8123/DATABASE, or by relay://HOST:9124"),
	OPT_STR(0, "otlp", struct agent_args, otlp, "URL", "send OTLP profiles: http://HOST:4318"),
	OPT_STR(0, "push", struct agent_args, push, "URL",
		"send pprof to Pyroscope: http://HOST:4040"),
	OPT_STR(0, "secrets", struct agent_args, secrets, "FILE",
		"users, passwords, tokens and certificates of the servers"),
	OPT_DURATION(0, "send-every", struct agent_args, send_ns, "TIME",
		     "send about every TIME (default 60s)", NSEC_PER_SEC, HOUR_NS),
	OPT_STR(0, "spool", struct agent_args, spool, "DIR",
		"spool directory for ClickHouse (default /var/lib/coati/spool)"),
	OPT_SIZE(0, "spool-bytes", struct agent_args, spool_bytes, "SIZE",
		 "spool size limit; drops the oldest windows (default 256M)", MIB / 4,
		 UINT64_C(1) << 50),
	OPT_U32(0, "max-contexts", struct agent_args, max_contexts, "N",
		"process, thread and label combinations per window (default 1000)", 1, 1000000),
	OPT_STR(0, "metrics", struct agent_args, metrics, "ADDRESS",
		"serve /metrics for Prometheus: localhost:9123 or unix:PATH"),
	OPT_FLAG(0, "metrics-anywhere", struct agent_args, metrics_anywhere,
		 "let other machines read /metrics"),
	OPT_HEAD("Instead of sampling"),
	OPT_STR(0, "relay", struct agent_args, relay, "ADDRESS",
		"insert windows of other agents into --clickhouse: localhost:9124"),
	OPT_FLAG(0, "init-schema", struct agent_args, init_schema,
		 "create the tables of --clickhouse, or bring them up to date"),
	OPT_FLAG(0, "print-schema", struct agent_args, print_schema,
		 "print the SQL statements that create the tables"),
	OPT_STR(0, "cluster", struct agent_args, cluster, "NAME",
		"create tables on all servers of this cluster, and Distributed ones"),
	OPT_FLAG(0, "replicated", struct agent_args, replicated,
		 "with --cluster: ReplicatedMergeTree"),
	OPT_FLAG(0, "roll-up", struct agent_args, roll_up,
		 "sum up past days by hour, and drop days older than --retention"),
	OPT_U32(0, "retention", struct agent_args, retention_days, "DAYS",
		"keep rows for DAYS (default: forever)", 1, 36500),
	OPT_HEAD("Events"),
	OPT_STR('e', "event", struct agent_args, event, "EVENT",
		"sample this event (default cpu-clock)"),
	OPT_RATE('F', "freq", struct agent_args, freq, "HZ",
		 "samples per second and CPU (default 19)", 1, 10000),
	OPT_CHOICE('g', "stacks", struct agent_args, stacks, coati_record_stacks, "MODE",
		   "call stacks: auto, none, fp, table, dwarf, lbr or bpf"),
	OPT_U32(0, "max-stack", struct agent_args, max_stack, "N",
		"maximum number of frames per stack", 1, 1024),
	OPT_FLAG(0, "off-cpu", struct agent_args, off_cpu, "also record where threads wait"),
	OPT_CPUS('C', "cpu", struct agent_args, cpus, "CPUS", "sample only these CPUs: 0-3,7"),
	OPT_FLAG(0, "no-live", struct agent_args, no_live,
		 "do not read tasks and labels of programs that link libcoati-live"),
	OPT_FLAG(0, "inline", struct agent_args, inlines,
		 "windows: show inlined functions as frames (needs more memory)"),
	OPT_FLAG(0, "lines", struct agent_args, lines,
		 "store source lines and inlined functions (needs more memory)"),
	OPT_DURATION(0, "window", struct agent_args, window_ns, "TIME",
		     "add up samples in windows of TIME (default 10s)", 100 * NSEC_PER_MSEC,
		     HOUR_NS),
	OPT_DURATION('d', "duration", struct agent_args, duration_ns, "TIME", "stop after TIME",
		     NSEC_PER_MSEC, 3650 * DAY_NS),
	OPT_HEAD("Names"),
	OPT_TEXTS(0, "label", struct agent_args, labels, 0, "KEY=VALUE",
		  "label of this machine, such as region=eu; repeatable"),
	OPT_TEXTS(0, "rename", struct agent_args, rules, AGENT_RENAME, "'PATTERN NAME'",
		  "rename matching services or cgroups to NAME; repeatable"),
	OPT_TEXTS(0, "drop", struct agent_args, rules, AGENT_DROP, "PATTERN",
		  "leave out matching services or cgroups; repeatable"),
	OPT_STR(0, "config", struct agent_args, config, "FILE", "read options from FILE"),
	OPT_HEAD("Traces of slow moments"),
	OPT_TEXTS(0, "when", struct agent_args, when, 0, "CONDITION",
		  "save a trace when the condition holds: 'cpu > 90%'; repeatable"),
	OPT_TEXTS(0, "slow-task", struct agent_args, slow, 0, "'TYPE > TIME'",
		  "save the flight recorder of a slower task; repeatable"),
	OPT_DURATION(0, "keep", struct agent_args, keep_ns, "TIME",
		     "length of a saved trace, two thirds before the moment (default 30s)",
		     NSEC_PER_SEC, 600 * NSEC_PER_SEC),
	OPT_U32(0, "per-hour", struct agent_args, per_hour, "N",
		"maximum number of saved traces per hour (default 6)", 1, 60),
	OPT_HEAD("Limits"),
	OPT_STR(0, "budget", struct agent_args, budget_text, "PERCENT",
		"CPU time limit of the agent, in percent of all CPUs (default 1%)"),
	OPT_SIZE(0, "memory", struct agent_args, memory, "SIZE",
		 "memory limit of the agent (default 64M)", 8 * MIB, UINT64_C(1) << 40),
	OPT_FLAG('q', "quiet", struct agent_args, quiet, "no messages on stderr except errors"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati agent --store /var/lib/coati", "sample the machine into a directory" },
	{ "coati report /var/lib/coati --from -2h --to -1h50m --by service",
	  "what ran two hours ago" },
	{ "coati agent --print --window 1s -d 10s", "ten windows of a second, for a script" },
	{ NULL, NULL },
};

/* ---- what the table cannot know ---- */

/* Labels are cut into key and value in place: they are copies. */
static const char *cut_labels(struct agent_args *a)
{
	for (size_t i = 0; i < a->labels.len; i++) {
		char *text = (char *)(uintptr_t)a->labels.v[i].text;
		char *equals = strchr(text, '=');

		if (!equals || equals == text || strpbrk(text, "\n\r"))
			return "--label wants KEY=VALUE, as in --label region=eu";
		*equals = '\0';
	}
	return NULL;
}

static const char *check(struct agent_args *a)
{
	const char *wrong = coati_agent_fleet_check(a);
	double percent;

	wrong = wrong ? wrong : coati_agent_relay_check(a);
	if (wrong)
		return wrong;
	if (!a->store && !a->print && !a->clickhouse && !a->otlp && !a->push && !a->metrics)
		return "no destination for the samples: give --store DIR, --clickhouse URL, --otlp "
		       "URL, --push URL or --print";
	if (a->when.len && !a->store)
		return "--when saves recordings in a directory: give --store DIR";
	if (a->slow.len && (!a->store || a->no_live))
		return "--slow-task reads live events and saves snapshots in a directory: give "
		       "--store DIR, and leave out --no-live";
	if (!a->when.len && (a->keep_ns || (a->per_hour && !a->slow.len)))
		return "--keep needs --when, and --per-hour needs --when or --slow-task";
	if (a->budget_text) {
		if (coati_parse_percent(a->budget_text, 0.001, 100, &percent) < 0)
			return "--budget wants a percentage of all CPUs, as in 1% or 0.3%";
		a->budget = percent / 100;
	}
	return cut_labels(a);
}

static void set_defaults(struct agent_args *a)
{
	a->budget = a->budget > 0 ? a->budget : BUDGET;
	/* a relay has its own default */
	a->memory = a->memory || a->relay ? a->memory : MEMORY;
	a->window_ns = a->window_ns ? a->window_ns : 10 * NSEC_PER_SEC;
	a->keep_ns = a->keep_ns ? a->keep_ns : 30 * NSEC_PER_SEC;
	a->per_hour = a->per_hour ? a->per_hour : 6;
	a->segment_ns = a->segment_ns ? a->segment_ns : 600 * NSEC_PER_SEC;
	a->keep_age_ns = a->keep_age_ns ? a->keep_age_ns : 7 * DAY_NS;
	a->keep_bytes = a->keep_bytes ? a->keep_bytes : UINT64_C(2) << 30;
}

/* ---- words of three places ---- */

/* The file is named on the command line or in the environment. */
static const char *find_config(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "--config=", 9))
			return argv[i] + 9;
		if (!strcmp(argv[i], "--config") && i + 1 < argc)
			return argv[i + 1];
	}
	return getenv(CONFIG_NAME);
}

static int collect(struct agent_words *w, int argc, char **argv, struct coati_error *err)
{
	const char *config = find_config(argc, argv);
	int r = config && *config ? coati_agent_words_file(w, config, err) : 0;

	if (r == 0)
		r = coati_agent_words_environment(w, err);
	for (int i = 0; r == 0 && i < argc; i++)
		if (coati_agent_words_add(w, argv[i]) < 0)
			r = coati_fail(err, -ENOMEM, "out of memory");
	return r;
}

static int run_with(const struct agent_args *a, bool *ret_reload)
{
	if (coati_agent_fleet_wanted(a))
		return coati_agent_fleet_run(a);
	return a->relay ? coati_agent_relay_run(a, ret_reload) : coati_agent_run(a, ret_reload);
}

/* With the words as they are now: files and variables may have changed since the last time. */
static int run_once(int argc, char **argv, bool *ret_reload)
{
	struct agent_words words = { .max = WORDS_MAX };
	struct agent_args args = { .labels = { .max = 256 },
				   .rules = { .max = 1024 },
				   .when = { .max = 16 },
				   .slow = { .max = 16 } };
	struct coati_error err = { 0 };
	CLEANUP(freep) char **moved = NULL;
	struct option_line line;
	const char *wrong;
	int ret;

	*ret_reload = false;
	coati_talk_as(coati_command_agent.name);
	if (collect(&words, argc, argv, &err) < 0) {
		ret = coati_command_misuse(&coati_command_agent, "%s", err.text);
		coati_agent_words_fini(&words);
		return ret;
	}
	/* the parser moves operands: it gets a list of its own */
	moved = coati_alloc_array(words.len + 1, sizeof(*moved));
	if (!moved) {
		coati_say("out of memory");
		coati_agent_words_fini(&words);
		return EXIT_FAILED;
	}
	if (words.len)
		memcpy(moved, words.v, words.len * sizeof(*moved));
	line = (struct option_line){ .argc = (int)words.len, .argv = moved };
	if (coati_command_parse(&coati_command_agent, &line, &args, &ret)) {
		wrong = line.argc ? "unexpected argument: agent takes only options" : check(&args);
		if (wrong) {
			ret = coati_command_misuse(&coati_command_agent, "%s", wrong);
		} else {
			set_defaults(&args);
			coati_talk_quietly(args.quiet);
			ret = run_with(&args, ret_reload);
		}
	}
	coati_options_fini(coati_agent_options, &args);
	coati_agent_words_fini(&words);
	return ret;
}

static int run(int argc, char **argv)
{
	bool again;
	int ret;

	do
		ret = run_once(argc, argv, &again);
	while (ret == EXIT_DONE && again);
	return ret;
}

const struct coati_command coati_command_agent = {
	.name = "agent",
	.summary = "sample the whole machine continuously into a directory or database",
	.usage = "[options]",
	.options = coati_agent_options,
	.examples = examples,
	.run = run,
};
