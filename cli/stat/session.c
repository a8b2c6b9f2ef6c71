/* SPDX-License-Identifier: MIT */
/* The course of a session: see the header. */
#include "cli/stat/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <coati/child.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/rights.h"
#include "cli/stat/announce.h"
#include "cli/stat/meter.h"
#include "cli/stat/report.h"
#include "cli/stat/spread.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "cli/watch.h"
#include "event/child.h"

/* A command that still runs when the duration is over gets SIGTERM, and is killed after this
 * time. */
#define GRACE_NS (5 * NSEC_PER_SEC)

struct session {
	const struct stat_args *args;
	struct stat_meter meter;
	struct output out;
	stat_write_fn write;
	struct coati_child *child;
	struct coati_child_status status;
	bool has_status;
	bool aborted; /* asked to stop a second time */
	int stops;    /* requests to stop that were dealt with */
	struct watch watch;
	uint64_t start_ns; /* when counting began */
	uint64_t last_ns;  /* when the last interval ended */
	struct stat_tally tally;
	struct stat_spread spread;
	uint32_t run, interval;
	struct coati_error err;
};

/* Our own trouble: what `err` says, and the code that a caller can tell from those of the
 * command. */
static int own_trouble(struct session *s)
{
	coati_say("%s", s->err.text);
	return s->args->command ? EXIT_OWN : EXIT_FAILED;
}

/* ---- reports ---- */

static void report(struct session *s, uint32_t interval, const struct stat_spread *spread)
{
	struct stat_report r = {
		.args = s->args,
		.meter = &s->meter,
		.tally = &s->tally,
		.status = s->has_status ? &s->status : NULL,
		.spread = spread,
		.run = s->run,
		.interval = interval,
	};

	coati_stat_tally_fill_tool(&s->meter, &s->tally);
	s->write(&s->out, &r);
	coati_output_flush(&s->out);
}

/* The interval that ends now. */
static int report_interval(struct session *s, uint64_t now)
{
	int r = coati_meter_read(&s->meter, true, &s->tally, &s->err);

	if (r < 0)
		return r;
	s->tally.start_ns = s->last_ns - s->start_ns;
	s->tally.end_ns = now - s->start_ns;
	s->tally.has_usage = false;
	s->last_ns = now;
	report(s, ++s->interval, NULL);
	return 0;
}

/* The whole run. */
static int read_run(struct session *s, uint64_t end_ns)
{
	int r = coati_meter_read(&s->meter, false, &s->tally, &s->err);

	if (r < 0)
		return r;
	s->tally.start_ns = 0;
	s->tally.end_ns = end_ns - s->start_ns;
	s->tally.has_usage = s->has_status;
	s->tally.user_ns = s->status.user_ns;
	s->tally.sys_ns = s->status.sys_ns;
	coati_stat_tally_fill_tool(&s->meter, &s->tally);
	return 0;
}

/* ---- the course of one run ---- */

static int start_child(struct session *s)
{
	struct coati_child_opts o = { .size = sizeof(o), .flags = COATI_CHILD_DIES_WITH_US };

	if (!s->args->command)
		return 0;
	coati_warn_rights(s->args->command[0]);
	return coati_child_start((const char *const *)s->args->command, &o, &s->child, &s->err);
}

/* Who must end for the run to end. */
static int watch_targets(struct session *s)
{
	const struct stat_args *a = s->args;
	int r = 0;

	s->watch = (struct watch)WATCH_INIT;
	if (s->child)
		return coati_watch_process(&s->watch, coati_child_pid(s->child));
	for (size_t i = 0; i < a->pids.len && r >= 0; i++)
		r = coati_watch_process(&s->watch, a->pids.v[i]);
	for (size_t i = 0; i < a->tids.len && r >= 0; i++)
		r = coati_watch_thread(&s->watch, a->tids.v[i]);
	return r;
}

/* Let the command go and the events count. The exit code, or -1 when all is well. */
static int set_going(struct session *s)
{
	bool own_start = !stat_counts_command(s->args) && !s->args->delay_ns;
	int r = 0;

	s->start_ns = s->last_ns = now_ns();
	if (own_start)
		r = coati_set_enable(s->meter.set, &s->err);
	return r < 0 ? own_trouble(s) : coati_program_release(s->child);
}

/* Asked to stop. True: stop at once. With a command the first request is passed on, unless it has
 * it from the terminal already, and we wait for its end; the second one is for us. */
static bool stop_asked(struct session *s)
{
	int before = s->stops;

	s->stops = coati_stop_count();
	if (!s->child)
		return true;
	if (before || s->stops > 1) {
		s->aborted = true;
		return true;
	}
	if (!coati_stop_from_terminal())
		coati_child_kill(s->child, coati_stop_signal());
	return false;
}

/* What the clock has to say at the next deadline. */
struct course {
	uint64_t begin_ns, tick_ns, end_ns; /* WATCH_FOREVER: never */
};

static struct course course_from(const struct session *s, uint64_t start_ns)
{
	const struct stat_args *a = s->args;

	return (struct course){
		.begin_ns = WATCH_FOREVER,
		.tick_ns = a->interval_ns ? start_ns + a->interval_ns : WATCH_FOREVER,
		.end_ns = a->duration_ns ? start_ns + a->duration_ns : WATCH_FOREVER,
	};
}

static uint64_t course_next(const struct course *c)
{
	uint64_t next = c->begin_ns < c->tick_ns ? c->begin_ns : c->tick_ns;

	return next < c->end_ns ? next : c->end_ns;
}

/* A deadline has passed: 1 the run is over, 0 go on. */
static int course_step(struct session *s, struct course *c)
{
	uint64_t now = now_ns();
	int r = 0;

	if (now >= c->begin_ns) {
		r = coati_set_enable(s->meter.set, &s->err);
		s->start_ns = s->last_ns = now_ns();
		*c = course_from(s, s->start_ns);
		return r;
	}
	if (now >= c->end_ns)
		return 1;
	if (now >= c->tick_ns) {
		r = report_interval(s, now);
		while (c->tick_ns <= now)
			c->tick_ns += s->args->interval_ns;
	}
	return r;
}

/* Count until something ends it. 1: the command or targets still run; 0: they have ended. */
static int count(struct session *s)
{
	struct course c = course_from(s, s->start_ns);

	if (s->args->delay_ns)
		c = (struct course){ s->start_ns + s->args->delay_ns, WATCH_FOREVER,
				     WATCH_FOREVER };
	while (true) {
		int r;

		switch (coati_watch_wait(&s->watch, course_next(&c), s->stops)) {
		case WATCH_ENDED:
			return 0;
		case WATCH_STOP:
			if (stop_asked(s))
				return 1;
			break;
		case WATCH_TIME:
			r = course_step(s, &c);
			if (r)
				return r;
			break;
		}
	}
}

/* Get the command's status; a command that still runs gets SIGTERM, and is killed when it does not
 * end. */
static int end_child(struct session *s, bool running)
{
	int r;

	if (!s->child)
		return 0;
	if (running)
		coati_child_kill(s->child, s->aborted ? SIGKILL : SIGTERM);
	if (running && !s->aborted &&
	    coati_watch_wait(&s->watch, now_ns() + GRACE_NS, s->stops) != WATCH_ENDED)
		coati_child_kill(s->child, SIGKILL);
	s->status.size = sizeof(s->status);
	do
		r = coati_child_wait(s->child, -1, &s->status, &s->err);
	while (r == -EINTR);
	s->has_status = r >= 0;
	return r;
}

/* Read what was counted, then look after the command. */
static int finish_run(struct session *s, bool running)
{
	uint64_t end_ns = now_ns();
	int r = running ? coati_set_disable(s->meter.set, &s->err) : 0;

	if (r >= 0)
		r = end_child(s, running);
	if (r < 0 || s->aborted)
		return r;
	if (!running && s->child && !s->args->delay_ns)
		end_ns = s->start_ns + s->status.wall_ns;
	if (s->args->interval_ns && end_ns > s->last_ns)
		r = report_interval(s, end_ns);
	return r < 0 ? r : read_run(s, end_ns);
}

static void close_run(struct session *s)
{
	coati_watch_fini(&s->watch);
	coati_child_free(&s->child);
}

/* One run from start to end. The exit code when it went wrong, or -1. */
static int run_once(struct session *s)
{
	int32_t counted = 0;
	int r, running;

	s->interval = 0;
	s->has_status = false;
	if (start_child(s) < 0)
		return own_trouble(s);
	if (stat_counts_command(s->args))
		counted = coati_child_pid(s->child);
	if (coati_meter_open(&s->meter, counted, &s->err) < 0)
		return own_trouble(s);
	if (s->run == 1)
		coati_stat_announce(&s->meter);
	if (!coati_meter_nr_counted(&s->meter)) {
		coati_say("none of the events can be counted here; see coati doctor");
		return s->args->command ? EXIT_OWN : EXIT_FAILED;
	}
	if (watch_targets(s) < 0) {
		coati_say("out of memory");
		return s->args->command ? EXIT_OWN : EXIT_FAILED;
	}
	r = set_going(s);
	if (r >= 0)
		return r;
	running = count(s);
	if (running >= 0)
		running = finish_run(s, running);
	if (running < 0)
		return own_trouble(s);
	return s->aborted ? 128 + coati_stop_signal() : -1;
}

/* ---- the whole ---- */

/* The tally of the last run becomes that of the mean. */
static void take_mean(struct session *s)
{
	const struct stat_spread *p = &s->spread;

	for (uint32_t i = 0; i < s->tally.nr_cells && i < p->nr_cells; i++) {
		if (s->tally.cells[i].counted)
			s->tally.cells[i].count = (uint64_t)(p->cells[i].mean + 0.5);
	}
	s->tally.end_ns = (uint64_t)(p->wall.mean + 0.5);
	s->tally.user_ns = (uint64_t)(p->user.mean + 0.5);
	s->tally.sys_ns = (uint64_t)(p->sys.mean + 0.5);
}

/* Report the run that has just ended, alone or as one of several. */
static int report_run(struct session *s, bool last)
{
	bool text = !s->args->json && !s->args->csv;
	const struct stat_spread *spread = last && s->args->repeat > 1 ? &s->spread : NULL;
	/* A run that was cut short says nothing about the others. */
	bool cut = coati_stop_count() && s->spread.nr_runs;

	if (s->args->repeat > 1 && !cut && coati_spread_add(&s->spread, &s->tally) < 0)
		return -ENOMEM;
	if (s->args->repeat > 1 && text && !last)
		return 0;
	if (spread && text)
		take_mean(s);
	if (text || !s->args->interval_ns)
		report(s, 0, spread);
	return 0;
}

static int run_all(struct session *s)
{
	for (s->run = 1; s->run <= s->args->repeat; s->run++) {
		int r = run_once(s);
		/* Ctrl-C may have ended the command before the signal reached this process. */
		bool last = s->run == s->args->repeat || coati_stop_count() || s->out.failed;

		if (r < 0 && report_run(s, last) < 0) {
			coati_say("out of memory");
			r = EXIT_OWN;
		}
		close_run(s);
		coati_meter_close(&s->meter);
		if (r >= 0)
			return r;
		if (last)
			break;
	}
	return s->has_status ? coati_child_exit_code(&s->status) : EXIT_DONE;
}

/* Without -o the text of a run goes to stderr when a command is run: stdout is the command's. */
static int open_output(struct session *s)
{
	const struct stat_args *a = s->args;
	bool text = !a->json && !a->csv;

	s->write = a->json ? coati_stat_json : a->csv ? coati_stat_csv : coati_stat_text;
	if (a->out && a->interval_ns)
		return coati_output_open_now(&s->out, a->out, a->color, &s->err);
	if (a->out)
		return coati_output_open(&s->out, a->out, a->color, &s->err);
	if (text && a->command)
		coati_output_init_fd(&s->out, STDERR_FILENO, "standard error", a->color);
	else
		coati_output_init(&s->out, a->color);
	return 0;
}

int coati_stat_session(const struct stat_args *args)
{
	struct session s = { .args = args };
	const char *text = NULL;
	int r, ret;

	r = coati_meter_init(&s.meter, args, &text, &s.err);
	if (r < 0) {
		ret = coati_say_no_event(text, &s.err) ? EXIT_USAGE : own_trouble(&s);
		coati_meter_fini(&s.meter);
		return ret;
	}
	coati_stop_catch();
	r = open_output(&s);
	if (r < 0) {
		ret = own_trouble(&s);
	} else {
		ret = run_all(&s);
		coati_output_end_with(&s.out, ret);
		if (s.out.failed)
			ret = args->command ? EXIT_OWN : EXIT_FAILED;
	}
	coati_stat_tally_fini(&s.tally);
	coati_spread_fini(&s.spread);
	coati_meter_fini(&s.meter);
	return ret;
}
