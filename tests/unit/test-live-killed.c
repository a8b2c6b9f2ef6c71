/* SPDX-License-Identifier: MIT */
/*
 * Processes that die while they write live events, at an instant that nobody chose. Each thread
 * counts in shared memory how many of its events have been written; after the death every one of
 * them must be in the memory of the flight recorder, and nothing that is there may be torn.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/trace.h>

#include "base/clock.h"
#include "lib/test.h"
#include "live-read/check.h"
#include "live-read/flight.h"
#include "live-read/reader.h"

#define THREADS 3
#define EVENTS	3000u

/* What the child has done, as the parent sees it. */
struct ledger {
	_Alignas(64) _Atomic uint64_t done[THREADS][8]; /* a cache line each */
	_Atomic uint32_t tids[THREADS];
};

struct writer_arg {
	struct ledger *ledger;
	int index;
	int signal; /* that the thread sends to itself half-way; 0: none */
};

/* ---- the child ---- */

/* One number in one of several shapes; it counts when the call has returned. */
static void emit(uint64_t n)
{
	static struct coati_site counter = COATI_SITE(COATI_SITE_COUNTER, "t", "n", NULL, 0, 0);
	static struct coati_site region = COATI_SITE(COATI_SITE_REGION, "t", "r", NULL, 0, 0);
	static struct coati_site text = COATI_SITE(COATI_SITE_LOG, "t", "l", NULL, 0, 0);
	char line[32];
	int len;

	if (n % 16 == 3)
		coati_region_begin(&region);
	if (n % 16 == 11)
		coati_region_end(&region);
	if (n % 5) {
		coati_counter(&counter, (int64_t)n);
		return;
	}
	len = snprintf(line, sizeof(line), "%llu", (unsigned long long)n);
	coati_log_text(&text, line, (size_t)len);
}

static void *write_events(void *arg)
{
	struct writer_arg *a = arg;

	atomic_store(&a->ledger->tids[a->index], (uint32_t)gettid());
	for (uint64_t n = 1; n <= EVENTS; n++) {
		emit(n);
		atomic_store_explicit(&a->ledger->done[a->index][0], n, memory_order_release);
		if (a->signal && n == EVENTS / 2)
			raise(a->signal);
	}
	for (;;)
		pause();
	return NULL;
}

static void live_and_die(struct ledger *ledger, int signal)
{
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .bytes = 4 << 20,
					 .generation_ns = 5 * NSEC_PER_MSEC,
					 .directory = "rec" };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };
	struct writer_arg args[THREADS];
	pthread_t threads[THREADS];

	if (signal) /* a sanitizer would take it for its own */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	if (coati_recorder_start(&o, &rec, &err) < 0) {
		fprintf(stderr, "# %s\n", err.text);
		_exit(3);
	}
	for (int i = 0; i < THREADS; i++) {
		args[i] = (struct writer_arg){ ledger, i, i == 1 ? signal : 0 };
		if (pthread_create(&threads[i], NULL, write_events, &args[i]))
			_exit(4);
	}
	for (;;)
		pause();
}

/* ---- the parent ---- */

static uint64_t total(const struct ledger *l)
{
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += atomic_load_explicit(&l->done[i][0], memory_order_acquire);
	return sum;
}

/* How often each number was seen, by thread. */
struct seen {
	uint8_t n[THREADS][EVENTS + 1];
	uint64_t lost;
	bool dropped; /* a generation made room for others: it lived too long to say anything */
};

static void note(struct seen *seen, const struct ledger *l, const struct coati_trace_event *e)
{
	uint64_t n = (uint64_t)e->number;

	if (e->kind == COATI_TRACE_LOST)
		seen->lost += n;
	if (e->kind == COATI_TRACE_LOG) {
		n = 0;
		for (uint32_t i = 0; i < e->text.size; i++) {
			CHECK(e->text.text[i] >= '0' && e->text.text[i] <= '9');
			n = 10 * n + (uint64_t)(e->text.text[i] - '0');
		}
	} else if (e->kind != COATI_TRACE_COUNTER) {
		return;
	}
	CHECK(e->site);
	for (int i = 0; i < THREADS; i++)
		if (e->tid == atomic_load(&l->tids[i])) {
			CHECK_U64(n, <=, EVENTS);
			seen->n[i][n]++;
		}
}

static void drain(struct coati_live_reader *t, struct coati_trace_check *c, struct seen *seen,
		  const struct ledger *l)
{
	struct coati_trace_finding f;
	const struct coati_trace_event *e;
	int n;

	while ((n = coati_live_reader_next(t, &e)) > 0) {
		if (coati_trace_check_event(c, e, &f) != 0)
			test_fail_at(__FILE__, __LINE__, "event %llu: %s",
				     (unsigned long long)f.event, f.text);
		note(seen, l, e);
	}
	CHECK_INT(n, ==, 0);
}

static void read_flight(const char *path, struct seen *seen, const struct ledger *l)
{
	struct coati_trace_check *c = NULL;
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_flight_info info;
	struct coati_flight *f = NULL;
	struct coati_live_reader *t = NULL;
	struct coati_error err = { 0 };
	const void *bytes;
	uint64_t where;
	size_t size;
	int n;

	if (coati_flight_open(path, &f, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_INT(coati_live_reader_new(NULL, &t, NULL), ==, 0);
	CHECK_INT(coati_trace_check_new(&c, NULL), ==, 0);
	while ((n = coati_flight_next(f, &bytes, &size, &where)) > 0) {
		CHECK_INT(coati_live_reader_feed(t, bytes, size, where, NULL), ==, 0);
		drain(t, c, seen, l);
	}
	CHECK_INT(n, ==, 0);
	CHECK_INT(coati_live_reader_finish(t), ==, 0);
	drain(t, c, seen, l);
	coati_live_reader_get_quality(t, &q);
	coati_flight_get_info(f, &info);
	if (q.damaged)
		test_fail_at(__FILE__, __LINE__, "%s", coati_live_reader_damage(t)->text);
	CHECK_U64(q.missing, ==, 0);
	CHECK_U64(q.unresolved, ==, 0);
	seen->dropped = info.oldest;
	CHECK(!info.is_alive && !info.has_ended && !info.nr_damaged && !info.nr_changed);
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
	coati_flight_close(&f);
}

/* Every number that was done is there once; so is what came behind it, without a hole. */
static void check_thread(const struct seen *seen, int thread, uint64_t done)
{
	uint64_t last = 0;

	for (uint64_t n = 1; n <= EVENTS; n++)
		if (seen->n[thread][n])
			last = n;
	CHECK_U64(last, >=, done);
	CHECK_U64(last, <=, done + 1);
	for (uint64_t n = 1; n <= last; n++)
		if (seen->n[thread][n] != 1)
			test_fail_at(__FILE__, __LINE__, "event %llu of %llu was seen %u times",
				     (unsigned long long)n, (unsigned long long)done,
				     seen->n[thread][n]);
}

/* The one file of the recorder. */
static void find_file(char *path, size_t size)
{
	DIR *d = opendir("rec");
	int nr = 0;

	CHECK(d);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.') {
			snprintf(path, size, "rec/%s", e->d_name);
			nr++;
		}
	closedir(d);
	CHECK_INT(nr, ==, 1);
}

/* Dies by @signal of its own, or by a SIGKILL when so many events are written. False: on a busy
 * machine it took so long that the recorder dropped its first generations, and nothing can be said.
 */
static bool die_once(int signal, uint64_t when)
{
	struct ledger *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct seen seen;
	char path[300];
	pid_t pid;
	int status;

	CHECK(l != MAP_FAILED);
	pid = fork();
	CHECK_INT(pid, >=, 0);
	if (pid == 0)
		live_and_die(l, signal);
	while (!signal && total(l) < when && waitpid(pid, &status, WNOHANG) == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 20000 },
			  NULL); /* its CPUs are the child's */
	if (!signal)
		kill(pid, SIGKILL);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFSIGNALED(status));
	CHECK_INT(WTERMSIG(status), ==, signal ? signal : SIGKILL);
	find_file(path, sizeof(path));
	memset(&seen, 0, sizeof(seen));
	read_flight(path, &seen, l);
	CHECK_U64(seen.lost, ==, 0);
	for (int i = 0; i < THREADS && !seen.dropped; i++)
		check_thread(&seen, i, atomic_load(&l->done[i][0]));
	CHECK_INT(unlink(path), ==, 0);
	munmap(l, sizeof(*l));
	return !seen.dropped;
}

TEST_LIMIT(live_killed_at_any_instant_leaves_every_event_that_was_written, 120)
{
	unsigned int rounds = test_rounds(test_emulated() ? 20 : test_slow() ? 60 : 300);

	for (unsigned int i = 0; i < rounds;)
		i += die_once(0, 1 + test_random() % (THREADS * EVENTS));
}

TEST(live_crashed_process_leaves_every_event_that_was_written)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGTERM };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		while (!die_once(signals[i], 0))
			;
}
