/* SPDX-License-Identifier: MIT */
/*
 * The tracer where it is hard: threads that come and go, handlers inside events, generations that
 * change all the time, memory that is full. What was written is what comes out and what was lost,
 * to the last event.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>

#include "lib/test.h"
#include "live/tracer/tracer.h"
#include "tracer-spool.h"

#define MS UINT64_C(1000000)

static struct coati_site site = COATI_SITE_FOR("", COATI_SITE_REGION, "", "work", NULL, 0, 0);
static struct coati_site inside = COATI_SITE_FOR("", COATI_SITE_REGION, "", "inside", NULL, 0, 0);
static struct coati_site number = COATI_SITE_FOR("", COATI_SITE_COUNTER, "", "number", NULL, 0, 0);

/* Two events. */
static void pair(struct coati_site *s)
{
	coati_region_begin(s);
	coati_region_end(s);
}

static struct coati_recorder *stream(int fd, uint64_t bytes, uint64_t generation_ns,
				     enum coati_recorder_policy policy)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .fd = fd,
					    .bytes = bytes,
					    .generation_ns = generation_ns,
					    .policy = policy,
					    .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };

	if (coati_recorder_start(&opts, &rec, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return rec;
}

static int memory(void)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static uint64_t regions(const struct spool *t)
{
	return t->kinds[LIVE_REGION_BEGIN] + t->kinds[LIVE_REGION_END];
}

/* ---- memory that is full ---- */

TEST(tracer_full_memory_loses_the_newest_and_counts_them)
{
	struct coati_recorder_opts opts = {
		.size = sizeof(opts), .bytes = 1 << 19, .policy = COATI_DROP_NEWEST, .directory = ""
	};
	struct coati_recorder *rec = NULL;
	struct spool t;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	for (int i = 0; i < 200000; i++)
		pair(&site);
	spool_snapshot(&t, rec); /* tells the losses in the generation that it begins */
	spool_free(&t);
	spool_snapshot(&t, rec);
	CHECK_U64(regions(&t), >, 0);
	CHECK_U64(t.lost, >, 0);
	CHECK_U64(regions(&t) + t.lost, ==, 400000);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_flight_recorder_keeps_the_last_and_loses_none_of_them)
{
	struct coati_recorder *rec = spool_start(1 << 19);
	struct spool t;

	for (int i = 0; i < 300000; i++) {
		coati_counter(&number, i);
		/* the collector must get a chance to begin a generation, or new ones would be lost
		 * instead */
		if (i % 20000 == 0) {
			spool_snapshot(&t, rec);
			spool_free(&t);
		}
	}
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_COUNTER], >=, 20000 - 1);
	CHECK_U64(t.kinds[LIVE_COUNTER], <, 300000);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* A reader that is slower than everything: it begins when all is written. */
static void balance_of_stream(enum coati_recorder_policy policy, bool may_lose)
{
	int fds[2], fd = memory();
	struct coati_recorder *rec;
	struct spool t;
	char bytes[4096];
	ssize_t n;
	pid_t pid;

	CHECK_OK(pipe(fds));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) { /* only what fits into the pipe is taken until the parent has written all */
		close(fds[1]);
		usleep(20000);
		while ((n = read(fds[0], bytes, sizeof(bytes))) > 0)
			if (write(fd, bytes, (size_t)n) != n)
				_exit(1);
		_exit(0);
	}
	close(fds[0]);
	rec = stream(fds[1], 1 << 19, 1000 * MS, policy);
	for (int i = 0; i < 150000; i++)
		pair(&site);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	close(fds[1]);
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	spool_read(&t, fd);
	test_note("%llu lost", (unsigned long long)t.lost);
	CHECK_U64(regions(&t) + t.lost, ==, 300000);
	if (!may_lose)
		CHECK_U64(t.lost, ==, 0);
	spool_free(&t);
	close(fd);
}

TEST(tracer_stream_that_blocks_loses_nothing)
{
	balance_of_stream(COATI_BLOCK, false);
}

TEST(tracer_stream_that_drops_new_events_counts_each)
{
	balance_of_stream(COATI_DROP_NEWEST, true);
}

TEST(tracer_stream_that_drops_old_generations_counts_each)
{
	balance_of_stream(COATI_DROP_OLDEST, true);
}

/* ---- a flood ---- */

TEST(tracer_after_a_flood_there_is_room_at_once)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .bytes = 1 << 20,
					    .generation_ns = UINT64_C(3600) * 1000 * MS,
					    .directory = "" };
	struct coati_recorder *rec = NULL;
	uint32_t exhausted = 1;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	/* faster than the collector can change generations */
	for (int i = 0; i < 4000000 && !atomic_load(&coati_tracer_hot.exhausted); i++)
		pair(&site);
	/* it does, and does not wait for its hour */
	for (int i = 0; i < 10000 && exhausted; i++) {
		usleep(1000);
		exhausted = atomic_load(&coati_tracer_hot.exhausted);
	}
	CHECK_U64(exhausted, ==, 0);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- threads ---- */

static void *write_many(void *count)
{
	for (uintptr_t i = 0; i < (uintptr_t)count; i++)
		pair(&site);
	return NULL;
}

TEST(tracer_threads_write_while_generations_change_all_the_time)
{
	int fd = memory();
	struct coati_recorder *rec = stream(fd, 4 << 20, MS, COATI_BLOCK);
	pthread_t threads[4];
	struct spool t;

	for (int i = 0; i < 4; i++)
		CHECK_OK(-pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)20000));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	spool_read(&t, fd);
	CHECK_U64(t.lost, ==, 0);
	CHECK_U64(regions(&t), ==, 4 * 20000 * 2);
	CHECK_U64(t.processes, ==, t.ends);
	spool_free(&t);
	close(fd);
}

/* As a thread does it that loses its CPU between its two looks, while another one is the first with
 * the site. */
TEST(tracer_event_of_a_category_that_gets_its_bit_meanwhile_is_wanted)
{
	static struct coati_site mine =
		COATI_SITE(COATI_SITE_COUNTER, "nobody else's", "n", NULL, 0, 0);
	struct coati_recorder *rec = spool_start(0);
	uint64_t gate = __atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED);

	CHECK(gate & mine.mask);
	coati_counter(&mine, 1);
	CHECK(mine.id);
	CHECK(gate & mine.mask);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_thousands_of_threads_use_little_memory)
{
	enum { at_once = 8 };
	/* so few where it is slow that none is old enough to be dropped before the last one is
	 * there */
	const int threads = test_slow() ? 200 : 2000;
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *rec = spool_start(4 << 20);
	pthread_t ids[at_once];
	struct spool t;

	for (int i = 0; i < threads / at_once; i++) {
		for (int k = 0; k < at_once; k++)
			CHECK_OK(-pthread_create(&ids[k], NULL, write_many, (void *)(uintptr_t)5));
		for (int k = 0; k < at_once; k++)
			pthread_join(ids[k], NULL);
	}
	spool_snapshot(&t, rec);
	coati_recorder_stats(rec, &stats);
	CHECK_U64(stats.dropped, ==, 0);
	CHECK_U64(t.lost, ==, 0);
	CHECK_U64(regions(&t), ==, (uint64_t)threads * 10);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* More threads at once than there are chunks. */
static pthread_barrier_t all_there;

static void *write_together(void *count)
{
	write_many(count);
	pthread_barrier_wait(&all_there);
	write_many(count);
	return NULL;
}

TEST(tracer_more_threads_than_chunks_share_them)
{
	enum { threads = 100 };
	struct coati_recorder *rec = spool_start(1 << 20);
	pthread_t ids[threads];
	struct spool t;

	CHECK_OK(-pthread_barrier_init(&all_there, NULL, threads));
	for (int i = 0; i < threads; i++)
		CHECK_OK(-pthread_create(&ids[i], NULL, write_together, (void *)(uintptr_t)5));
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	spool_snapshot(&t, rec);
	CHECK_U64(t.lost, ==, 0);
	CHECK_U64(regions(&t), ==, threads * 20);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

static void *stay_open(void *arg)
{
	int *fds = arg;
	char c;

	coati_region_begin(&site);
	if (write(fds[1], "x", 1) != 1 || read(fds[2], &c, 1) != 1)
		return arg;
	coati_region_end(&site);
	return NULL;
}

struct told {
	uint32_t tid;
	unsigned int regions;
};

static void count_told(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct told *told = ctx;

	if (e->kind == LIVE_OPEN_REGION && b->head.tid != (uint32_t)getpid()) {
		told->regions++;
		CHECK_U64(e->v[0], ==, b->head.tid);
	}
}

TEST(tracer_regions_of_a_thread_that_does_nothing_are_told_for_it)
{
	struct coati_recorder *rec = spool_start(0);
	struct told told = { 0 };
	pthread_t thread;
	void *failed;
	int fds[4];
	struct spool t;
	char c;

	CHECK_OK(pipe(fds));
	CHECK_OK(pipe(fds + 2));
	CHECK_OK(-pthread_create(&thread, NULL, stay_open, fds));
	CHECK_INT(read(fds[0], &c, 1), ==, 1);
	for (int i = 0; i < 3; i++) {
		spool_snapshot(&t, rec);
		spool_free(&t);
	}
	CHECK_INT(write(fds[3], "x", 1), ==, 1);
	pthread_join(thread, &failed);
	CHECK(!failed);
	spool_snapshot(&t, rec);
	spool_each(&t, count_told, &told);
	CHECK_U64(told.regions, ==, 3);
	CHECK_U64(t.kinds[LIVE_REGION_END], ==, 1);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- handlers ---- */

static _Atomic uint64_t handled;

static void on_signal(int sig)
{
	int keep = errno;

	errno = 4711;
	pair(&inside);
	coati_counter(&number, 1);
	if (errno == 4711)
		atomic_fetch_add(&handled, 1);
	errno = keep;
}

static void storm(uint64_t us)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, (suseconds_t)us }, { 0, (suseconds_t)us } };

	sigemptyset(&action.sa_mask);
	CHECK_OK(sigaction(SIGALRM, &action, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &timer, NULL));
}

TEST(tracer_handlers_write_into_events_and_every_one_is_accounted_for)
{
	const uint64_t pairs = 60000;
	int fd = memory();
	struct coati_recorder *rec = stream(fd, 4 << 20, MS, COATI_BLOCK);
	uint64_t signals;
	pthread_t thread;
	struct spool t;

	CHECK_OK(-pthread_create(&thread, NULL, write_many, (void *)(uintptr_t)pairs));
	storm(200);
	write_many((void *)(uintptr_t)pairs);
	pthread_join(thread, NULL);
	while (atomic_load(&handled) < 20)
		pair(&site), signals = atomic_load(&handled);
	storm(0);
	/* the last one may be on its way */
	CHECK_OK(sigaction(SIGALRM, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL));
	signals = atomic_load(&handled);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	spool_read(&t, fd);
	test_note("%llu signals, %llu lost", (unsigned long long)signals,
		  (unsigned long long)t.lost);
	CHECK_U64(t.kinds[LIVE_COUNTER], <=, signals);
	CHECK_U64(t.kinds[LIVE_COUNTER] + t.lost, >=, signals);
	CHECK_U64(regions(&t) + t.lost, >=, 2 * (2 * pairs + signals));
	spool_free(&t);
	close(fd);
}

static void *first_in_handler(void *arg)
{
	raise(SIGALRM);
	return NULL;
}

TEST(tracer_first_event_of_a_thread_may_be_in_a_handler)
{
	struct coati_recorder *rec = spool_start(0);
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;
	struct spool t;

	CHECK_OK(sigaction(SIGALRM, &action, NULL));
	CHECK_OK(-pthread_create(&thread, NULL, first_in_handler, NULL));
	pthread_join(thread, NULL);
	CHECK_U64(atomic_load(&handled), ==, 1);
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_COUNTER], ==, 1);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* Nobody makes room while an event goes on: who waited inside of it would wait for itself. */
TEST(tracer_handler_in_an_event_does_not_wait_for_room)
{
	int fd = memory();
	struct coati_recorder *rec = stream(fd, 1 << 20, MS, COATI_BLOCK);
	struct tracer_slot *slots = (pair(&site), coati_tracer_self->slot);

	atomic_store(&slots[0].state, SLOT_WRITING);
	for (int i = 0; i < 1 << 20 && !atomic_load(&slots[1].lost); i++)
		coati_counter(&number, i);
	CHECK(atomic_load(&slots[1].lost));
	atomic_store(&slots[0].state, 0);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	close(fd);
}

/* Whether the streams have it. */
static bool is_taken(uint64_t generation)
{
	struct tracer_guard guard;
	bool taken;

	coati_tracer_lock(&guard);
	taken = coati_tracer_generation(generation)->complete &&
		!coati_tracer_generation(generation)->wanted;
	coati_tracer_unlock(&guard);
	return taken;
}

/* It does not leave its event for a second, and is left alone. What it wrote there is counted when
 * it comes back. */
TEST(tracer_events_of_a_thread_that_was_stuck_are_counted)
{
	int fd = memory(), other = memory();
	struct coati_recorder *rec = stream(fd, 1 << 20, 3600 * 1000 * MS, COATI_DROP_OLDEST);
	struct coati_recorder *flight = spool_start(0);
	struct tracer_slot *slot;
	uint64_t generation;
	struct spool t;

	pair(&site);
	pair(&site);
	slot = &coati_tracer_self->slot[0];
	generation = atomic_load(&slot->generation);
	atomic_store(&slot->state, SLOT_WRITING);
	CHECK_OK(coati_recorder_snapshot(flight, other, NULL));
	while (!is_taken(generation))
		usleep(1000);
	atomic_store(&slot->state, 0);
	pair(&site);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	spool_read(&t, fd);
	CHECK_U64(regions(&t), ==, 2);
	CHECK_U64(t.lost, ==, 4);
	spool_free(&t);
	close(other);
	close(fd);
}

/* In the next recording the batch that it was stuck in is nobody's: neither closed nor counted. */
TEST(tracer_batch_of_a_thread_that_was_stuck_is_not_of_the_next_recording)
{
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *rec = spool_start(0);
	struct tracer_slot *slot;
	struct live_batch *old;
	uint32_t events;
	struct spool t;

	pair(&site);
	slot = &coati_tracer_self->slot[0];
	old = slot->batch;
	events = old->events;
	atomic_store(&slot->state, SLOT_WRITING);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	CHECK(slot->batch == old);
	rec = spool_start(0);
	atomic_store(&slot->state, 0); /* it goes on */
	pair(&site);
	spool_snapshot(&t, rec);
	CHECK_U64(regions(&t), ==, 2);
	CHECK_U64(t.lost, ==, 0);
	spool_free(&t);
	coati_recorder_stats(rec, &stats);
	CHECK_U64(stats.stuck, ==, 0);
	CHECK_U64(old->events, ==, events);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* An event inside an event of slot 1 is lost, and counted: three deep, without a signal. */
TEST(tracer_event_inside_two_events_is_lost_and_counted)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;

	pair(&site);
	atomic_store(&coati_tracer_self->slot[0].state, SLOT_WRITING);
	pair(&inside);
	atomic_store(&coati_tracer_self->slot[1].state, SLOT_WRITING);
	coati_counter(&number, 1);
	coati_counter(&number, 2);
	atomic_store(&coati_tracer_self->slot[1].state, 0);
	atomic_store(&coati_tracer_self->slot[0].state, 0);
	spool_snapshot(&t, rec);
	spool_free(&t);
	spool_snapshot(&t, rec);
	CHECK_U64(regions(&t), ==, 4);
	CHECK_U64(t.kinds[LIVE_COUNTER], ==, 0);
	CHECK_U64(t.lost, ==, 2);
	/* for those who read the memory of a process that was killed */
	CHECK_U64(__atomic_load_n(&coati_tracer.map->dropped, __ATOMIC_RELAXED), ==, 2);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}
