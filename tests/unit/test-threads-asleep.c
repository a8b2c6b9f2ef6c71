/* SPDX-License-Identifier: MIT */
/* Threads that sleep are shown with their stacks and labels, and go on sleeping. */
#include "lib/sanitizer.h"
#include "lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <coati/fiber.h>
#include <coati/live.h>
#include <coati/serve.h>

#include "live/labels.h"
#include "live/profiles/threads.h"
#include "live/sampler/objects.h"
#include "unit/sampler-frames.h"
#include "unit/serve-client.h"

#define DEPTH 20

/* A thread in a call that a signal handler ends, until something comes at @fd. */
struct sleeper {
	void *(*fn)(void *);
	const char *name;
	int fd, other; /* what is written to @other comes at @fd */
	sem_t sem;
	_Atomic uint32_t tid;
	int result, error;
	_Atomic bool to_end; /* from here on a signal may end the call */
	pthread_t thread;
};

static struct sleeper *begins(void *ctx)
{
	struct sleeper *s = ctx;

	pthread_setname_np(pthread_self(), s->name);
	atomic_store(&s->tid, (uint32_t)gettid());
	return s;
}

static void *ends(struct sleeper *s, int result)
{
	s->error = errno;
	s->result = result;
	return NULL;
}

static void *in_poll(void *ctx)
{
	struct sleeper *s = begins(ctx);
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	COATI_LABEL("waits", "for a poll");
	return ends(s, poll(&p, 1, 60000));
}

static void *in_select(void *ctx)
{
	struct sleeper *s = begins(ctx);
	struct timeval t = { 60, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(s->fd, &set);
	return ends(s, select(s->fd + 1, &set, NULL, NULL, &t));
}

static void *in_epoll(void *ctx)
{
	struct sleeper *s = begins(ctx);
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	CHECK_OK(epoll_ctl(fd, EPOLL_CTL_ADD, s->fd, &e));
	ends(s, epoll_wait(fd, &e, 1, 60000));
	close(fd);
	return NULL;
}

static void *in_read(void *ctx)
{
	struct sleeper *s = begins(ctx);
	struct timeval t = { 60, 0 };
	char byte;

	CHECK_OK(setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	return ends(s, (int)read(s->fd, &byte, 1));
}

static void *in_semaphore(void *ctx)
{
	struct sleeper *s = begins(ctx);
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 60;
	return ends(s, sem_timedwait(&s->sem, &t) < 0 ? -1 : 1);
}

/* Nothing but a signal ends it: the one that end_sleeper() sends, and no other. */
static void *in_sleep(void *ctx)
{
	struct sleeper *s = begins(ctx);
	struct timespec t = { 600, 0 };
	int err = nanosleep(&t, NULL);

	return ends(s, err < 0 && errno == EINTR && atomic_load(&s->to_end) ? 1 : -1);
}

static void end_a_sleep(int sig)
{
	(void)sig;
}

/* Until the kernel says that it sleeps in a system call other than those of its start. */
static void wait_until_asleep(const struct sleeper *s)
{
	char path[64], line[256];
	long call = -1;
	FILE *f;

	do {
		sched_yield();
		snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", atomic_load(&s->tid));
		f = fopen(path, "re");
		if (!f)
			continue;
		if (!fgets(line, sizeof(line), f) || sscanf(line, "%ld ", &call) != 1)
			call = -1;
		fclose(f);
	} while (call < 0 || (call == SYS_futex && s->fn != in_semaphore));
}

static void start_sleeper(struct sleeper *s)
{
	int fds[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	s->fd = fds[0];
	s->other = fds[1];
	CHECK_OK(sem_init(&s->sem, 0, 0));
	CHECK_INT(pthread_create(&s->thread, NULL, s->fn, s), ==, 0);
	wait_until_asleep(s);
}

static void end_sleeper(struct sleeper *s)
{
	struct sigaction act = { .sa_handler = end_a_sleep };

	atomic_store(&s->to_end, true);
	CHECK_INT(write(s->other, "", 1), ==, 1);
	sem_post(&s->sem);
	if (s->fn == in_sleep) {
		CHECK_OK(sigaction(SIGUSR2, &act, NULL));
		CHECK_INT(pthread_kill(s->thread, SIGUSR2), ==, 0);
	}
	pthread_join(s->thread, NULL);
	close(s->fd);
	close(s->other);
	if (s->result != 1)
		test_fail_at(__FILE__, __LINE__, "%s returned %d: %s", s->name, s->result,
			     strerror(s->error));
}

/* What stands between the line of the thread and the next one. */
static const char *part_of(const char *text, const char *name)
{
	static char part[8192];
	const char *at = strstr(text, name), *end = at ? strstr(at, "\n\n") : NULL;

	if (!end)
		test_fail_at(__FILE__, __LINE__, "no thread %s in: %s", name, text);
	snprintf(part, sizeof(part), "%.*s", (int)(end - at), at);
	return part;
}

TEST_LIMIT(threads_page_ends_no_sleeping_system_call, 60)
{
	struct sleeper all[] = {
		{ .fn = in_poll, .name = "in_poll" },	{ .fn = in_select, .name = "in_select" },
		{ .fn = in_epoll, .name = "in_epoll" }, { .fn = in_read, .name = "in_read" },
		{ .fn = in_sleep, .name = "in_sleep" }, { .fn = in_semaphore, .name = "in_sem" },
	};
	enum { NR = sizeof(all) / sizeof(all[0]) };
	struct coati_server *server;
	const char *answer, *part;

	if (test_emulated())
		test_skip("the emulator shows no registers of threads that sleep");
	server = started("0", NULL);
	for (int i = 0; i < NR; i++)
		start_sleeper(&all[i]);
	for (int round = 0; round < (test_slow() ? 5 : 20); round++) {
		answer = asked(server, PAGE("threads?debug=2"));
		CHECK_INT(status_of(answer), ==, 200);
		for (int i = 0; i < NR; i++) {
			char name[32];

			snprintf(name, sizeof(name), "\"%s\" [S] ", all[i].name);
			part = part_of(answer, name);
			CHECK_HAS(part, "\n\t0x"); /* it has a stack */
			/* through the C library to the function, or the reason why not */
			if (!strstr(part, all[i].name + 1) && !strstr(part, "\t... cut: "))
				test_fail_at(__FILE__, __LINE__, "neither whole nor cut: %s", part);
		}
		CHECK_HAS(part_of(answer, "\"in_poll\""),
			  "\tlabels: {\"waits\": \"for a poll\"}\n");
	}
	for (int i = 0; i < NR; i++)
		end_sleeper(&all[i]);
	coati_server_stop(server);
}

/* Threads that sleep at one place are one line, each thread is in one. */
TEST_LIMIT(threads_page_counts_those_with_the_same_stack, 60)
{
	struct sleeper readers[3], poller = { .fn = in_poll, .name = "in_poll" };
	unsigned int total, sum = 0, nr, threes = 0;
	struct coati_server *server;
	const char *at;
	char x[2]; /* sscanf() does not tell whether what follows the last number is there */

	if (test_emulated())
		test_skip("the emulator shows no registers of threads that sleep");
	server = started("0", NULL);
	for (int i = 0; i < 3; i++) {
		readers[i] = (struct sleeper){ .fn = in_read, .name = "in_read" };
		start_sleeper(&readers[i]);
	}
	start_sleeper(&poller);
	at = strstr(asked(server, PAGE("threads?debug=1")), "threads profile: total ");
	CHECK(at);
	CHECK_INT(sscanf(at, "threads profile: total %u", &total), ==, 1);
	for (; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (sscanf(at, "%u @ 0%1[x]", &nr, x) == 2 ||
		    sscanf(at, "# %u without a stac%1[k]", &nr, x) == 2) {
			sum += nr;
			threes += nr == 3;
		}
	CHECK_U64(total, >=, 5); /* and the server's own */
	CHECK_U64(sum, ==, total);
	CHECK_U64(threes, ==, 1);
	for (int i = 0; i < 3; i++)
		end_sleeper(&readers[i]);
	end_sleeper(&poller);
	coati_server_stop(server);
}

/* ---- frames ---- */

/* A sanitizer makes frames that are found by the frame pointer, which a sleeping thread does not
 * show. */
static void skip_where_frames_have_pointers(void)
{
	if (test_emulated())
		test_skip("the emulator shows no registers of threads that sleep");
#ifdef UNDER_SANITIZER
	test_skip("code with a sanitizer in it needs its frame pointer");
#endif
}

static bool is_in(const struct thread_seen *t, const struct frames *f)
{
	for (uint32_t at = 0; at + f->len <= t->nr_frames; at++) {
		uint32_t i = 0;

		while (i < f->len && t->frames[at + i] == f->callers[f->len - 1 - i])
			i++;
		if (i == f->len)
			return true;
	}
	return false;
}

struct deep {
	struct frames f;
	int fds[2];
	_Atomic uint32_t tid;
	pthread_t thread;
};

static void *goes_down(void *ctx)
{
	struct deep *d = ctx;

	atomic_store(&d->tid, (uint32_t)gettid());
	d->f.leaf = coati_frames_sleep;
	d->f.ctx = &d->fds[0];
	coati_frames_down(&d->f, DEPTH);
	return NULL;
}

TEST(threads_that_sleep_have_every_frame_without_a_signal)
{
	struct threads_seen seen;
	struct deep d = { .tid = 0 };
	uint32_t whole = 0;
	sigset_t all;

	skip_where_frames_have_pointers();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL); /* inherited: no signal would get through */
	coati_sampler_objects_begin();
	CHECK_OK(pipe2(d.fds, O_CLOEXEC));
	CHECK_INT(pthread_create(&d.thread, NULL, goes_down, &d), ==, 0);
	do {
		CHECK_OK(coati_threads_look(COATI_SAMPLER_STACKS_AUTO, &seen));
		for (const struct thread_seen *t = seen.first; t; t = t->next)
			if (t->tid == atomic_load(&d.tid) && !t->why && is_in(t, &d.f))
				whole++;
		coati_threads_free(&seen);
	} while (!whole);
	CHECK_U64(d.f.len, ==, DEPTH + 1 + DEPTH / 4);
	CHECK_OK(coati_threads_look(COATI_SAMPLER_STACKS_POINTERS, &seen));
	for (const struct thread_seen *t = seen.first; t; t = t->next)
		if (t->tid == atomic_load(&d.tid)) {
			CHECK_U64(t->nr_frames, ==, 1);
			CHECK(t->cut);
		}
	coati_threads_free(&seen);
	CHECK_INT(write(d.fds[1], "", 1), ==, 1);
	pthread_join(d.thread, NULL);
}

/* ---- threads that wake up meanwhile ---- */

static _Atomic bool ending;
static _Atomic uint32_t hopper_tid;
static struct frames shallow_down, deep_down;

static long nap_ns = 20000;

static void *hops(void *ctx)
{
	struct frames once;
	sigset_t all;

	sigfillset(&all); /* what is seen of it is seen without a signal */
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	atomic_store(&hopper_tid, (uint32_t)gettid());
	while (!atomic_load(&ending)) {
		once = (struct frames){ .leaf = coati_frames_nap, .ctx = &nap_ns };
		coati_frames_down(&once, 3);
		once = (struct frames){ .leaf = coati_frames_nap, .ctx = &nap_ns };
		coati_frames_down(&once, DEPTH);
	}
	return ctx;
}

/* Which addresses a stack may have: those of either depth, from the leaf on. */
static void *learns(void *ctx)
{
	shallow_down = (struct frames){ .leaf = coati_frames_nap, .ctx = &nap_ns };
	deep_down = (struct frames){ .leaf = coati_frames_nap, .ctx = &nap_ns };
	coati_frames_down(&shallow_down, 3);
	coati_frames_down(&deep_down, DEPTH);
	return ctx;
}

/* The callers of the two stacks but for their outermost frame, which is another call each. */
static bool is_one_of_both(const struct thread_seen *t)
{
	struct frames inner[2] = { shallow_down, deep_down };

	for (int i = 0; i < 2; i++) {
		memmove(inner[i].callers, inner[i].callers + 1, sizeof(inner[i].callers) - 8);
		inner[i].len--;
		if (is_in(t, &inner[i]))
			return true;
	}
	return false;
}

TEST_LIMIT(threads_that_wake_up_while_they_are_seen_have_no_mixed_stacks, 120)
{
	uint32_t seen_at_depth = 0, mixed = 0;
	struct threads_seen seen;
	pthread_t thread;

	skip_where_frames_have_pointers();
	coati_sampler_objects_begin();
	learns(NULL);
	CHECK_INT(pthread_create(&thread, NULL, hops, NULL), ==, 0);
	while (!atomic_load(&hopper_tid))
		sched_yield();
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(coati_threads_look(COATI_SAMPLER_STACKS_AUTO, &seen));
		for (const struct thread_seen *t = seen.first; t; t = t->next) {
			if (t->tid != atomic_load(&hopper_tid) || t->why || t->state == 'R')
				continue;
			seen_at_depth += is_one_of_both(t);
			mixed += t->nr_frames > 1 && !is_one_of_both(t);
		}
		coati_threads_free(&seen);
	}
	atomic_store(&ending, true);
	pthread_join(thread, NULL);
	printf("# %u stacks of 1000 looks\n", seen_at_depth);
	CHECK_U64(mixed, ==, 0);
}

/* ---- labels in a child ---- */

static void *finds_label(void *tid)
{
	struct threads_seen seen;
	bool found = false;

	for (int i = 0; i < 1000 && !found; i++) {
		if (coati_threads_look(COATI_SAMPLER_STACKS_AUTO, &seen) < 0)
			return NULL;
		for (const struct thread_seen *t = seen.first; t; t = t->next)
			found = found ||
				(t->tid == *(uint32_t *)tid && t->state == 'S' && t->labels.size);
		coati_threads_free(&seen);
	}
	return found ? tid : NULL;
}

/* The thread uses other labels at the fork, as one that runs a fiber does: they are not the
 * thread's. */
TEST(threads_that_sleep_keep_their_labels_in_the_child_of_a_fork)
{
	static struct coati_label_key key = COATI_LABEL_KEY("tenant");
	static struct label_thread other;
	struct label_thread *own;
	int status;
	pid_t pid;

	if (test_emulated())
		test_skip("the emulator shows no registers of threads that sleep");
#ifdef UNDER_TSAN
	test_skip("TSan starts no threads in a child");
#endif
	coati_sampler_objects_begin();
	CHECK_OK(coati_label_set(&key, "acme"));
	own = atomic_load(&coati_label_self);
	atomic_store(&other.now, &other.records[0]);
	atomic_store(&coati_label_self, &other);
	pid = fork();
	atomic_store(&coati_label_self, own);
	CHECK_OK(pid);
	if (!pid) {
		uint32_t tid = (uint32_t)gettid();
		void *found = NULL;
		pthread_t thread;
		sigset_t all;

		sigfillset(&all); /* a signal would find them by itself */
		pthread_sigmask(SIG_SETMASK, &all, NULL);
		if (pthread_create(&thread, NULL, finds_label, &tid) ||
		    pthread_join(thread, &found))
			_exit(2);
		_exit(found ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
}

/* ---- labels of a fiber ---- */

struct fiber_sleeper {
	struct coati_label_key *key;
	_Atomic uint32_t tid;
	sem_t wakes;
	bool has_labels; /* the thread, beside those of the fiber */
};

static void *sleeps_in_fiber(void *ctx)
{
	struct coati_fiber *fiber = NULL;
	struct fiber_sleeper *s = ctx;

	if (s->has_labels)
		CHECK_OK(coati_label_set(s->key, "thread"));
	CHECK_OK(coati_fiber_create(&fiber, NULL));
	CHECK_OK(coati_fiber_switch(fiber));
	CHECK_OK(coati_label_set(s->key, "fiber"));
	atomic_store(&s->tid, (uint32_t)gettid());
	while (sem_wait(&s->wakes))
		;
	CHECK_OK(coati_fiber_end(&fiber));
	return NULL;
}

/* How often its labels were seen without a signal, and are @wanted. */
static uint32_t count_labels(uint32_t tid, const char *wanted)
{
	struct threads_seen seen;
	struct coati_labels labels;
	char text[64] = "";
	uint32_t n = 0;

	for (int i = 0; i < 100; i++) {
		CHECK_OK(coati_threads_look(COATI_SAMPLER_STACKS_AUTO, &seen));
		for (const struct thread_seen *t = seen.first; t; t = t->next) {
			if (t->tid != tid || t->state != 'S')
				continue;
			labels = t->labels;
			snprintf(text, sizeof(text), "%.*s",
				 labels.size > 2 ? (int)labels.size - 2 : 0, labels.bytes + 2);
			CHECK_STR(text, wanted);
			n++;
		}
		coati_threads_free(&seen);
	}
	return n;
}

TEST(threads_that_sleep_in_a_fiber_have_the_labels_of_the_fiber)
{
	static struct coati_label_key key = COATI_LABEL_KEY("tenant");
	struct fiber_sleeper s = { .key = &key };
	pthread_t thread;

	if (test_emulated())
		test_skip("the emulator shows no registers of threads that sleep");
	coati_sampler_objects_begin();
	for (int i = 0; i < 2; i++) {
		s.has_labels = i;
		atomic_store(&s.tid, 0);
		CHECK_OK(sem_init(&s.wakes, 0, 0));
		CHECK_INT(pthread_create(&thread, NULL, sleeps_in_fiber, &s), ==, 0);
		while (!atomic_load(&s.tid))
			sched_yield();
		CHECK_U64(count_labels(atomic_load(&s.tid), "fiber"), >=, 1);
		CHECK_OK(sem_post(&s.wakes));
		CHECK_INT(pthread_join(thread, NULL), ==, 0);
		sem_destroy(&s.wakes);
	}
}
