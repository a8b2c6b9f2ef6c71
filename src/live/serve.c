/* SPDX-License-Identifier: MIT */
/*
 * The server: one thread, one poll(), as many clients as there are slots. A client is read until
 * its request is whole, answered, and then drained until it closes, so that it gets the answer even
 * when it still sends. Whatever it does, it is gone by its deadline; when all slots are taken,
 * whoever has been quiet for longest makes room for the next.
 *
 * An answer that takes a while is made by a job, a thread of its own, that wakes this one when it
 * is done.
 *
 * The slots belong to the thread alone. What a child after fork() looks at are descriptors, which
 * leave a slot before they are closed: what it finds there is ours.
 */
#include <coati/serve.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "live/sampler/objects.h"
#include "live/serve-job.h"
#include "live/serve-listen.h"
#include "live/serve-pages.h"

#define SERVERS	     8
#define TIMEOUT_MS   10000
#define CLIENTS	     64
#define MAX_CLIENTS  4096
#define LINGER_NS    (2 * NSEC_PER_SEC)
#define LINGER_BYTES (1024 * 1024)
#define RETRY_NS     (NSEC_PER_SEC / 10)
#define QUIET_NS     (NSEC_PER_SEC / 10) /* after which a client makes room for others */

/* STAGE_WAIT: the answer is being made by a job. */
enum stage { STAGE_READ, STAGE_WAIT, STAGE_WRITE, STAGE_DRAIN };

struct client {
	_Atomic int fd; /* -1: the slot is free */
	enum stage stage;
	uint64_t deadline_ns;
	struct serve_job *job; /* in STAGE_WAIT */
	char *in;	       /* head and body as they come, ended by a zero */
	size_t in_len, in_cap;
	struct strbuf out;
	size_t out_at, drained;
	uint32_t polled_at; /* in this turn; 0: it came after poll() */
};

struct coati_server {
	struct serve_place place;
	int wake;
	pid_t pid;
	pthread_t thread;
	uint64_t timeout_ns;
	uint32_t max_clients;
	enum coati_sampler_stacks stacks;
	_Atomic bool is_ending;
	struct serve_job jobs[SERVE_JOBS];
	uint64_t accept_at_ns; /* not before: there were no descriptors */
	struct serve_counts counts;
	struct client *clients;
	struct pollfd *polled; /* wake, listen, then the clients that there are */
	uint32_t nr_polled;
};

static _Atomic(struct coati_server *) servers[SERVERS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- a client ---- */

static int fd_of(const struct client *c)
{
	return atomic_load_explicit(&c->fd, memory_order_relaxed);
}

static void drop(struct coati_server *s, struct client *c)
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

static void write_more(struct coati_server *s, struct client *c);

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
		drop(s, c);
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
			coati_serve_say(a, 500, "no thread to make the page");
			return false;
		}
		c->job = &s->jobs[i];
		c->stage = STAGE_WAIT;
		c->deadline_ns = UINT64_MAX;
		return true;
	}
	a->extra = "Retry-After: 5\r\n";
	coati_serve_say(a, 429, "too many pages are being made; ask again when one is done");
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
				"the Host of the request is not this machine; ask for localhost or "
				"127.0.0.1");
	else if (request->is_cross_site)
		coati_serve_say(&a, 403, "a page of another site may not ask");
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
		drop(s, c);
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
		drop(s, c);
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
			drop(s, c);
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
		drop(s, c); /* it has its answer */
		return;
	}
	s->counts.timeouts++;
	if (c->stage == STAGE_READ && c->in_len)
		answer_error(s, c, 408, "the request took too long");
	else
		drop(s, c);
}

/* ---- new ones ---- */

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
static uint64_t room_at_ns(struct coati_server *s)
{
	struct client *c;

	if (s->counts.clients < s->max_clients)
		return 0;
	c = quietest(s);
	return c ? quiet_since(s, c) + QUIET_NS : UINT64_MAX;
}

static void serve_client(struct coati_server *s, struct client *c, short events);

/* A free slot, or that of the quietest, which is listened to once more; NULL: all of them have
 * something to say. */
static struct client *take_slot(struct coati_server *s)
{
	struct client *c = free_slot(s);

	while (!c && (c = quietest(s))) {
		uint64_t since = quiet_since(s, c);

		serve_client(s, c, POLLIN);
		if (fd_of(c) >= 0 && quiet_since(s, c) == since) {
			s->counts.crowded++;
			drop(s, c);
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
		answer_error(s, c, 403, "only the user of the process and root may ask here");
	} else if (!make_room(c, HTTP_HEAD_BYTES)) {
		drop(s, c);
	}
}

static void accept_more(struct coati_server *s)
{
	struct client *c;
	int fd;

	while (room_at_ns(s) <= now_ns()) {
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

/* ---- jobs ---- */

static struct client *client_of(struct coati_server *s, const struct serve_job *job)
{
	for (uint32_t i = 0; i < s->max_clients; i++)
		if (fd_of(&s->clients[i]) >= 0 && s->clients[i].stage == STAGE_WAIT &&
		    s->clients[i].job == job)
			return &s->clients[i];
	return NULL; /* it left */
}

static void look_at_jobs(struct coati_server *s)
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

/* ---- the thread ---- */

/* What to wait for; returns until when, in ns, UINT64_MAX for ever. */
static uint64_t prepare(struct coati_server *s)
{
	uint64_t room_at = room_at_ns(s);
	uint64_t accept_at = room_at > s->accept_at_ns ? room_at : s->accept_at_ns;
	bool can_accept = now_ns() >= accept_at;
	uint64_t until = can_accept ? UINT64_MAX : accept_at;

	s->polled[0] = (struct pollfd){ .fd = s->wake, .events = POLLIN };
	s->polled[1] = (struct pollfd){ .fd = can_accept ? s->place.fd : -1, .events = POLLIN };
	s->nr_polled = 2;
	for (uint32_t i = 0; i < s->max_clients; i++) {
		struct client *c = &s->clients[i];

		c->polled_at = 0;
		if (fd_of(c) < 0)
			continue;
		c->polled_at = s->nr_polled++;
		s->polled[c->polled_at] =
			(struct pollfd){ .fd = fd_of(c),
					 .events = c->stage == STAGE_WRITE ? POLLOUT : POLLIN };
		if (c->deadline_ns < until)
			until = c->deadline_ns;
	}
	return until;
}

/*
 * Only descriptors that there are: poll() takes no more entries than RLIMIT_NOFILE. A host that
 * lowered its limit below that is looked at now and then, so that coati_server_stop() never waits
 * for ever.
 */
static bool wait_for_events(struct coati_server *s)
{
	uint64_t until = prepare(s), now = now_ns(), left = until > now ? until - now : 0;
	struct timespec wait = { (time_t)(left / NSEC_PER_SEC), (long)(left % NSEC_PER_SEC) };

	if (ppoll(s->polled, s->nr_polled, until == UINT64_MAX ? NULL : &wait, NULL) >= 0)
		return true;
	if (errno != EINTR)
		usleep(RETRY_NS / NSEC_PER_USEC);
	return false;
}

static void serve_client(struct coati_server *s, struct client *c, short events)
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

static void *run(void *server)
{
	struct coati_server *s = server;
	uint64_t count;

	pthread_setname_np(pthread_self(), "coati-serve");
	for (;;) {
		bool came = wait_for_events(s);

		if (atomic_load_explicit(&s->is_ending, memory_order_acquire))
			return NULL;
		if (!came)
			continue;
		if (s->polled[0].revents && read(s->wake, &count, sizeof(count)) > 0)
			look_at_jobs(s);
		for (uint32_t i = 0; i < s->max_clients; i++)
			if (s->clients[i].polled_at && fd_of(&s->clients[i]) >= 0)
				serve_client(s, &s->clients[i],
					     s->polled[s->clients[i].polled_at].revents);
		if (s->polled[1].revents)
			accept_more(s);
	}
}

/* ---- start, stop, fork ---- */

/* The child forgets its parent's servers, and holds none of their sockets. */
static void in_child(void)
{
	for (int i = 0; i < SERVERS; i++) {
		struct coati_server *s =
			atomic_exchange_explicit(&servers[i], NULL, memory_order_relaxed);

		if (!s)
			continue;
		fd_closep(&s->place.fd);
		fd_closep(&s->wake);
		for (uint32_t c = 0; c < s->max_clients; c++)
			if (fd_of(&s->clients[c]) >= 0)
				close(fd_of(&s->clients[c]));
	}
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static bool enter(struct coati_server *s)
{
	pthread_once(&once, watch_forks);
	for (int i = 0; i < SERVERS; i++) {
		struct coati_server *none = NULL;

		/* pairs with: the loads of in_child(), which runs after everything */
		if (atomic_compare_exchange_strong_explicit(
			    &servers[i], &none, s, memory_order_acq_rel, memory_order_relaxed))
			return true;
	}
	return false;
}

static void leave(struct coati_server *s)
{
	for (int i = 0; i < SERVERS; i++) {
		struct coati_server *it = s;

		atomic_compare_exchange_strong_explicit(&servers[i], &it, NULL,
							memory_order_acq_rel, memory_order_relaxed);
	}
}

static void release(struct coati_server *s)
{
	fd_closep(&s->wake);
	coati_serve_unlisten(&s->place);
	coati_free(s->clients);
	coati_free(s->polled);
	coati_free(s);
}

static struct coati_server *make(const struct coati_serve_opts *opts)
{
	struct coati_server *s = coati_alloc(sizeof(*s));

	if (!s)
		return NULL;
	s->place.fd = s->wake = -1;
	s->pid = getpid();
	s->timeout_ns = (opts->timeout_ms ? opts->timeout_ms : TIMEOUT_MS) * NSEC_PER_MSEC;
	s->max_clients = opts->max_clients ? opts->max_clients : CLIENTS;
	s->stacks = opts->stacks;
	s->clients = coati_alloc_array(s->max_clients, sizeof(*s->clients));
	s->polled = coati_alloc_array(2 + s->max_clients, sizeof(*s->polled));
	if (!s->clients || !s->polled) {
		release(s);
		return NULL;
	}
	for (uint32_t i = 0; i < s->max_clients; i++)
		atomic_store_explicit(&s->clients[i].fd, -1, memory_order_relaxed);
	return s;
}

static int start(struct coati_server *s, const char *where, bool anywhere, struct coati_error *err)
{
	int r = coati_serve_listen(where, anywhere, &s->place, err);

	if (r < 0)
		return r;
	s->wake = eventfd(0, EFD_CLOEXEC);
	if (s->wake < 0)
		return coati_fail(err, -errno, "an eventfd: %m");
	if (!enter(s))
		return coati_fail(err, -ENOSPC,
				  "%s: there are %d servers in this process already; stop one",
				  where, SERVERS);
	coati_sampler_objects_begin();
	r = coati_serve_thread(&s->thread, run, s);
	if (r < 0) {
		leave(s);
		return coati_fail(err, r, "the thread that serves %s: %m", where);
	}
	return 0;
}

int coati_serve(const char *where, const struct coati_serve_opts *opts, struct coati_server **ret,
		struct coati_error *err)
{
	struct coati_serve_opts o;
	struct coati_server *s;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || !where || !ret || o.flags & ~COATI_SERVE_ANYWHERE ||
	    o.max_clients > MAX_CLIENTS || o.stacks > COATI_SAMPLER_STACKS_TABLES)
		return coati_fail(
			err, r < 0 ? r : -EINVAL,
			"coati_serve: options that this library does not know, or no place");
	s = make(&o);
	if (!s)
		return coati_fail(err, -ENOMEM, "no memory to serve %s", where);
	r = start(s, where, o.flags & COATI_SERVE_ANYWHERE, err);
	if (r < 0) {
		release(s);
		return r;
	}
	*ret = s;
	return 0;
}

uint16_t coati_server_port(const struct coati_server *server)
{
	return server->place.port;
}

void coati_server_stop(struct coati_server *server)
{
	struct serve_answer a;
	uint64_t one = 1;

	if (!server)
		return;
	leave(server);
	if (server->pid != getpid())
		/* a child: what its parent's thread did at the fork is not known, so nothing of it
		 * is touched */
		return;
	/* pairs with: acquire in run() */
	atomic_store_explicit(&server->is_ending, true, memory_order_release);
	while (write(server->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(server->thread, NULL);
	for (uint32_t i = 0; i < server->max_clients; i++)
		if (fd_of(&server->clients[i]) >= 0)
			drop(server, &server->clients[i]);
	for (int i = 0; i < SERVE_JOBS; i++) {
		if (!server->jobs[i].taken)
			continue;
		coati_job_finish(&server->jobs[i], &a);
		coati_strbuf_fini(&a.body);
	}
	release(server);
}
