/* SPDX-License-Identifier: MIT */
/* The thread that answers GET /metrics. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "fleet/metrics-parts.h"
#include "http/server.h"

#define CLIENT_NS (5 * NSEC_PER_SEC)
#define PAGE_MAX  (16u << 20)

/* ---- the answer ---- */

static const char *type_of(const struct http_request *q)
{
	return q->wants_openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				    : "text/plain; version=0.0.4; charset=utf-8";
}

static void answer(void *ctx, const struct http_asked *asked, struct http_answer *a)
{
	const struct http_request *q = &asked->http;

	if (q->is_cross_site) {
		coati_http_say(a, 403, "requests from pages of other sites are refused");
	} else if (q->method != HTTP_GET && q->method != HTTP_HEAD) {
		coati_http_say(a, 405, "only GET and HEAD are supported");
	} else if (strcmp(q->path, "/metrics") != 0) {
		coati_http_say(a, 404, "no such page: this server has only /metrics");
	} else {
		a->type = type_of(q);
		coati_metrics_print(ctx, q->wants_openmetrics, &a->body);
	}
}

static void *run(void *ctx)
{
	struct metrics *m = ctx;
	struct http_server s = { .place = &m->place,
				 .fn = answer,
				 .ctx = m,
				 .head_ns = CLIENT_NS,
				 .body_ns = CLIENT_NS,
				 .body_max = PAGE_MAX };

	while (coati_http_turn(&s, m->stop[0], NULL))
		;
	coati_http_leave(&s);
	return NULL;
}

/* ---- as a sink ---- */

static int on_window(void *ctx, const struct agent_window *w)
{
	coati_metrics_add(ctx, w);
	return 0;
}

static void free_metrics(struct metrics *m)
{
	for (size_t i = 0; i < m->services.len; i++)
		coati_free(m->services.v[i].name);
	for (size_t i = 0; i < m->tasks.len; i++) {
		coati_free(m->tasks.v[i].service);
		coati_free(m->tasks.v[i].type);
	}
	ARRAY_FINI(&m->services);
	ARRAY_FINI(&m->tasks);
	coati_serve_unlisten(&m->place);
	if (m->stop[0] >= 0)
		close(m->stop[0]);
	pthread_mutex_destroy(&m->lock);
	coati_free(m);
}

static void on_close(void *ctx, uint64_t deadline_ns)
{
	struct metrics *m = ctx;

	close(m->stop[1]);
	pthread_join(m->thread, NULL);
	free_metrics(m);
}

struct agent_sink coati_metrics_sink(struct metrics *m)
{
	return (struct agent_sink){
		.name = "metrics", .window = on_window, .close = on_close, .ctx = m
	};
}

void coati_metrics_watch(struct metrics *m, const struct agent_sink *sink)
{
	pthread_mutex_lock(&m->lock);
	if (m->nr_sinks < METRICS_SINKS && sink->stats)
		m->sinks[m->nr_sinks++].sink = sink;
	pthread_mutex_unlock(&m->lock);
}

static int start(struct metrics *m, struct coati_error *err)
{
	int r;

	if (pipe2(m->stop, O_CLOEXEC) < 0)
		return coati_fail(err, -errno, "cannot make a pipe: %m");
	r = thread_start(&m->thread, NULL, run, m);
	if (r < 0)
		close(m->stop[1]);
	return r ? coati_fail(err, r, "cannot start a thread: %m") : 0;
}

int coati_metrics_new(const struct metrics_opts *opts, struct metrics **ret,
		      struct coati_error *err)
{
	struct metrics *m = coati_alloc(sizeof(*m));
	int r;

	if (!m)
		return coati_fail(err, -ENOMEM, "no memory for metrics");
	pthread_mutex_init(&m->lock, NULL);
	m->place.fd = m->stop[0] = m->stop[1] = -1;
	m->services.max = METRICS_SERVICES + 1;
	m->tasks.max = METRICS_TASKS + 1;
	r = coati_serve_listen(opts->listen, opts->anywhere, &m->place, err);
	if (r >= 0)
		r = start(m, err);
	if (r < 0) {
		free_metrics(m);
		return r;
	}
	*ret = m;
	return 0;
}
