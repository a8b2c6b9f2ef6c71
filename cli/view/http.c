/* SPDX-License-Identifier: MIT */
/*
 * see view/http.h. A client that sends nothing, or reads nothing, is left after some seconds; in a
 * crowd of those that send nothing the oldest makes room for the next, as in coati_serve().
 */
#include "cli/view/http.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/stop.h"

#define CLIENTS	  32
#define HEAD_NS	  (10 * NSEC_PER_SEC)
#define BODY_NS	  (120 * NSEC_PER_SEC)
#define QUIET_NS  (NSEC_PER_SEC / 10) /* after which a client makes room for others */
#define BODY_MAX  ((size_t)4 << 30)
#define HEADS_MAX 4096

struct client {
	int fd;
	char in[HTTP_HEAD_BYTES];
	size_t nr_in;
	struct strbuf head, body;
	size_t sent;
	bool answers;
	uint64_t deadline;
};

struct server {
	const struct serve_place *place;
	view_answer_fn fn;
	void *ctx;
	struct client *clients[CLIENTS];
};

void coati_view_say(struct view_answer *a, int status, const char *text)
{
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	coati_strbuf_clear(&a->body);
	coati_strbuf_printf(&a->body, "%s\n", text);
}

static void drop(struct server *s, int i)
{
	struct client *c = s->clients[i];

	close(c->fd);
	coati_strbuf_fini(&c->head);
	coati_strbuf_fini(&c->body);
	coati_free(c);
	s->clients[i] = NULL;
}

/* The value of "Origin", which the parser has no use for. */
static void find_origin(const char *head, size_t size, char ret[VIEW_ORIGIN_BYTES])
{
	for (const char *at = head, *end = head + size; at < end;) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((lf ? lf : end) - at);

		if (len > 7 && !strncasecmp(at, "origin:", 7)) {
			const char *value = at + 7;

			len -= 7;
			while (len && *value == ' ')
				value++, len--;
			while (len && (value[len - 1] == '\r' || value[len - 1] == ' '))
				len--;
			snprintf(ret, VIEW_ORIGIN_BYTES, "%.*s", (int)len, value);
			return;
		}
		at = lf ? lf + 1 : end;
	}
}

static void put_head(struct client *c, const struct view_answer *a)
{
	coati_strbuf_printf(&c->head,
			    "HTTP/1.1 %d %s\r\n"
			    "Content-Type: %s\r\n"
			    "Content-Length: %zu\r\n"
			    "Connection: close\r\n"
			    "Cache-Control: no-store\r\n"
			    "X-Content-Type-Options: nosniff\r\n"
			    "Referrer-Policy: no-referrer\r\n"
			    "X-Frame-Options: DENY\r\n"
			    "Content-Security-Policy: frame-ancestors 'none'\r\n"
			    "%s\r\n",
			    a->status, coati_http_reason(a->status), a->type, a->body.len,
			    a->extra);
}

static void answer(struct server *s, struct client *c, int head)
{
	struct view_request q = { .http = { .method = HTTP_OTHER } };
	struct view_answer a = { .status = 200,
				 .type = "text/html; charset=utf-8",
				 .body = STRBUF_INIT(BODY_MAX) };

	if (head < 0) {
		coati_view_say(&a, -head, coati_http_wrong(-head));
	} else {
		coati_http_parse(c->in, c->nr_in, &q.http);
		find_origin(c->in, (size_t)head, q.origin);
		q.is_preflight = c->nr_in > 8 && !memcmp(c->in, "OPTIONS ", 8);
		if (!coati_serve_host_ok(s->place, q.http.host))
			coati_view_say(&a, 403, "this server answers at its own address only");
		else
			s->fn(s->ctx, &q, &a);
	}
	if (a.body.failed)
		coati_view_say(&a, 500, "out of memory");
	put_head(c, &a);
	if (q.http.method == HTTP_HEAD)
		coati_strbuf_fini(&a.body);
	c->body = a.body;
	c->answers = true;
	c->deadline = now_ns() + BODY_NS;
}

/* False: it is done with, or gone. */
static bool read_client(struct server *s, struct client *c)
{
	struct http_request http;
	/* read() and sendmsg(): the sandbox has no other calls for sockets */
	ssize_t n = read(c->fd, c->in + c->nr_in, sizeof(c->in) - c->nr_in);
	int head;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->nr_in += (size_t)n;
	head = coati_http_parse(c->in, c->nr_in, &http);
	if (head)
		answer(s, c, head);
	return true;
}

static bool write_client(struct client *c)
{
	bool in_head = c->sent < c->head.len;
	size_t at = in_head ? c->sent : c->sent - c->head.len;
	const struct strbuf *from = in_head ? &c->head : &c->body;
	struct iovec part = { from->text + at, from->len - at };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)n;
	return c->sent < c->head.len + c->body.len;
}

/* ---- who may come in ---- */

/* The one that has been here longest without a whole request, or -1: all are given something. */
static int quietest(const struct server *s)
{
	int best = -1;

	for (int i = 0; i < CLIENTS; i++)
		if (s->clients[i] && !s->clients[i]->answers &&
		    (best < 0 || s->clients[i]->deadline < s->clients[best]->deadline))
			best = i;
	return best;
}

static int free_slot(const struct server *s)
{
	for (int i = 0; i < CLIENTS; i++)
		if (!s->clients[i])
			return i;
	return -1;
}

/* From when on one more may come in; UINT64_MAX: when one has left. */
static uint64_t room_at(const struct server *s)
{
	int i = free_slot(s) < 0 ? quietest(s) : -1;

	if (free_slot(s) >= 0)
		return 0;
	return i < 0 ? UINT64_MAX : s->clients[i]->deadline - HEAD_NS + QUIET_NS;
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
	CLEANUP(fd_closep) int fd = accept4(s->place->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int slot = fd < 0 ? -1 : take_slot(s);
	struct client *c = slot < 0 ? NULL : coati_alloc(sizeof(*c));

	if (!c)
		return fd >= 0;
	c->head = (struct strbuf)STRBUF_INIT(HEADS_MAX);
	c->body = (struct strbuf)STRBUF_INIT(BODY_MAX);
	c->deadline = now_ns() + HEAD_NS;
	c->fd = TAKE_FD(fd);
	s->clients[slot] = c;
	return true;
}

/* ---- one turn ---- */

/* What may be done now; which is whose. */
static nfds_t fill(struct server *s, struct pollfd fds[CLIENTS + 1], int owners[CLIENTS + 1])
{
	nfds_t nr = 1;

	/* a negative descriptor is left out */
	fds[0] = (struct pollfd){ .fd = room_at(s) <= now_ns() ? s->place->fd : -1,
				  .events = POLLIN };
	for (int i = 0; i < CLIENTS; i++) {
		if (!s->clients[i])
			continue;
		owners[nr] = i;
		fds[nr++] = (struct pollfd){ .fd = s->clients[i]->fd,
					     .events = s->clients[i]->answers ? POLLOUT : POLLIN };
	}
	return nr;
}

static void turn(struct server *s, const sigset_t *mask)
{
	uint64_t now = now_ns(), room = room_at(s);
	const struct timespec wait = {
		.tv_sec = room <= now || room - now > NSEC_PER_SEC,
		.tv_nsec = room <= now || room - now > NSEC_PER_SEC ? 0 : (long)(room - now),
	};
	struct pollfd fds[CLIENTS + 1];
	int owners[CLIENTS + 1];
	nfds_t nr = fill(s, fds, owners);
	int n = ppoll(fds, nr, &wait, mask);

	for (nfds_t i = 1; i < nr; i++) {
		struct client *c = s->clients[owners[i]];
		bool stays = now_ns() < c->deadline;

		if (n > 0 && fds[i].revents)
			stays = stays && (c->answers ? write_client(c) : read_client(s, c));
		if (!stays)
			drop(s, owners[i]);
	}
	while (n > 0 && fds[0].revents && room_at(s) <= now_ns() && take_client(s))
		;
}

int coati_view_serve(const struct serve_place *place, view_answer_fn fn, void *ctx)
{
	struct server s = { .place = place, .fn = fn, .ctx = ctx };
	sigset_t stops, old;

	coati_stop_mask(&stops);
	sigprocmask(SIG_BLOCK, &stops, &old);
	while (!coati_stop_count())
		turn(&s, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	for (int i = 0; i < CLIENTS; i++)
		if (s.clients[i])
			drop(&s, i);
	return 0;
}
