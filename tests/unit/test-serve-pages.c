/* SPDX-License-Identifier: MIT */
/* The pages that take a while: stacks of all threads, profiles of the heap, and that nobody waits
 * for them who does not want them. */
#include "lib/sanitizer.h"
#include "lib/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/heap.h>
#include <coati/live.h>
#include <coati/locks.h>
#include <coati/serve.h>

#include "live/page.h"
#include "live/serve-pages.h"
#include "unit/serve-client.h"

/* ---- threads ---- */

static _Atomic bool ending;
static _Atomic uint32_t ready;

/* The innermost function may have no frame, and then its caller is not seen: those further out
 * are. */
static __attribute__((noinline)) void spin_around(void)
{
	while (!atomic_load(&ending))
		__asm__ volatile("");
}

static __attribute__((noinline)) void begin_to_spin(void)
{
	atomic_fetch_add(&ready, 1);
	spin_around();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void *spins(void *name)
{
	pthread_setname_np(pthread_self(), name);
	COATI_LABEL("tenant", name);
	begin_to_spin();
	return NULL;
}

static void *blocks_signals(void *name)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_setname_np(pthread_self(), name);
	begin_to_spin();
	return NULL;
}

static void *waits(void *arg)
{
	atomic_fetch_add(&ready, 1);
	while (sem_wait(arg) < 0)
		;
	return NULL;
}

static pthread_t thread(void *(*fn)(void *), const char *name)
{
	uint32_t before = atomic_load(&ready);
	pthread_t t;

	CHECK_INT(pthread_create(&t, NULL, fn, (void *)(uintptr_t)name), ==, 0);
	while (atomic_load(&ready) == before)
		sched_yield();
	return t;
}

/* What stands between the line of the thread and the next one. */
static const char *part_of(const char *text, const char *name)
{
	static char part[8192];
	const char *at = strstr(text, name), *end;

	if (!at)
		test_fail_at(__FILE__, __LINE__, "no thread %s in: %s", name, text);
	end = strstr(at, "\n\n");
	CHECK(end);
	snprintf(part, sizeof(part), "%.*s", (int)(end - at), at);
	return part;
}

/* How many are shown; a sanitizer may have some of its own. */
static int threads_of(const char *answer)
{
	const char *at = body_of(answer) - 1;
	int nr = 0;

	for (; (at = strstr(at, "\nthread ")); at++)
		nr++;
	return nr;
}

#ifdef UNDER_TSAN
#define SPINS ""
#else
#define SPINS "\tspins+0x"
#endif

/* A thread that did not get to run in time is not there at the first try. */
static const char *asked_until(const struct coati_server *server, const char *request,
			       const char *part)
{
	const char *answer;

	if (test_emulated())
		test_skip("the emulator does not say which pages of a stack are there");
	do {
		answer = asked(server, request);
		CHECK_INT(status_of(answer), ==, 200);
	} while (!strstr(answer, part));
	return answer;
}

TEST_LIMIT(serve_threads_show_stacks_labels_and_why_there_is_none, 60)
{
	struct coati_server *server = started("0", NULL);
	pthread_t threads[2] = { thread(spins, "acme"), thread(blocks_signals, "deaf") };
	char answer[65536];

	snprintf(answer, sizeof(answer), "%s", asked_until(server, PAGE("threads?debug=2"), SPINS));
	CHECK_INT(status_of(answer), ==, 200);
	CHECK_INT(threads_of(answer), >=, 5); /* this, those two, the server, who makes the page */
#ifndef UNDER_TSAN
	CHECK_HAS(part_of(answer, "\"acme\" [R] cpu "), "\tspin_around+0x");
	CHECK_HAS(part_of(answer, "\"acme\" [R] cpu "), "\tspins+0x");
	CHECK_HAS(part_of(answer, "\"acme\""), "\tlabels: {\"tenant\": \"acme\"}\n");
#endif
	CHECK_HAS(part_of(answer, "\"deaf\""), "\tno stack: it blocks the signal that asks");
	CHECK_HAS(part_of(answer, "\"coati-page\""), "no stack: it is writing this page");
	atomic_store(&ending, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	coati_server_stop(server);
}

TEST_LIMIT(serve_threads_with_the_same_stack_are_one_line_for_pprof, 60)
{
	struct coati_server *server = started("0", NULL);
	pthread_t threads[3] = { thread(spins, "acme"), thread(spins, "acme"),
				 thread(spins, "other") };
	const char *answer = asked_until(server, PAGE("threads?debug=1"), SPINS);

	CHECK_HAS(answer, "\nthreads profile: total ");
	CHECK_HAS(answer, "\nMAPPED_LIBRARIES:\n");
#ifndef UNDER_TSAN
	CHECK_HAS(answer, "\n#\tlabels: {\"tenant\": \"");
#endif
	CHECK_MEM(body_of(asked(server, PAGE("threads"))), "\x1f\x8b", 2);
	atomic_store(&ending, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	coati_server_stop(server);
}

/* More than are asked at a time; they sleep in the kernel and go on sleeping. */
TEST_LIMIT(serve_threads_are_all_there_when_they_are_many, 60)
{
	struct coati_server *server = started("0", NULL);
	pthread_t threads[150];
	const char *answer;
	sem_t sem;

	CHECK_OK(sem_init(&sem, 0, 0));
	for (int i = 0; i < 150; i++)
		threads[i] = thread(waits, (const char *)&sem);
	answer = asked(server, PAGE("threads?debug=2"));
	CHECK_INT(threads_of(answer), >=, 153);
	for (int i = 0; i < 150; i++)
		CHECK_OK(sem_post(&sem));
	for (int i = 0; i < 150; i++)
		pthread_join(threads[i], NULL);
	coati_server_stop(server);
}

TEST(serve_threads_take_a_signal_that_the_program_does_not_use)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, now;
	struct coati_server *server;

	for (int sig = SIGRTMIN + 1; sig <= SIGRTMAX; sig++)
		CHECK_OK(sigaction(sig, &ignore, NULL));
	server = started("0", NULL);
	CHECK_INT(status_of(asked(server, PAGE("threads"))), ==, 200);
	CHECK_OK(sigaction(SIGRTMIN, NULL, &now));
	CHECK(now.sa_flags & SA_SIGINFO);
	for (int sig = SIGRTMIN + 1; sig <= SIGRTMAX; sig++) {
		CHECK_OK(sigaction(sig, NULL, &now));
		CHECK(now.sa_handler == SIG_IGN);
	}
	CHECK_OK(sigaction(SIGRTMIN, &ignore, NULL));
	CHECK_HAS(asked(server, PAGE("threads")), "no real-time signal is free");
	coati_server_stop(server);
}

/* ---- the heap ---- */

TEST(serve_heap_is_there_once_it_is_started)
{
	struct coati_heap_opts opts = { .size = sizeof(opts), .rate_bytes = 1 };
	struct coati_server *server = started("0", NULL);
	char block[16];

	CHECK_INT(status_of(asked(server, PAGE("heap"))), ==, 404);
	CHECK_OK(coati_heap_start(&opts, NULL));
	coati_heap_note_alloc(block, 100);
	CHECK_HAS(asked(server, PAGE("")),
		  "<tr><td>1</td><td><a href=\"/debug/pprof/heap?debug=1\">");
	CHECK_HAS(asked(server, PAGE("heap?debug=1")), "\nheap profile: 1: 100 [1: 100] @ ");
	CHECK_HAS(asked(server, PAGE("allocs")), "filename=\"allocs.pb.gz\"");
	CHECK_HAS(asked(server, "HEAD /debug/pprof/heap HTTP/1.1\r\n" HOST "\r\n"), " 405 ");
	coati_heap_note_free(block);
	coati_server_stop(server);
}

TEST(serve_heap_of_some_seconds_is_what_came_meanwhile)
{
	struct coati_heap_opts opts = { .size = sizeof(opts), .rate_bytes = 1 };
	struct coati_server *server = started("0", NULL);
	char blocks[4];
	int fd;

	CHECK_OK(coati_heap_start(&opts, NULL));
	coati_heap_note_alloc(&blocks[0], 100);
	fd = connected(server);
	sent(fd, PAGE("heap?seconds=1&debug=1"), sizeof(PAGE("heap?seconds=1&debug=1")) - 1);
	/* a second is long, but when it is not: what was before is not in it, however late this
	 * comes */
	coati_heap_note_free(&blocks[0]);
	CHECK(!strstr(received(fd), "[1: 100]"));
	coati_server_stop(server);
}

/* ---- the trace ---- */

TEST(serve_trace_is_a_recording_of_the_next_second)
{
	struct coati_server *server = started("0", NULL);
	const char *answer = asked(server, PAGE("trace?seconds=1"));

	CHECK_INT(status_of(answer), ==, 200);
	CHECK_HAS(answer, "filename=\"trace.data\"");
	CHECK_MEM(body_of(answer), "PERFILE2", 8);
	CHECK_HAS(asked(server, PAGE("")), "/debug/pprof/trace");
	coati_server_stop(server);
}

/* The name is the second field, and may have anything in it. */
TEST(serve_finds_fields_behind_the_name_of_a_process)
{
	static const char stat[] = "7 (a) b) S 4 5 66 18446744073709551615\n";

	CHECK_U64(coati_stat_field(stat, 3), ==, 0); /* no number */
	CHECK_U64(coati_stat_field(stat, 4), ==, 4);
	CHECK_U64(coati_stat_field(stat, 5), ==, 5);
	CHECK_U64(coati_stat_field(stat, 6), ==, 66);
	CHECK_U64(coati_stat_field(stat, 7), ==, UINT64_MAX);
	CHECK_U64(coati_stat_field(stat, 8), ==, 0);
	CHECK_U64(coati_stat_field("", 4), ==, 0);
}

/* ---- jobs ---- */

static _Atomic uint32_t making;
static _Atomic bool may_end;

static void make_slowly(struct page_job *job)
{
	atomic_fetch_add(&making, 1);
	while (!atomic_load(&may_end))
		if (!job->wait(job, 1000000)) {
			atomic_fetch_sub(&making, 1);
			return;
		}
	coati_strbuf_adds(job->body, "at last\n");
}

static const struct live_page slow = { "slow", "", NULL, make_slowly, 0 };

TEST_LIMIT(serve_answers_others_while_pages_are_made_and_refuses_too_many, 60)
{
	struct coati_server *server;
	int fds[8];

	CHECK(coati_page_provide(&slow));
	CHECK(coati_page_provide(&slow));
	server = started("0", NULL);
	for (int i = 0; i < 8; i++) {
		fds[i] = connected(server);
		sent(fds[i], PAGE("slow"), sizeof(PAGE("slow")) - 1);
	}
	while (atomic_load(&making) < 8)
		sched_yield();
	CHECK_HAS(asked(server, "GET /metrics HTTP/1.1\r\n" HOST "\r\n"),
		  "\ncoati_serve_clients 9\n");
	CHECK_INT(status_of(asked(server, PAGE("slow"))), ==, 429);
	close(fds[0]);
	while (atomic_load(&making) == 8)
		sched_yield();
	atomic_store(&may_end, true);
	while (status_of(asked(server, PAGE("slow"))) == 429)
		sched_yield();
	for (int i = 1; i < 8; i++)
		CHECK_STR(body_of(received(fds[i])), "at last\n");
	coati_server_stop(server);
}

TEST_LIMIT(serve_stopped_while_pages_are_made_ends_them, 60)
{
	struct coati_server *server;
	int fd;

	CHECK(coati_page_provide(&slow));
	server = started("0", NULL);
	fd = connected(server);
	sent(fd, PAGE("slow"), sizeof(PAGE("slow")) - 1);
	while (!atomic_load(&making))
		sched_yield();
	coati_server_stop(server);
	CHECK_U64(atomic_load(&making), ==, 0);
	CHECK_STR(received(fd), "");
}

/* ---- metrics of parts ---- */

#define METRICS "GET /metrics HTTP/1.1\r\n" HOST "\r\n"

TEST(serve_metrics_have_what_heap_and_lock_profiles_count)
{
	struct coati_heap_opts heap = { .size = sizeof(heap), .rate_bytes = 1 };
	struct coati_locks_opts locks = { .size = sizeof(locks),
					  .mutex_fraction = 1,
					  .block_rate_ns = 1 };
	struct coati_server *server = started("0", NULL);
	void *blocks[3];
	struct coati_wait w;
	const char *answer = asked(server, METRICS);

	CHECK(!strstr(answer, "coati_heap_") && !strstr(answer, "coati_block_"));
	CHECK_HAS(answer, "\ncoati_sampler_profiles_total 0\n");
	CHECK_OK(coati_heap_start(&heap, NULL));
	CHECK_OK(coati_locks_start(&locks, NULL));
	for (int i = 0; i < 3; i++)
		blocks[i] = coati_heap_malloc(100);
	coati_heap_free(blocks[0]);
	coati_wait_begin(&w, NULL);
	usleep(2000);
	coati_wait_end(&w);
	answer = asked(server, METRICS);
	CHECK_HAS(answer, "# TYPE coati_heap_allocated_bytes_total counter\n"
			  "coati_heap_allocated_bytes_total 300\n");
	CHECK_HAS(answer, "\ncoati_heap_allocated_objects_total 3\n");
	CHECK_HAS(answer, "# TYPE coati_heap_in_use_bytes gauge\ncoati_heap_in_use_bytes 200\n");
	CHECK_HAS(answer, "\ncoati_heap_in_use_objects 2\n");
	CHECK_HAS(answer, "\ncoati_heap_samples_total 3\n");
	CHECK_HAS(answer, "\ncoati_block_waits_total 1\n");
	CHECK(!strstr(answer, "\ncoati_block_delay_seconds_total 0.000"));
	CHECK_HAS(answer, "\ncoati_mutex_contentions_total 0\n");
	CHECK_HAS(answer, "\ncoati_mutex_delay_seconds_total 0.000000\n");
	coati_heap_free(blocks[1]);
	coati_heap_free(blocks[2]);
	coati_server_stop(server);
}

TEST(serve_metrics_have_what_the_sampler_counted)
{
	struct coati_server *server = started("0", NULL);

	CHECK_INT(status_of(asked(server, PAGE("profile?seconds=1"))), ==, 200);
	CHECK_HAS(asked(server, METRICS), "\ncoati_sampler_profiles_total 1\n");
	CHECK_HAS(asked(server, METRICS), "\ncoati_sampler_running 0\n");
	CHECK_HAS(asked(server, METRICS), "\ncoati_sampler_lost_total 0\n");
	coati_server_stop(server);
}
