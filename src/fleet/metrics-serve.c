/* SPDX-License-Identifier: MIT */
/*
 * The thread that answers GET /metrics. A client that is slow is left after some seconds; in a
 * crowd of those that send nothing the oldest makes room for the next, as in coati_serve().
 */
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

#define CLIENTS	  32
#define CLIENT_NS (5 * NSEC_PER_SEC)
#define QUIET_NS  (NSEC_PER_SEC / 10) /* after which a client makes room for others */
#define PAGE_MAX  (16u << 20)

struct client {
	int fd;
	bool answers;
	uint64_t until;
	char in[HTTP_HEAD_BYTES];
	size_t nr_in, sent;
	struct strbuf out;
};

struct server {
	struct metrics *m;
	struct client *clients[CLIENTS];
};

/* ---- the answer ---- */

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

static void answer(struct metrics *m, struct client *c, int head, const struct http_request *q)
{
	struct strbuf body = STRBUF_INIT(PAGE_MAX);
	int status = head < 0 ? -head : make_page(m, q, &body);

	if (head < 0)
		coati_strbuf_printf(&body, "%s\n", coati_http_wrong(status));
	coati_strbuf_printf(&c->out,
			    "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			    "Connection: close\r\nCache-Control: no-store\r\n"
			    "X-Content-Type-Options: nosniff\r\n\r\n",
			    status, coati_http_reason(status), type_of(status, q), body.len);
	if (q->method != HTTP_HEAD)
		coati_strbuf_add(&c->out, body.text, body.len);
	if (body.failed || c->out.failed)
		coati_strbuf_fini(&c->out); /* nothing, and the end */
	coati_strbuf_fini(&body);
	c->answers = true;
	c->until = now_ns() + CLIENT_NS;
}

/* ---- clients ---- */

static void drop(struct server *s, int i)
{
	struct client *c = s->clients[i];

	close(c->fd);
	coati_strbuf_fini(&c->out);
	coati_free(c);
	s->clients[i] = NULL;
}

/* False: it is gone. */
static bool read_client(struct server *s, struct client *c)
{
	struct http_request q = { .method = HTTP_OTHER };
	ssize_t n = recv(c->fd, c->in + c->nr_in, sizeof(c->in) - c->nr_in, MSG_DONTWAIT);
	int head;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->nr_in += (size_t)n;
	head = n ? coati_http_parse(c->in, c->nr_in, &q) : 0;
	if (head)
		answer(s->m, c, head, &q);
	return n && (head || c->nr_in < sizeof(c->in));
}

/* False: it is done with, or gone. */
static bool write_client(struct client *c)
{
	ssize_t n = send(c->fd, c->out.text + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)n;
	return c->sent < c->out.len;
}

static int free_slot(const struct server *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (!s->clients[i])
			return i;
	return -1;
}

/* The one that has been here longest without a whole request, or -1: all are given something. */
static int quietest(const struct server *s)
{
	int best = -1;

	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i] && !s->clients[i]->answers &&
		    (best < 0 || s->clients[i]->until < s->clients[best]->until))
			best = i;
	return best;
}

/* From when on one more may come in; UINT64_MAX: when one has left. */
static uint64_t room_at(const struct server *s)
{
	int i = quietest(s);

	if (free_slot(s) >= 0)
		return 0;
	return i < 0 ? UINT64_MAX : s->clients[i]->until - CLIENT_NS + QUIET_NS;
}

/* A free slot, or that of the quietest, which is listened to once more; -1: all of them have
 * something to say. */
static int take_slot(struct server *s)
{
	int i;

	while (free_slot(s) < 0 && (i = quietest(s)) >= 0)
		if (!read_client(s, s->clients[i]) || !s->clients[i]->answers)
			drop(s, i);
	return free_slot(s);
}

/* False: no client waits. */
static bool take_client(struct server *s)
{
	CLEANUP(fd_closep)
	int fd = accept4(s->m->place.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int slot = fd < 0 ? -1 : take_slot(s);
	struct client *c = slot < 0 ? NULL : coati_alloc(sizeof(*c));

	if (!c)
		return fd >= 0;
	c->out = (struct strbuf)STRBUF_INIT(PAGE_MAX + 4096);
	c->until = now_ns() + CLIENT_NS;
	c->fd = TAKE_FD(fd);
	s->clients[slot] = c;
	return true;
}

/* ---- the thread ---- */

static int ms_until(uint64_t until)
{
	uint64_t now = now_ns();

	return until <= now ? 0 : (int)((until - now) / NSEC_PER_MSEC) + 1;
}

/* What may be done now, which is whose, and how long there is nothing else: -1: for ever. */
static nfds_t fill(const struct server *s, struct pollfd fds[CLIENTS + 2], int owners[CLIENTS + 2],
		   int *ret_ms)
{
	uint64_t room = room_at(s), until = UINT64_MAX;
	nfds_t nr = 2;

	fds[0] = (struct pollfd){ .fd = s->m->stop[0], .events = POLLIN };
	/* a negative descriptor is left out */
	fds[1] = (struct pollfd){ .fd = room <= now_ns() ? s->m->place.fd : -1, .events = POLLIN };
	if (fds[1].fd < 0)
		until = room;
	for (int i = 0; i < CLIENTS; i++) {
		const struct client *c = s->clients[i];

		if (!c)
			continue;
		until = c->until < until ? c->until : until;
		owners[nr] = i;
		fds[nr++] = (struct pollfd){ .fd = c->fd, .events = c->answers ? POLLOUT : POLLIN };
	}
	*ret_ms = until == UINT64_MAX ? -1 : ms_until(until);
	return nr;
}

/* False: the agent ends. */
static bool turn(struct server *s)
{
	struct pollfd fds[CLIENTS + 2];
	int owners[CLIENTS + 2], ms;
	nfds_t nr = fill(s, fds, owners, &ms);
	int n = poll(fds, nr, ms);

	if (n > 0 && fds[0].revents)
		return false;
	for (nfds_t i = 2; i < nr; i++) {
		struct client *c = s->clients[owners[i]];
		bool stays = now_ns() < c->until;

		if (n > 0 && fds[i].revents)
			stays = stays && (c->answers ? write_client(c) : read_client(s, c));
		if (!stays)
			drop(s, owners[i]);
	}
	while (n > 0 && fds[1].revents && room_at(s) <= now_ns() && take_client(s))
		;
	return true;
}

static void *run(void *ctx)
{
	struct server s = { .m = ctx };

	while (turn(&s))
		;
	for (int i = 0; i < CLIENTS; i++)
		if (s.clients[i])
			drop(&s, i);
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
