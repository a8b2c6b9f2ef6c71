/* SPDX-License-Identifier: MIT */
/* Clients of the server: a slot each, from the first byte of the request to the last of the answer,
 * and who gets a slot when all are taken. */
#include "live/serve-client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "live/serve-pages.h"

#define LINGER_NS    (2 * NSEC_PER_SEC)
#define LINGER_BYTES (1024 * 1024)
#define RETRY_NS     (NSEC_PER_SEC / 10)
#define QUIET_NS     (NSEC_PER_SEC / 10) /* after which a client makes room for others */

static void write_more(struct coati_server *s, struct client *c);

void coati_client_drop(struct coati_server *s, struct client *c)
{
	int fd = fd_of(c);

	if (c->stage == STAGE_WAIT)
		coati_job_leave(c->job);
	atomic_store_explicit(&c->fd, -1, memory_order_relaxed);
	close(fd);
	coati_free(c->in);
	coati_strbuf_fini(&c->out);
	c->in = NULL;
	s->counts.clients--;
}

/* Head and body of @a become what is written. */
static void answer(struct coati_server *s, struct client *c, struct serve_answer *a,
		   bool without_body)
{
	s->counts.requests++;
	s->counts.errors += a->status >= 400;
	coati_strbuf_clear(&c->out);
	coati_serve_head(a, &c->out);
	if (!without_body)
		coati_strbuf_add(&c->out, a->body.text, a->body.len);
	c->stage = STAGE_WRITE; /* its job is none of its own any more */
	if (c->out.failed) {
		coati_client_drop(s, c);
		return;
	}
	c->out_at = 0;
	c->deadline_ns = now_ns() + s->timeout_ns * (1 + c->out.len / 65536);
	write_more(s, c);
}

static void answer_error(struct coati_server *s, struct client *c, int status, const char *sentence)
{
	struct serve_answer a = { .extra = "", .body = STRBUF_INIT(SERVE_ANSWER_BYTES) };

	coati_serve_say(&a, status, sentence);
	answer(s, c, &a, false);
	coati_strbuf_fini(&a.body);
}

/* What @a asks for is begun; false: it cannot be, and @a says why. */
static bool begin_job(struct coati_server *s, struct client *c, struct serve_answer *a)
{
	for (int i = 0; i < SERVE_JOBS; i++) {
		if (s->jobs[i].taken)
			continue;
		if (coati_job_start(&s->jobs[i], a, s->wake) < 0) {
			coati_serve_say(a, 500, "cannot start a thread for this page");
			return false;
		}
		c->job = &s->jobs[i];
		c->stage = STAGE_WAIT;
		c->deadline_ns = UINT64_MAX;
		return true;
	}
	a->extra = "Retry-After: 5\r\n";
	coati_serve_say(a, 429, "too many requests are in progress; try again later");
	return false;
}

static void answer_request(struct coati_server *s, struct client *c,
			   const struct http_request *request, const char *body)
{
	struct serve_answer a = { .extra = "",
				  .stacks = s->stacks,
				  .body = STRBUF_INIT(SERVE_ANSWER_BYTES) };

	if (!coati_serve_host_ok(&s->place, request->host))
		coati_serve_say(&a, 403,
				"the Host header is not this machine; use localhost or 127.0.0.1");
	else if (request->is_cross_site)
		coati_serve_say(&a, 403, "requests from pages of other sites are refused");
	else
		coati_serve_page(request, body, &s->counts, &a);
	if (a.later && begin_job(s, c, &a))
		return; /* its body is the job's */
	answer(s, c, &a, request->method == HTTP_HEAD);
	coati_free(a.text);
	coati_strbuf_fini(&a.body);
}

static bool make_room(struct client *c, size_t size)
{
	char *p;

	if (size < c->in_cap)
		return true;
	p = coati_realloc_array(c->in, size + 1, 1);
	if (!p)
		return false;
	c->in = p;
	c->in_cap = size + 1;
	return true;
}

/* Look at what came so far; answer when the request is whole, or never will be. */
static void look(struct coati_server *s, struct client *c)
{
	struct http_request request;
	int head = coati_http_parse(c->in, c->in_len, &request);

	if (head < 0) {
		answer_error(s, c, -head, coati_http_wrong(-head));
	} else if (head > 0 && !make_room(c, (size_t)head + request.body_size)) {
		answer_error(s, c, 500, "no memory for the request");
	} else if (head > 0 && c->in_len - (size_t)head >= request.body_size) {
		c->in[(size_t)head + request.body_size] = 0;
		answer_request(s, c, &request, c->in + head);
	}
}

static void read_more(struct coati_server *s, struct client *c)
{
	ssize_t n = recv(fd_of(c), c->in + c->in_len, c->in_cap - 1 - c->in_len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* it left in mid-request, or without one */
		coati_client_drop(s, c);
		return;
	}
	c->in_len += (size_t)n;
	look(s, c);
}

static void drain(struct coati_server *s, struct client *c)
{
	char bytes[4096];
	ssize_t n = recv(fd_of(c), bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->drained += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->drained > LINGER_BYTES)
		coati_client_drop(s, c);
}

static void write_more(struct coati_server *s, struct client *c)
{
	while (c->out_at < c->out.len) {
		ssize_t n = send(fd_of(c), c->out.text + c->out_at, c->out.len - c->out_at,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			coati_client_drop(s, c);
			return;
		}
		c->out_at += (size_t)n;
	}
	shutdown(fd_of(c), SHUT_WR);
	c->stage = STAGE_DRAIN;
	c->deadline_ns = now_ns() + LINGER_NS;
}

static void time_out(struct coati_server *s, struct client *c)
{
	if (c->stage == STAGE_DRAIN) {
		coati_client_drop(s, c); /* it has its answer */
		return;
	}
	s->counts.timeouts++;
	if (c->stage == STAGE_READ && c->in_len)
		answer_error(s, c, 408, "the request took too long");
	else
		coati_client_drop(s, c);
}

void coati_client_serve(struct coati_server *s, struct client *c, short events)
{
	if (events && c->stage == STAGE_READ)
		read_more(s, c);
	else if (events && c->stage == STAGE_WRITE)
		write_more(s, c);
	else if (events)
		drain(s, c);
	if (fd_of(c) >= 0 && now_ns() >= c->deadline_ns)
		time_out(s, c);
}

/* On a unix socket the kernel says who it is. */
static bool may_ask(const struct coati_server *s, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (!s->place.is_unix)
		return true;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
	       (who.uid == 0 || who.uid == geteuid());
}

static struct client *free_slot(struct coati_server *s)
{
	for (uint32_t i = 0; i < s->max_clients; i++)
		if (fd_of(&s->clients[i]) < 0)
			return &s->clients[i];
	return NULL;
}

/* Since when it has been here without a whole request, or with nothing left to get; UINT64_MAX:
 * there is something to do for it. */
static uint64_t quiet_since(const struct coati_server *s, const struct client *c)
{
	if (c->stage == STAGE_READ)
		return c->deadline_ns - s->timeout_ns;
	return c->stage == STAGE_DRAIN ? c->deadline_ns - LINGER_NS : UINT64_MAX;
}

static struct client *quietest(struct coati_server *s)
{
	struct client *best = NULL;
	uint64_t since = UINT64_MAX;

	for (uint32_t i = 0; i < s->max_clients; i++) {
		struct client *c = &s->clients[i];

		if (fd_of(c) >= 0 && quiet_since(s, c) < since) {
			since = quiet_since(s, c);
			best = c;
		}
	}
	return best;
}

/* From when on one more may come in; UINT64_MAX: when one has left. */
uint64_t coati_clients_room_at_ns(struct coati_server *s)
{
	struct client *c;

	if (s->counts.clients < s->max_clients)
		return 0;
	c = quietest(s);
	return c ? quiet_since(s, c) + QUIET_NS : UINT64_MAX;
}

/* A free slot, or that of the quietest, which is listened to once more; NULL: all of them have
 * something to say. */
static struct client *take_slot(struct coati_server *s)
{
	struct client *c = free_slot(s);

	while (!c && (c = quietest(s))) {
		uint64_t since = quiet_since(s, c);

		coati_client_serve(s, c, POLLIN);
		if (fd_of(c) >= 0 && quiet_since(s, c) == since) {
			s->counts.crowded++;
			coati_client_drop(s, c);
		}
		c = free_slot(s);
	}
	return c;
}

static void welcome(struct coati_server *s, struct client *c, int fd)
{
	*c = (struct client){ .fd = fd,
			      .out = STRBUF_INIT(SERVE_ANSWER_BYTES + 4096),
			      .deadline_ns = now_ns() + s->timeout_ns };
	s->counts.clients++;
	if (!may_ask(s, fd)) {
		s->counts.refused++;
		answer_error(s, c, 403, "only the user of the process and root may connect");
	} else if (!make_room(c, HTTP_HEAD_BYTES)) {
		coati_client_drop(s, c);
	}
}

void coati_clients_accept(struct coati_server *s)
{
	struct client *c;
	int fd;

	while (coati_clients_room_at_ns(s) <= now_ns()) {
		fd = accept4(s->place.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			c = take_slot(s);
			if (c)
				welcome(s, c, fd);
			else
				close(fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			/* poll() would say "now" all the time */
			s->accept_at_ns = now_ns() + RETRY_NS;
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

static struct client *client_of(struct coati_server *s, const struct serve_job *job)
{
	for (uint32_t i = 0; i < s->max_clients; i++)
		if (fd_of(&s->clients[i]) >= 0 && s->clients[i].stage == STAGE_WAIT &&
		    s->clients[i].job == job)
			return &s->clients[i];
	return NULL; /* it left */
}

void coati_clients_look_at_jobs(struct coati_server *s)
{
	for (int i = 0; i < SERVE_JOBS; i++) {
		struct serve_job *job = &s->jobs[i];
		struct serve_answer a;
		struct client *c;

		/* pairs with: release in the job's run() */
		if (!job->taken || !atomic_load_explicit(&job->done, memory_order_acquire))
			continue;
		c = client_of(s, job);
		coati_job_finish(job, &a);
		if (c)
			answer(s, c, &a, false);
		coati_strbuf_fini(&a.body);
	}
}
