/* SPDX-License-Identifier: MIT */
/* see server.h */
#include "http/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define QUIET_NS  (NSEC_PER_SEC / 10) /* after which a client makes room for others */
#define HEADS_MAX 4096
#define OTHERS	  2 /* descriptors before those of the clients */

struct http_client {
	int fd;
	char in[HTTP_HEAD_BYTES];
	size_t nr_in;
	struct strbuf head, body;
	size_t sent;
	bool answers;
	uint64_t deadline;
};

static void drop(struct http_server *s, int i)
{
	struct http_client *c = s->clients[i];

	close(c->fd);
	coati_strbuf_fini(&c->head);
	coati_strbuf_fini(&c->body);
	coati_free(c);
	s->clients[i] = NULL;
}

/* ---- one request ---- */

void coati_http_say(struct http_answer *a, int status, const char *text)
{
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	coati_strbuf_clear(&a->body);
	coati_strbuf_printf(&a->body, "%s\n", text);
}

static void put_head(struct http_client *c, const struct http_answer *a)
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

static void answer(struct http_server *s, struct http_client *c, int head,
		   const struct http_request *q)
{
	const struct http_asked asked = { .http = *q, .head = c->in, .head_size = (size_t)head };
	struct http_answer a = { .status = 200,
				 .type = "text/html; charset=utf-8",
				 .body = STRBUF_INIT(s->body_max) };

	if (head < 0)
		coati_http_say(&a, -head, coati_http_wrong(-head));
	else if (!coati_serve_host_ok(s->place, q->host))
		coati_http_say(&a, 403, "this server answers at its own address only");
	else
		s->fn(s->ctx, &asked, &a);
	if (a.body.failed)
		coati_http_say(&a, 500, "out of memory");
	put_head(c, &a);
	if (q->method == HTTP_HEAD)
		coati_strbuf_fini(&a.body);
	c->body = a.body;
	c->answers = true;
	c->deadline = now_ns() + s->body_ns;
}

/* False: it is done with, or gone. */
static bool read_client(struct http_server *s, struct http_client *c)
{
	struct http_request q = { .method = HTTP_OTHER };
	/* read() and sendmsg(): the sandbox has no other calls for sockets */
	ssize_t n = read(c->fd, c->in + c->nr_in, sizeof(c->in) - c->nr_in);
	int head;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->nr_in += (size_t)n;
	head = coati_http_parse(c->in, c->nr_in, &q);
	if (head)
		answer(s, c, head, &q);
	return head || c->nr_in < sizeof(c->in);
}

static bool write_client(struct http_client *c)
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
static int quietest(const struct http_server *s)
{
	int best = -1;

	for (int i = 0; i < HTTP_CLIENTS; i++)
		if (s->clients[i] && !s->clients[i]->answers &&
		    (best < 0 || s->clients[i]->deadline < s->clients[best]->deadline))
			best = i;
	return best;
}

static int free_slot(const struct http_server *s)
{
	for (int i = 0; i < HTTP_CLIENTS; i++)
		if (!s->clients[i])
			return i;
	return -1;
}

/* From when on one more may come in; UINT64_MAX: when one has left. */
static uint64_t room_at(const struct http_server *s)
{
	int i = quietest(s);

	if (free_slot(s) >= 0)
		return 0;
	return i < 0 ? UINT64_MAX : s->clients[i]->deadline - s->head_ns + QUIET_NS;
}

/* A free slot, or that of the quietest, which is listened to once more; -1: all of them have
 * something to say. */
static int take_slot(struct http_server *s)
{
	int i;

	while (free_slot(s) < 0 && (i = quietest(s)) >= 0)
		if (!read_client(s, s->clients[i]) || !s->clients[i]->answers)
			drop(s, i);
	return free_slot(s);
}

/* False: no client waits. */
static bool take_client(struct http_server *s)
{
	CLEANUP(fd_closep) int fd = accept4(s->place->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int slot = fd < 0 ? -1 : take_slot(s);
	struct http_client *c = slot < 0 ? NULL : coati_alloc(sizeof(*c));

	if (!c)
		return fd >= 0;
	c->head = (struct strbuf)STRBUF_INIT(HEADS_MAX);
	c->body = (struct strbuf)STRBUF_INIT(s->body_max);
	c->deadline = now_ns() + s->head_ns;
	c->fd = TAKE_FD(fd);
	s->clients[slot] = c;
	return true;
}

/* ---- one turn ---- */

/* What may be done now, which is whose, and until when there is nothing else. */
static nfds_t fill(const struct http_server *s, struct pollfd fds[OTHERS + HTTP_CLIENTS],
		   int owners[OTHERS + HTTP_CLIENTS], uint64_t *until)
{
	uint64_t room = room_at(s);
	bool takes = room <= now_ns();
	nfds_t nr = OTHERS;

	/* a negative descriptor is left out */
	fds[1] = (struct pollfd){ .fd = takes ? s->place->fd : -1, .events = POLLIN };
	*until = takes ? UINT64_MAX : room;
	for (int i = 0; i < HTTP_CLIENTS; i++) {
		const struct http_client *c = s->clients[i];

		if (!c)
			continue;
		*until = c->deadline < *until ? c->deadline : *until;
		owners[nr] = i;
		fds[nr++] = (struct pollfd){ .fd = c->fd, .events = c->answers ? POLLOUT : POLLIN };
	}
	return nr;
}

static int wait_for(struct pollfd *fds, nfds_t nr, uint64_t until, const sigset_t *mask)
{
	uint64_t now = now_ns(), left = until > now ? until - now : 0;
	const struct timespec wait = { .tv_sec = (time_t)(left / NSEC_PER_SEC),
				       .tv_nsec = (long)(left % NSEC_PER_SEC) };

	return ppoll(fds, nr, until == UINT64_MAX ? NULL : &wait, mask);
}

bool coati_http_turn(struct http_server *s, int stop_fd, const sigset_t *mask)
{
	struct pollfd fds[OTHERS + HTTP_CLIENTS] = { { .fd = stop_fd, .events = POLLIN } };
	int owners[OTHERS + HTTP_CLIENTS];
	uint64_t until;
	nfds_t nr = fill(s, fds, owners, &until);
	int n = wait_for(fds, nr, until, mask);

	if (n > 0 && fds[0].revents)
		return false;
	for (nfds_t i = OTHERS; i < nr; i++) {
		struct http_client *c = s->clients[owners[i]];
		bool stays = now_ns() < c->deadline;

		if (n > 0 && fds[i].revents)
			stays = stays && (c->answers ? write_client(c) : read_client(s, c));
		if (!stays)
			drop(s, owners[i]);
	}
	while (n > 0 && fds[1].revents && room_at(s) <= now_ns() && take_client(s))
		;
	return true;
}

void coati_http_leave(struct http_server *s)
{
	for (int i = 0; i < HTTP_CLIENTS; i++)
		if (s->clients[i])
			drop(s, i);
}
