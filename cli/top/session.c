/* SPDX-License-Identifier: MIT */
/* see session.h */
#include "cli/top/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/session.h"
#include "cli/command.h"
#include "cli/program.h"
#include "cli/record/pack.h"
#include "cli/record/signals.h"
#include "cli/rights.h"
#include "cli/talk.h"
#include "event/child.h"
#include "recording/writer.h"

#define GRACE_NS (2 * NSEC_PER_SEC)
#define OWN_NS	 NSEC_PER_SEC

static int own_exit(const struct top_session *s)
{
	return s->args->command ? EXIT_OWN : EXIT_FAILED;
}

static int own_trouble(struct top_session *s)
{
	coati_say("%s", s->err.text);
	return own_exit(s);
}

/* ---- before ---- */

/* While the screen is shown, nothing else may write to the terminal. */
static int start_child(struct top_session *s)
{
	struct coati_child_opts o = { .size = sizeof(o), .flags = COATI_CHILD_DIES_WITH_US };
	CLEANUP(fd_closep) int null = -1;

	s->status.size = sizeof(s->status);
	if (!s->args->command)
		return 0;
	coati_warn_rights(s->args->command[0]);
	if (!s->args->once) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0)
			return coati_fail(&s->err, -errno, "/dev/null: %m");
		o.stdin_fd = o.stdout_fd = o.stderr_fd = null;
	} else {
		o.stdout_fd = STDERR_FILENO; /* stdout is for the answer */
	}
	return coati_child_start((const char *const *)s->args->command, &o, &s->child, &s->err);
}

static int open_events(struct top_session *s)
{
	const char *event = s->args->event ? s->args->event : "cpu-clock";
	int r = coati_event_list_new(NULL, &s->list, &s->err);

	return r < 0 ? r : coati_event_list_add(s->list, event, &s->err);
}

static int open_capture(struct top_session *s, int (*before_end)(void *, struct coati_writer *))
{
	const struct top_args *a = s->args;
	int32_t pid = s->child ? coati_child_pid(s->child) : 0;
	int r;
	struct coati_capture_opts o = {
		.size = sizeof(o),
		.flags = COATI_CAPTURE_USER_OK | COATI_CAPTURE_LIVE | COATI_CAPTURE_HOLD |
			 COATI_CAPTURE_CGROUPS | COATI_CAPTURE_NO_IDLE |
			 (a->once ? 0 : COATI_CAPTURE_PARTS) |
			 (a->off_cpu ? COATI_CAPTURE_OFF_CPU : 0),
		.pids = a->pids.v,
		.nr_pids = a->pids.len,
		.tids = a->tids.v,
		.nr_tids = a->tids.len,
		.cpus = a->cpus,
		.freq_hz = top_rate(a),
		.stacks = (enum coati_stacks)a->stacks,
	};

	if (top_takes_command(a)) {
		o.flags |= COATI_CAPTURE_ON_EXEC;
		o.pids = &pid;
		o.nr_pids = 1;
	}
	r = coati_capture_open(s->list, &o, &s->cap, &s->err);
	if (r == 0)
		coati_capture_before_end(s->cap, before_end, s);
	return r;
}

/* Live events that are left, before the recording ends. */
static int before_end(void *ctx, struct coati_writer *w)
{
	struct top_session *s = ctx;
	int r = s->args->once || s->has_ended ? coati_record_live_end(&s->live, w) : 0;

	return r == 0 && s->args->once && s->args->out ? coati_record_pack(&s->cap, w) : r;
}

static int refuse_events(struct top_session *s)
{
	return s->args->event && coati_say_no_event(s->args->event, &s->err) ? EXIT_USAGE
									     : own_trouble(s);
}

int coati_top_open(struct top_session *s, const struct top_args *args)
{
	uint64_t half = args->memory / 2;
	/* debug data of everything that runs is much to read for a screen */
	bool plain = args->inlines == TOP_INLINES_NEVER ||
		     (args->inlines == TOP_INLINES_AUTO && !args->once);

	*s = (struct top_session){ .args = args, .live.lock_fd = -1 };
	if (coati_top_model_init(&s->model, half, (uint32_t)(args->history_ns / NSEC_PER_SEC)) <
		    0 ||
	    coati_top_feed_init(&s->feed, &s->model, plain, &s->err) < 0) {
		coati_fail(&s->err, -ENOMEM, "out of memory");
		return own_trouble(s);
	}
	coati_top_spool_init(&s->spool, half);
	if (open_events(s) < 0)
		return refuse_events(s);
	s->live.pids = args->pids.v;
	s->live.nr_pids = args->pids.len;
	coati_record_live_open(&s->live);
	if (start_child(s) < 0 || open_capture(s, before_end) < 0)
		return own_trouble(s);
	return -1;
}

/* ---- starting ---- */

static int begin_part(struct top_session *s)
{
	const struct coati_follow_opts o = {
		.begin_ns = now_ns(), .whole = !s->args->tids.len && (s->args->pids.len || s->child)
	};
	int fd = -1, r;

	/* what the part before has left goes into the model first */
	r = coati_top_spool_end(&s->spool, s->cap, &s->err);
	if (r == 0)
		r = coati_top_feed_end(&s->feed);
	if (r == 0)
		r = coati_top_spool_begin(&s->spool, s->cap, &fd, &s->err);
	return r < 0 ? r
		     : coati_top_feed_begin(&s->feed, fd, coati_capture_images(s->cap), &o,
					    &s->err);
}

/* The exit code, or -1. */
int coati_top_set_going(struct top_session *s)
{
	int r = 0;

	s->start_ns = s->cpu_at_ns = s->feed.from_ns = now_ns();
	s->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (!top_takes_command(s->args))
		r = coati_capture_start(s->cap, &s->err);
	return r < 0 ? own_trouble(s) : coati_program_release(s->child);
}

int coati_top_start(struct top_session *s)
{
	int r;

	coati_record_signals_catch();
	coati_record_signals_wake(s->cap);
	/* the rings are not read before there is a part; a command must not wait for that */
	r = s->child ? coati_top_set_going(s) : -1;
	if (r < 0 && begin_part(s) < 0)
		return own_trouble(s);
	return r < 0 && !s->child ? coati_top_set_going(s) : r;
}

/* ---- meanwhile ---- */

static void look_after_child(struct top_session *s)
{
	if (s->child && !s->has_status && coati_record_take_child() &&
	    coati_child_wait(s->child, 0, &s->status, NULL) == 0)
		s->has_status = true;
	if (s->has_status && top_takes_command(s->args))
		s->has_ended = true;
}

static void look_at_myself(struct top_session *s)
{
	uint64_t now = now_ns(), cpu;

	if (now - s->cpu_at_ns < OWN_NS)
		return;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	s->own_share = (double)(cpu - s->cpu_ns) / (double)(now - s->cpu_at_ns);
	s->cpu_ns = cpu;
	s->cpu_at_ns = now;
}

static int keep_small(struct top_session *s)
{
	uint64_t now = now_ns();
	int r = 0;

	if (!s->has_ended && coati_top_spool_is_due(&s->spool, now))
		r = begin_part(s);
	coati_top_spool_trim(&s->spool);
	if (coati_top_model_trim(&s->model, now))
		coati_top_feed_forget(&s->feed);
	return r;
}

/* When there is nothing left to watch, the screen stays as it is. */
static void sleep_until(uint64_t deadline_ns)
{
	uint64_t now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / NSEC_PER_SEC),
			       .tv_nsec = (long)(left % NSEC_PER_SEC) };

	nanosleep(&ts, NULL);
}

bool coati_top_wait(struct top_session *s, uint64_t deadline_ns)
{
	int r;

	look_at_myself(s);
	if (s->has_ended) {
		sleep_until(deadline_ns);
		return true;
	}
	coati_capture_set_deadline(s->cap, (int64_t)deadline_ns);
	r = coati_capture_wait(s->cap);
	s->has_ended |= r == 0;
	r = r == 1 || r == -ETIMEDOUT || r == -EINTR ? 0 : r;
	if (r == 0)
		r = coati_record_live_round(&s->live, s->cap);
	look_after_child(s);
	if (r == 0)
		r = coati_top_feed_take(&s->feed);
	if (r == 0 && s->has_ended) {
		r = coati_top_spool_end(&s->spool, s->cap, &s->err);
		r = r < 0 ? r : coati_top_feed_finish(&s->feed);
	}
	if (r == 0)
		r = keep_small(s);
	s->stats.size = sizeof(s->stats);
	coati_capture_get_stats(s->cap, &s->stats);
	if (r < 0 && !s->err.code)
		coati_fail(&s->err, r, "sampling stopped: %m");
	return r >= 0;
}

uint64_t coati_top_bytes(const struct top_session *s)
{
	return coati_top_model_bytes(&s->model) + coati_top_spool_bytes(&s->spool);
}

/* ---- the end ---- */

/* A command that still runs is asked to end, and killed when it does not. */
static void end_child(struct top_session *s)
{
	uint64_t deadline = now_ns() + GRACE_NS;
	int r;

	if (!s->child || s->has_status || !s->start_ns)
		return;
	coati_child_kill(s->child, SIGTERM);
	coati_child_kill(s->child, SIGCONT);
	do {
		r = coati_child_wait(s->child, (int64_t)deadline, &s->status, NULL);
		if (r == -ETIMEDOUT) {
			coati_child_kill(s->child, SIGKILL);
			deadline = UINT64_MAX >> 1;
		}
	} while (r == -EINTR || r == -ETIMEDOUT);
}

void coati_top_close(struct top_session *s)
{
	coati_record_signals_wake(NULL);
	coati_top_feed_fini(&s->feed);
	coati_capture_close(&s->cap);
	end_child(s);
	coati_child_free(&s->child);
	coati_record_live_close(&s->live);
	coati_top_spool_fini(&s->spool);
	coati_top_model_fini(&s->model);
	coati_event_list_free(s->list);
}

/* A command that we ended is no failure of it. */
int coati_top_exit(const struct top_session *s)
{
	return s->has_status ? coati_child_exit_code(&s->status) : EXIT_DONE;
}
