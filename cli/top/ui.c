/* SPDX-License-Identifier: MIT */
/* The screen of coati top: the loop, and what the choices in ui.h mean. */
#include "cli/top/ui.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "cli/command.h"
#include "cli/record/signals.h"
#include "cli/talk.h"

#define MESSAGE_NS (6 * NSEC_PER_SEC)
#define BEHIND	   2 /* seconds until all samples of one have come */
#define IDLE_NS	   (100 * NSEC_PER_MSEC)
#define ROUND_NS   (500 * NSEC_PER_MSEC) /* samples are in order one round later */

/* ---- time ---- */

uint64_t coati_top_now(const struct top_ui *ui)
{
	const struct top_session *s = ui->s;
	uint64_t now = now_ns() / NSEC_PER_SEC;

	if (ui->frozen)
		return ui->frozen;
	if (s->has_ended)
		return s->model.latest_ns / NSEC_PER_SEC;
	return now - BEHIND;
}

/* Labels come later than samples: what they have not reached is left out. */
static uint64_t seconds_behind(const struct top_ui *ui)
{
	bool by_label = ui->by == TOP_BY_LABEL || ui->by == TOP_BY_TASK;
	uint64_t now = (coati_top_now(ui) + 1) * NSEC_PER_SEC;

	if (!by_label || ui->s->has_ended)
		return 0;
	return (coati_top_feed_lag(&ui->s->feed, now) + NSEC_PER_SEC - 1) / NSEC_PER_SEC;
}

void coati_top_window(const struct top_ui *ui, uint64_t *ret_from, uint64_t *ret_to)
{
	uint64_t to = coati_top_now(ui) - seconds_behind(ui);

	if (ui->cursor != TOP_LIVE) {
		*ret_from = *ret_to = ui->cursor;
		return;
	}
	*ret_to = to;
	*ret_from = to >= ui->window ? to - ui->window + 1 : 0;
}

/* The key of labels that is shown: the chosen one, else the first that is no other column's. */
static const char *label_key(const struct top_ui *ui)
{
	const struct top_model *m = &ui->s->model;

	if (*ui->label)
		return ui->label;
	for (size_t i = 0; i < m->labels.len; i++)
		for (uint32_t k = 0; k < m->labels.v[i].nr; k++) {
			const char *key = m->labels.v[i].v[k].key;

			if (strcmp(key, "cgroup") != 0 && strcmp(key, "task") != 0 &&
			    strcmp(key, TOP_SERVICE_KEY) != 0)
				return key;
		}
	return "";
}

void coati_top_ask(const struct top_ui *ui, struct top_query *q, struct top_query *before)
{
	*q = (struct top_query){ .mode = ui->mode,
				 .by = ui->by,
				 .label = label_key(ui),
				 .filter = ui->filter,
				 .sort = ui->sort,
				 .reverse = ui->reverse };
	coati_top_window(ui, &q->from, &q->to);
	*before = *q;
	before->to = q->from ? q->from - 1 : 0;
	before->from = q->from > TOP_COMPARE ? q->from - TOP_COMPARE : 0;
}

void coati_top_say(struct top_ui *ui, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ui->message, sizeof(ui->message), fmt, ap);
	va_end(ap);
	ui->message_until = now_ns() + MESSAGE_NS;
}

/* ---- keys while the capture is waited for ---- */

/* A thread that waits for keys and wakes the capture; the keys themselves are read by the loop. */
struct watcher {
	pthread_t thread;
	struct coati_capture *cap;
	int stop_fd;
	sem_t taken; /* the loop has read what there was */
	bool runs;
};

static void *watch_keys(void *ctx)
{
	struct watcher *w = ctx;
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = w->stop_fd, .events = POLLIN } };

	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		if (p[1].revents)
			break;
		if (!p[0].revents)
			continue;
		coati_capture_wake(w->cap);
		/* a terminal that is gone would be readable for ever */
		if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL)) {
			kill(getpid(), SIGHUP);
			break;
		}
		while (sem_wait(&w->taken) < 0)
			;
	}
	return NULL;
}

static int start_watcher(struct watcher *w, struct coati_capture *cap, struct coati_error *err)
{
	int r;

	w->cap = cap;
	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	sem_init(&w->taken, 0, 0);
	r = w->stop_fd < 0 ? -errno : thread_start(&w->thread, NULL, watch_keys, w);
	w->runs = r == 0;
	return r ? coati_fail(err, r, "cannot wait for keys: %m") : 0;
}

static void stop_watcher(struct watcher *w)
{
	uint64_t one = 1;

	if (w->runs) {
		sem_post(&w->taken);
		while (write(w->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
		pthread_join(w->thread, NULL);
		sem_destroy(&w->taken);
	}
	if (w->stop_fd >= 0)
		close(w->stop_fd);
}

static bool take_keys(struct top_ui *ui, struct watcher *w)
{
	bool any = false;
	int key, waiting;

	while ((key = coati_screen_key(ui->screen)) != SCREEN_NONE) {
		coati_top_key(ui, key);
		any = true;
	}
	if (sem_getvalue(&w->taken, &waiting) == 0 && !waiting)
		sem_post(&w->taken);
	return any;
}

/* ---- the loop ---- */

static void loop(struct top_ui *ui, struct watcher *w)
{
	struct top_session *s = ui->s;
	uint64_t next = 0,
		 end = s->args->duration_ns ? now_ns() + s->args->duration_ns : UINT64_MAX;

	while (!ui->quits && !coati_record_stops() && now_ns() < end) {
		bool changed = take_keys(ui, w);
		uint64_t now = now_ns(), until;

		if (changed || now >= next) {
			coati_top_draw(ui);
			next = now >= next ? now + s->args->interval_ns : next;
		}
		until = next < end ? next : end;
		now = now_ns() + (s->has_ended ? IDLE_NS : ROUND_NS);
		until = until < now ? until : now;
		if (!coati_top_wait(s, until))
			break;
	}
}

static void init_ui(struct top_ui *ui, struct top_session *s)
{
	const struct top_args *a = s->args;

	*ui = (struct top_ui){ .s = s,
			       .by = a->by,
			       .mode = a->by == TOP_BY_WAIT ? TOP_OFF_CPU : TOP_ON_CPU,
			       .window = a->window_ns / NSEC_PER_SEC };
	snprintf(ui->label, sizeof(ui->label), "%s", a->label ? a->label : "");
	snprintf(ui->filter, sizeof(ui->filter), "%s", a->filter ? a->filter : "");
}

int coati_top_screen(struct top_session *s)
{
	struct watcher w = { .stop_fd = -1 };
	struct top_ui ui;
	int ret;

	init_ui(&ui, s);
	/* before the command runs: what cannot be shown is not started */
	if (coati_screen_open(s->args->color, &ui.screen, &s->err) < 0) {
		coati_say("%s", s->err.text);
		return s->args->command ? EXIT_OWN : EXIT_FAILED;
	}
	coati_screen_close(&ui.screen);
	ret = coati_top_start(s);
	if (ret >= 0)
		return ret;
	coati_talk_quietly(true); /* the screen is ours */
	if (coati_screen_open(s->args->color, &ui.screen, &s->err) == 0 &&
	    start_watcher(&w, s->cap, &s->err) == 0)
		loop(&ui, &w);
	stop_watcher(&w);
	coati_screen_close(&ui.screen);
	coati_talk_quietly(s->args->quiet);
	if (s->err.code) {
		coati_say("%s", s->err.text);
		return s->args->command ? EXIT_OWN : EXIT_FAILED;
	}
	return coati_top_exit(s);
}
