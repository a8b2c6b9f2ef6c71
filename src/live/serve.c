/* SPDX-License-Identifier: MIT */
/*
 * The server: one thread, one poll(), as many clients as there are slots. A client is read until
 * its request is whole, answered, and then drained until it closes, so that it gets the answer even
 * when it still sends. Whatever it does, it is gone by its deadline; when all slots are taken, the
 * client that has been quiet for longest makes room for the next.
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
#include "live/serve-client.h"
#include "live/serve-pages.h"

#define SERVERS	    8
#define TIMEOUT_MS  10000
#define CLIENTS	    64
#define MAX_CLIENTS 4096
#define RETRY_NS    (NSEC_PER_SEC / 10)

static _Atomic(struct coati_server *) servers[SERVERS];

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- the thread ---- */

/* What to wait for; returns until when, in ns, UINT64_MAX for ever. */
static uint64_t prepare(struct coati_server *s)
{
	uint64_t room_at = coati_clients_room_at_ns(s);
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
			coati_clients_look_at_jobs(s);
		for (uint32_t i = 0; i < s->max_clients; i++)
			if (s->clients[i].polled_at && fd_of(&s->clients[i]) >= 0)
				coati_client_serve(s, &s->clients[i],
						   s->polled[s->clients[i].polled_at].revents);
		if (s->polled[1].revents)
			coati_clients_accept(s);
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
		return coati_fail(err, r, "cannot start the server thread for %s: %m", where);
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
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "coati_serve: unknown options, or no place for the result");
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
			coati_client_drop(server, &server->clients[i]);
	for (int i = 0; i < SERVE_JOBS; i++) {
		if (!server->jobs[i].taken)
			continue;
		coati_job_finish(&server->jobs[i], &a);
		coati_strbuf_fini(&a.body);
	}
	release(server);
}
