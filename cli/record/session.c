/* SPDX-License-Identifier: MIT */
/*
 * The course of a recording: hold the command, open the events, let it go, write what comes until
 * something ends it, close the file, look after the command. Whatever goes wrong, what was written
 * so far stays readable.
 */
#include "cli/record/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/capture.h>
#include <coati/child.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "capture/session.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/record/announce.h"
#include "cli/record/events.h"
#include "cli/record/live.h"
#include "cli/record/output.h"
#include "cli/record/pack.h"
#include "cli/record/priority.h"
#include "cli/record/signals.h"
#include "cli/rights.h"
#include "cli/talk.h"
#include "event/child.h"
#include "recording/writer.h"

/* A command that still runs when the duration is over gets SIGTERM, and is killed after this
 * time. */
#define GRACE_NS	   (5 * NSEC_PER_SEC)
#define SLICE_NS	   (100 * NSEC_PER_MSEC)
#define NEVER		   UINT64_MAX
#define DEFAULT_ZSTD_LEVEL 1
#define PIECES		   32

struct session {
	const struct record_args *args;
	struct coati_event_list *list, *when;
	uint64_t when_count;
	bool by_default; /* the events are our choice */
	struct coati_capture *cap;
	struct coati_capture_stats stats;
	struct coati_label_counts labels;
	struct record_output out;
	struct record_live live;
	struct coati_child *child;
	struct coati_child_status status;
	bool has_status;
	bool warned;			  /* stacks are cut, and it was said */
	bool warned_lost;		  /* records are lost, likewise */
	bool told;			  /* the command was asked to end */
	int failed;			  /* the recording went wrong, and it was said */
	uint64_t switch_ns, switch_bytes; /* a new file after so much, 0: not for that reason */
	bool switch_signal;
	uint64_t start_ns;
	uint64_t begin_at, end_at, switch_at; /* NEVER: not planned */
	struct coati_error err;
};

/* ---- the words ---- */

const char **coati_record_words(int argc, char **argv)
{
	const char **words = coati_alloc_array((size_t)argc + 3, sizeof(*words));

	if (!words)
		return NULL;
	words[0] = "coati";
	words[1] = "record";
	for (int i = 0; i < argc; i++)
		words[i + 2] = argv[i];
	return words;
}

void coati_record_words_free(const char **words)
{
	coati_free((void *)(uintptr_t)words);
}

/* "signal", a size (100M, 512KiB), or a duration (30s, 5m, 1h): what ends in s, m or h is one. */
static int parse_switch(struct session *s)
{
	const char *text = s->args->switch_on;
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return 0;
	s->switch_signal = true;
	if (!strcmp(text, "signal"))
		return 0;
	if (len && strchr("smh", text[len - 1]))
		return coati_parse_duration(text, 100 * NSEC_PER_MSEC, INT64_MAX, &s->switch_ns);
	if (len && text[len - 1] >= '0' && text[len - 1] <= '9')
		return -EINVAL;
	return coati_parse_size(text, 64 * 1024, INT64_MAX, &s->switch_bytes);
}

/* ---- trouble ---- */

static int own_exit(const struct session *s)
{
	return s->args->command ? EXIT_OWN : EXIT_FAILED;
}

static int own_trouble(struct session *s)
{
	coati_say("%s", s->err.text);
	return own_exit(s);
}

/* What -EFBIG is about. */
static const char *size_limit(const struct session *s)
{
	return s->args->max_bytes ? "--max-size" : "the limit of file sizes (ulimit -f)";
}

/* The recording cannot go on. The command, if any, can. */
static void stop_writing(struct session *s, int code)
{
	uint64_t bytes;

	s->stats.size = sizeof(s->stats);
	coati_capture_get_stats(s->cap, &s->stats);
	bytes = s->stats.bytes;
	if (code == -EFBIG) {
		coati_note("%s has reached %s; recording stopped%s", s->out.name, size_limit(s),
			   s->child ? ", the command continues" : "");
		return;
	}
	s->failed = code;
	coati_fail(&s->err, code,
		   "cannot write %s: %m after %llu bytes; the file is kept and can be read%s",
		   s->out.name, (unsigned long long)bytes,
		   s->child ? "; the command continues" : "");
	coati_say("%s", s->err.text);
}

/* ---- before ---- */

static int start_child(struct session *s)
{
	struct coati_child_opts o = { .size = sizeof(o), .flags = COATI_CHILD_DIES_WITH_US };

	if (!s->args->command)
		return 0;
	if (s->out.pipe && !strcmp(s->args->out, "-"))
		o.stdout_fd = STDERR_FILENO; /* stdout is the recording's */
	coati_warn_rights(s->args->command[0]);
	return coati_child_start((const char *const *)s->args->command, &o, &s->child, &s->err);
}

/* Files with a limit are written in smaller pieces, so that they end near it. */
static uint64_t wakeup_bytes(const struct session *s)
{
	uint64_t limit = s->args->max_bytes ? s->args->max_bytes : s->switch_bytes;

	return limit / PIECES;
}

/* A stream cannot be read again to see which names it needs; and between two files the rings would
 * not be read meanwhile. */
static bool packs(const struct session *s)
{
	return !s->args->no_pack && !s->out.pipe && !s->args->switch_on;
}

/* The last chance to add something: live events that are left, and names. */
static int before_end(void *ctx, struct coati_writer *w)
{
	struct session *s = ctx;
	int r = coati_record_live_end(&s->live, w);

	if (r != 0 || !packs(s))
		return r;
	coati_record_priority_restore();
	return coati_record_pack(&s->cap, w);
}

static int open_capture(struct session *s)
{
	const struct record_args *a = s->args;
	int32_t pid = s->child ? coati_child_pid(s->child) : 0;
	struct coati_capture_opts o = {
		.size = sizeof(o),
		.flags = COATI_CAPTURE_USER_OK | (packs(s) ? COATI_CAPTURE_HOLD : 0) |
			 (s->out.pipe ? 0 : COATI_CAPTURE_LIVE | COATI_CAPTURE_LABELS) |
			 /* their live events come, with labels */
			 (a->trace && (a->command || a->pids.len) ? COATI_CAPTURE_LABELS_UNTRACED
								  : 0) |
			 (a->no_inherit ? COATI_CAPTURE_NO_INHERIT : 0) |
			 (a->off_cpu ? COATI_CAPTURE_OFF_CPU : 0) |
			 (a->trace ? COATI_CAPTURE_WAKE_STACKS | COATI_CAPTURE_LIVE : 0) |
			 (a->trace && !a->no_irq ? COATI_CAPTURE_IRQ : 0) |
			 (a->switches ? COATI_CAPTURE_SWITCHES : 0) |
			 (a->namespaces ? COATI_CAPTURE_NAMESPACES : 0) |
			 (a->cgroups ? COATI_CAPTURE_CGROUPS : 0) |
			 (a->data ? COATI_CAPTURE_DATA : 0) |
			 (a->overwrite ? COATI_CAPTURE_OVERWRITE : 0) |
			 (a->switch_on ? COATI_CAPTURE_PARTS : 0) |
			 (a->delay_ns ? COATI_CAPTURE_DELAY : 0),
		.pids = a->pids.v,
		.nr_pids = a->pids.len,
		.tids = a->tids.v,
		.nr_tids = a->tids.len,
		.cpus = a->cpus,
		.cgroup = a->cgroup,
		.freq_hz = a->freq,
		.period = a->period,
		.stacks = (enum coati_stacks)a->stacks,
		.stack_bytes = (uint32_t)a->stack_bytes,
		.max_stack = a->max_stack,
		.verify = a->verify,
		.ring_bytes = a->ring_bytes,
		.wakeup_bytes = wakeup_bytes(s),
		.when = s->when,
		.when_count = s->when_count,
		.program = record_takes_command(a) ? a->command[0] : NULL,
		.argc = a->argc,
		.argv = a->argv,
	};
	int r;

	if (record_takes_command(a)) {
		o.flags |= COATI_CAPTURE_ON_EXEC;
		o.pids = &pid;
		o.nr_pids = 1;
	}
	r = coati_capture_open(s->list, &o, &s->cap, &s->err);
	if (r == 0)
		coati_capture_before_end(s->cap, before_end, s);
	return r;
}

/* Let the command go and the events sample. The exit code, or -1 when all is well. */
static int set_going(struct session *s)
{
	int r = 0;

	s->start_ns = now_ns();
	if (!record_takes_command(s->args) && !s->args->delay_ns)
		r = coati_capture_start(s->cap, &s->err);
	return r < 0 ? own_trouble(s) : coati_program_release(s->child);
}

static int begin_file(struct session *s)
{
	struct coati_writer *w = NULL;
	int r = coati_record_output_next(&s->out, &w, &s->err);

	if (r >= 0)
		r = coati_capture_begin(s->cap, &w, &s->err);
	return r < 0 ? r : coati_record_output_publish(&s->out, &s->err);
}

/* ---- meanwhile ---- */

static void plan(struct session *s, uint64_t now)
{
	const struct record_args *a = s->args;

	s->begin_at = a->delay_ns ? now + a->delay_ns : NEVER;
	s->end_at = a->duration_ns ? now + a->delay_ns + a->duration_ns : NEVER;
	s->switch_at = s->switch_ns ? now + s->switch_ns : NEVER;
}

static int64_t next_deadline(const struct session *s)
{
	uint64_t at = s->begin_at < s->end_at ? s->begin_at : s->end_at;

	at = at < s->switch_at ? at : s->switch_at;
	return at > INT64_MAX ? -1 : (int64_t)at;
}

static int switch_file(struct session *s)
{
	int r = coati_capture_finish(s->cap, &s->err);

	if (r >= 0)
		r = begin_file(s);
	if (s->switch_ns)
		s->switch_at = now_ns() + s->switch_ns;
	return r;
}

/* Whether the command has ended. */
static bool child_ended(struct session *s)
{
	if (!s->child || s->has_status)
		return s->has_status;
	s->status.size = sizeof(s->status);
	if (coati_record_take_child() && coati_child_wait(s->child, 0, &s->status, NULL) == 0)
		s->has_status = true;
	return s->has_status;
}

static bool file_is_full(const struct session *s)
{
	struct coati_capture_stats st = { .size = sizeof(st) };

	if (!s->switch_bytes)
		return false;
	coati_capture_get_stats(s->cap, &st);
	return st.bytes >= s->switch_bytes;
}

/* What the clock and SIGUSR2 have to say: 0, 1 the recording is over, negative: it failed. */
static int attend(struct session *s)
{
	bool asked = coati_record_take_user();
	uint64_t now = now_ns();
	int r = 0;

	if (now >= s->begin_at) {
		s->begin_at = NEVER;
		r = coati_capture_start(s->cap, &s->err);
	}
	if (r == 0 && asked && s->args->overwrite)
		r = coati_capture_snapshot(s->cap, &s->err);
	if (r == 0 && ((asked && s->switch_signal) || now >= s->switch_at || file_is_full(s)))
		r = switch_file(s);
	if (r < 0)
		return r;
	return now >= s->end_at;
}

/* Record until something ends it. */
static void record(struct session *s)
{
	int r;

	plan(s, s->start_ns);
	while (!coati_record_stops() && !child_ended(s)) {
		coati_capture_set_deadline(s->cap, next_deadline(s));
		r = coati_capture_wait(s->cap);
		if (r == 0)
			return;
		if (r == 1 || r == -ETIMEDOUT || r == -EINTR)
			r = coati_record_live_round(&s->live, s->cap);
		if (r == 0 && !s->warned)
			s->warned = coati_record_watch(s->args, s->list, s->cap);
		if (r == 0 && !s->warned_lost)
			s->warned_lost = coati_record_watch_lost(s->args, s->cap);
		if (r == 0)
			r = attend(s);
		if (r < 0)
			stop_writing(s, r);
		if (r != 0)
			return;
	}
}

/* ---- after ---- */

static void close_file(struct session *s)
{
	struct stat st;
	int r = coati_capture_stop(s->cap, &s->err);

	if (r >= 0 || s->failed)
		r = coati_capture_finish(s->cap, &s->err);
	if (r < 0 && r != -EFBIG && !s->failed) {
		s->failed = r;
		coati_say("%s", s->err.text);
	}
	s->stats.size = sizeof(s->stats);
	coati_capture_get_stats(s->cap, &s->stats);
	if (!s->out.pipe && stat(s->out.name, &st) == 0 && S_ISREG(st.st_mode))
		s->stats.bytes = (uint64_t)st.st_size; /* with the sections at its end */
	coati_capture_get_labels(s->cap, &s->labels);
	coati_record_signals_wake(NULL);
	coati_capture_close(&s->cap);
	coati_record_account(s->args, s->list, &s->stats, s->out.name);
	coati_record_account_labels(s->args, &s->labels);
}

/* A command that still runs after we were asked to stop has the signal too; a second request kills
 * it, also one that came while the file was being finished. One that outlives the duration gets
 * SIGTERM, and is killed when it does not end. Waits in slices: a signal that arrives right before
 * a wait does not end it. */
static void end_child(struct session *s)
{
	bool over = now_ns() >= s->end_at;
	uint64_t deadline = over ? now_ns() + GRACE_NS : UINT64_MAX;
	int told = 0, r;

	if (s->has_status || !s->child)
		return;
	if (over) {
		coati_child_kill(s->child, SIGTERM);
		coati_child_kill(s->child, SIGCONT);
	}
	s->status.size = sizeof(s->status);
	do {
		int stops = coati_record_stops();

		if (stops > 1 || now_ns() >= deadline)
			coati_child_kill(s->child, SIGKILL);
		else if (stops > told && !coati_record_stop_from_terminal())
			coati_child_kill(s->child, coati_record_stop_signal());
		/* one that is stopped would never get it, nor that of the terminal */
		if (stops > told)
			coati_child_kill(s->child, SIGCONT);
		told = stops;
		r = coati_child_wait(s->child, (int64_t)(now_ns() + SLICE_NS), &s->status, &s->err);
	} while (r == -EINTR || r == -ETIMEDOUT);
	s->has_status = r == 0;
}

/* ---- the whole ---- */

/* Report how a command failed before the statistics of its recording. */
static int judge(struct session *s)
{
	struct figures f;

	if (s->stats.walks_wrong)
		return EXIT_FAILED;
	coati_record_figures(&s->stats, &f);
	return coati_conditions_judge(&s->args->fail_if, &f);
}

/* Everything that must be so before the command may run. The exit code, or -1. */
static int prepare(struct session *s)
{
	const struct record_args *a = s->args;
	const char *text = NULL;
	int r = coati_record_events(a, &s->list, &text, &s->by_default, &s->err);

	if (r == 0 && a->when) {
		text = a->when;
		r = coati_record_when(a->when, &s->when, &s->when_count, &s->err);
	}
	if (r < 0)
		return coati_say_no_event(text, &s->err) ? EXIT_USAGE : own_trouble(s);
	if (parse_switch(s) < 0) {
		coati_say("--switch-output takes signal, a size with its unit (100M) or a "
			  "duration with its unit (30s)");
		return EXIT_USAGE;
	}
	s->out = (struct record_output){
		.path = a->out,
		.max_bytes = a->max_bytes,
		.zstd_level = a->zstd_level ? (int)a->zstd_level
			      : a->zstd	    ? DEFAULT_ZSTD_LEVEL
					    : 0,
		.many = a->switch_on != NULL,
		.max_files = a->max_files,
	};
	if (a->trace) {
		s->live.pids = a->pids.v;
		s->live.nr_pids = a->pids.len;
		coati_record_live_open(&s->live);
	}
	/* the command has been started by then, and keeps the priority that it was given */
	if (coati_record_output_reserve(&s->out, &s->err) < 0 || start_child(s) < 0 ||
	    coati_record_priority_raise(a->realtime, &s->err) < 0)
		return own_trouble(s);
	/* opening takes a while (loading the stack walker, reading mappings): who asks for an end
	 * meanwhile gets a recording that has one */
	coati_record_signals_catch();
	if (open_capture(s) < 0)
		return own_trouble(s);
	if (s->child && coati_record_stops()) {
		coati_fail(&s->err, -EINTR, "stopped before the command was started");
		return own_trouble(s);
	}
	coati_record_announce(a, s->list, s->cap, s->by_default);
	return -1;
}

static int run_session(struct session *s)
{
	int ret;

	coati_record_signals_expect();
	ret = prepare(s);
	if (ret >= 0)
		return ret;
	coati_record_signals_wake(s->cap);
	/* the rings are not read before the file is begun: without a command, which must not wait,
	 * that comes first */
	ret = s->child ? set_going(s) : -1;
	if (ret >= 0)
		return ret;
	ret = begin_file(s);
	if (ret < 0) {
		if (ret == -EFBIG)
			coati_fail(&s->err, ret,
				   "%s is too small for the description of the running processes",
				   size_limit(s));
		return own_trouble(s);
	}
	ret = s->child ? -1 : set_going(s);
	if (ret >= 0)
		return ret;
	record(s);
	close_file(s);
	end_child(s);
	if (s->failed)
		return own_exit(s);
	ret = s->has_status ? coati_child_exit_code(&s->status) : EXIT_DONE;
	return ret == EXIT_DONE ? judge(s) : ret;
}

int coati_record_session(const struct record_args *args)
{
	struct session s = { .args = args, .out.unnamed = -1 };
	int ret = run_session(&s);

	coati_record_signals_wake(NULL);
	coati_capture_close(&s.cap);
	coati_record_output_fini(&s.out);
	coati_record_live_close(&s.live);
	coati_child_free(&s.child);
	coati_event_list_free(s.when);
	coati_event_list_free(s.list);
	return ret;
}
