/* SPDX-License-Identifier: MIT */
/* The thread that answers GET /metrics: one request at a time, and a client that is slow is left
 * after some seconds. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "fleet/metrics-parts.h"
#include "live/serve-http.h"

#define CLIENT_NS (5 * NSEC_PER_SEC)
#define PAGE_MAX  (16u << 20)

/* Until @fd is ready, the time is over or the agent ends. */
static bool wait_for(const struct metrics *m, int fd, short events, uint64_t until)
{
	struct pollfd fds[2] = { { .fd = fd, .events = events },
				 { .fd = m->stop[0], .events = POLLIN } };
	uint64_t now = now_ns();
	int ms = until == UINT64_MAX ? -1
		 : until > now	     ? (int)((until - now) / NSEC_PER_MSEC) + 1
				     : 0;

	return poll(fds, 2, ms) > 0 && fds[0].revents && !fds[1].revents;
}

static bool send_all(const struct metrics *m, int fd, const struct strbuf *s, uint64_t until)
{
	size_t sent = 0;

	while (sent < s->len) {
		ssize_t n = send(fd, s->text + sent, s->len - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		else if (!wait_for(m, fd, POLLOUT, until))
			return false;
	}
	return true;
}

/* The status, and the page behind it. */
static int make_page(struct metrics *m, const struct http_request *q, struct strbuf *body)
{
	if (!coati_serve_host_ok(&m->place, q->host)) {
		coati_strbuf_adds(body, "this server answers at its own address only\n");
		return 403;
	}
	if (q->is_cross_site) {
		coati_strbuf_adds(body, "requests from pages of other sites are refused\n");
		return 403;
	}
	if (q->method != HTTP_GET && q->method != HTTP_HEAD) {
		coati_strbuf_adds(body, "only GET and HEAD are supported\n");
		return 405;
	}
	if (strcmp(q->path, "/metrics") != 0) {
		coati_strbuf_adds(body, "no such page: this server has only /metrics\n");
		return 404;
	}
	coati_metrics_print(m, q->wants_openmetrics, body);
	return 200;
}

static const char *type_of(int status, const struct http_request *q)
{
	if (status != 200)
		return "text/plain; charset=utf-8";
	return q->wants_openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				    : "text/plain; version=0.0.4; charset=utf-8";
}

static void answer(struct metrics *m, int fd, int head, const struct http_request *q,
		   uint64_t until)
{
	struct strbuf body = STRBUF_INIT(PAGE_MAX), all = STRBUF_INIT(PAGE_MAX + 4096);
	int status = head < 0 ? -head : make_page(m, q, &body);

	if (head < 0)
		coati_strbuf_printf(&body, "%s\n", coati_http_wrong(status));
	coati_strbuf_printf(&all,
			    "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			    "Connection: close\r\nCache-Control: no-store\r\n"
			    "X-Content-Type-Options: nosniff\r\n\r\n",
			    status, coati_http_reason(status), type_of(status, q), body.len);
	if (q->method != HTTP_HEAD)
		coati_strbuf_add(&all, body.text, body.len);
	if (!all.failed && !body.failed)
		send_all(m, fd, &all, until);
	coati_strbuf_fini(&body);
	coati_strbuf_fini(&all);
}

static void serve_client(struct metrics *m, int fd)
{
	uint64_t until = now_ns() + CLIENT_NS;
	struct http_request q = { .method = HTTP_OTHER };
	char in[HTTP_HEAD_BYTES];
	size_t nr = 0;
	int head = 0;

	while (!head && nr < sizeof(in) && wait_for(m, fd, POLLIN, until)) {
		ssize_t n = recv(fd, in + nr, sizeof(in) - nr, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return;
		nr += n > 0 ? (size_t)n : 0;
		head = coati_http_parse(in, nr, &q);
	}
	if (head)
		answer(m, fd, head, &q, until);
}

static void *run(void *ctx)
{
	struct metrics *m = ctx;

	while (wait_for(m, m->place.fd, POLLIN, UINT64_MAX)) {
		CLEANUP(fd_closep)
		int fd = accept4(m->place.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			serve_client(m, fd);
	}
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
