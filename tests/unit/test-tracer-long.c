/* SPDX-License-Identifier: MIT */
/*
 * Regions and tasks that live longer than generations. Threads that do nothing, sleep and work
 * have a long region open while generations change every millisecond, and write down when each of
 * theirs began and ended. What is read must be that: as many, with the same names, each begin and
 * end between two looks at the clock.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/trace.h>

#include "lib/test.h"
#include "live-read/check.h"
#include "live-read/flight.h"
#include "live-read/reader.h"
#include "live/tracer/tracer.h"
#include "tracer-spool.h"

#define MS	 UINT64_C(1000000)
#define THREADS	 6
#define DONE_MAX 65536

enum { IDLE, SLEEPS, WORKS };

/* One that has ended, with the looks at the clock around its begin and its end. */
struct done {
	const char *name;
	uint64_t before_begin, after_begin, before_end, after_end;
};

struct log {
	int kind;
	uint32_t tid;
	struct done *regions, *tasks;
	size_t nr_regions, nr_tasks; /* that have ended, in their order */
	size_t seen_regions, seen_tasks;
};

static struct coati_site serve = COATI_SITE_FOR("", COATI_SITE_REGION, "", "serve", NULL, 0, 0);
static struct coati_site work = COATI_SITE_FOR("", COATI_SITE_REGION, "", "work", NULL, 0, 0);
static struct coati_site lazy =
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "lazy", NULL, COATI_SITE_LAZY, 0);
static struct coati_site connection =
	COATI_SITE_FOR("", COATI_SITE_TASK, "", "connection", NULL, 0, 0);
static struct coati_site request = COATI_SITE_FOR("", COATI_SITE_TASK, "", "request", NULL, 0, 0);
static atomic_bool stop;
static pthread_barrier_t all_open;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void region_begins(struct coati_site *site, struct done *d)
{
	*d = (struct done){ .name = site->name, .before_begin = now() };
	coati_region_begin(site);
	d->after_begin = now();
}

static void region_ends(struct log *l, struct coati_site *site, struct done *d)
{
	d->before_end = now();
	coati_region_end(site);
	d->after_end = now();
	l->regions[l->nr_regions++] = *d;
}

static void task_begins(struct coati_site *site, struct coati_live_task *task,
			const struct coati_live_task *parent, struct done *d)
{
	*d = (struct done){ .name = site->name, .before_begin = now() };
	coati_task_begin(site, parent, task);
	d->after_begin = now();
}

static void task_ends(struct log *l, const struct coati_live_task *task, struct done *d)
{
	d->before_end = now();
	coati_task_end(task);
	d->after_end = now();
	l->tasks[l->nr_tasks++] = *d;
}

/* A request in a region that is written late, because only then something is written in it. */
static void serve_one(struct log *l, const struct coati_live_task *parent)
{
	struct done task_done, lazy_done, work_done;
	uint64_t until = now() + 20000;
	struct coati_live_task task;

	task_begins(&request, &task, parent, &task_done);
	region_begins(&lazy, &lazy_done);
	if (l->kind == SLEEPS)
		usleep(1 + (unsigned int)(l->nr_regions * 977 % 5000));
	region_begins(&work, &work_done);
	while (l->kind == WORKS && now() < until)
		;
	region_ends(l, &work, &work_done);
	region_ends(l, &lazy, &lazy_done);
	task_ends(l, &task, &task_done);
}

static void *live_long(void *arg)
{
	struct done task_done, region_done;
	struct coati_live_task task;
	struct log *l = arg;

	l->tid = (uint32_t)syscall(SYS_gettid);
	task_begins(&connection, &task, NULL, &task_done);
	region_begins(&serve, &region_done);
	pthread_barrier_wait(&all_open);
	while (l->kind != IDLE && !atomic_load(&stop) && l->nr_regions + 4 < DONE_MAX)
		serve_one(l, &task);
	pthread_barrier_wait(&all_open);
	region_ends(l, &serve, &region_done);
	task_ends(l, &task, &task_done);
	return NULL;
}

static uint64_t worst_error; /* of all events so far */
/* What the two ends of a length must be off by, together. The error of a begin that was written
 * late is known with the others at the end. */
static uint64_t worst_length;

/* What was read of one that has ended is what its thread wrote down. */
static void compare(const struct coati_trace_event *e, const struct done *d, size_t nr,
		    size_t *seen)
{
	/* an emulator takes long between the two looks that we believe to be at the same time */
	uint64_t error = worst_error + (test_emulated() ? 1000 : 0);
	uint64_t shortest = d->before_end - d->after_begin;
	uint64_t longest = d->after_end - d->before_begin;
	CHECK_U64(*seen, <, nr);
	CHECK(e->site && !strcmp(e->site->name.text, d->name));
	CHECK_U64(e->error, <=, 100000); /* a reading that was interrupted each time */
	CHECK_U64(e->time + error, >=, d->before_end);
	CHECK_U64(e->time, <=, d->after_end + error);
	if (e->duration < shortest && shortest - e->duration > worst_length)
		worst_length = shortest - e->duration;
	if (e->duration > longest && e->duration - longest > worst_length)
		worst_length = e->duration - longest;
	(*seen)++;
}

static void look_at(const struct coati_trace_event *e, struct log *logs)
{
	struct log *l = logs;

	worst_error = e->error > worst_error ? e->error : worst_error;
	while (l < logs + THREADS && l->tid != e->tid)
		l++;
	if (e->kind == COATI_TRACE_REGION_END)
		compare(e, &l->regions[l->seen_regions], l->nr_regions, &l->seen_regions);
	else if (e->kind == COATI_TRACE_TASK_END)
		compare(e, &l->tasks[l->seen_tasks], l->nr_tasks, &l->seen_tasks);
	if (e->flags & (COATI_TRACE_NO_BEGIN | COATI_TRACE_CLOCK_UNKNOWN | COATI_TRACE_LATE))
		test_fail_at(__FILE__, __LINE__, "generation %llu, thread %u: kind %u, flags 0x%x",
			     (unsigned long long)e->generation, e->tid, e->kind, e->flags);
	/* every begin was seen: a repeated region is known, unless it was held back until
	 * then */
	if (e->flags & COATI_TRACE_REOPENED)
		CHECK(e->flags & COATI_TRACE_KNOWN ||
		      (e->site && !strcmp(e->site->name.text, lazy.name)));
}

static uint64_t drain(struct coati_live_reader *t, struct coati_trace_check *c, struct log *logs)
{
	const struct coati_trace_event *e;
	struct coati_trace_finding finding;
	uint64_t claims = 0;

	while (coati_live_reader_next(t, &e) > 0) {
		if (coati_trace_check_event(c, e, &finding) != 0)
			test_fail_at(__FILE__, __LINE__, "event %llu: %s",
				     (unsigned long long)finding.event, finding.text);
		look_at(e, logs);
		claims++;
	}
	return claims;
}

static void read_back(const struct spool *s, struct log *logs, uint64_t generations)
{
	struct coati_trace_check *c = NULL;
	struct coati_trace_quality q = { .size = sizeof(q) };
	struct coati_live_reader *t = NULL;
	uint64_t claims = 0;

	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	CHECK_OK(coati_trace_check_new(&c, NULL));
	for (size_t at = 0; at < s->size;) {
		struct live_batch head;
		size_t size;

		memcpy(&head, s->bytes + at, sizeof(head));
		size = sizeof(head) + head.used;
		CHECK_OK(coati_live_reader_feed(t, s->bytes + at, size, at, NULL));
		claims += drain(t, c, logs);
		at += size;
	}
	CHECK_OK(coati_live_reader_finish(t));
	claims += drain(t, c, logs);
	coati_live_reader_get_quality(t, &q);
	CHECK_U64(q.generations, >=, generations);
	CHECK_U64(q.lost + q.missing + q.damaged + q.late, ==, 0);
	CHECK_U64(worst_length, <=, 2 * (q.clock_error_ns + (test_emulated() ? 1000 : 0)));
	test_note("%llu generations, %llu events, none of them wrong; clock error %llu ns",
		  (unsigned long long)q.generations, (unsigned long long)claims,
		  (unsigned long long)q.clock_error_ns);
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
}

TEST(tracer_regions_and_tasks_over_many_generations_have_their_lengths)
{
	uint64_t generations = test_rounds(test_slow() ? 30 : 100);
	int fd = memfd_create("stream", MFD_CLOEXEC);
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .fd = fd,
					    .bytes = 16 << 20,
					    .generation_ns = MS,
					    .policy = COATI_BLOCK,
					    .directory = "" };
	struct coati_recorder *rec = NULL;
	pthread_t threads[THREADS];
	struct log logs[THREADS];
	struct spool s;

	CHECK(fd >= 0);
	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	pthread_barrier_init(&all_open, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		logs[i] = (struct log){ .kind = i % 3,
					.regions = calloc(DONE_MAX, sizeof(struct done)),
					.tasks = calloc(DONE_MAX, sizeof(struct done)) };
		CHECK(logs[i].regions && logs[i].tasks);
		CHECK_OK(-pthread_create(&threads[i], NULL, live_long, &logs[i]));
	}
	pthread_barrier_wait(&all_open);
	while (__atomic_load_n(&coati_tracer.map->generation, __ATOMIC_RELAXED) < generations)
		usleep(1000);
	atomic_store(&stop, true);
	pthread_barrier_wait(&all_open);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	spool_read(&s, fd);
	read_back(&s, logs, generations);
	for (int i = 0; i < THREADS; i++) {
		CHECK_U64(logs[i].seen_regions, ==, logs[i].nr_regions);
		CHECK_U64(logs[i].seen_tasks, ==, logs[i].nr_tasks);
		free(logs[i].regions);
		free(logs[i].tasks);
	}
	spool_free(&s);
	close(fd);
}

/* The file of the recorder in "rec". */
static struct coati_flight *open_flight(void)
{
	struct coati_flight *f = NULL;
	DIR *d = opendir("rec");
	char path[300] = "";

	CHECK(d);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			snprintf(path, sizeof(path), "rec/%s", e->d_name);
	closedir(d);
	CHECK_OK(coati_flight_open(path, &f, NULL));
	return f;
}

/* The batch of this thread is open, and its only reading of both clocks is 100 ms old at the last
 * event. The kernel might have slowed its clock by 49 us meanwhile, but who reads the memory
 * looks at both clocks again. */
TEST(tracer_events_of_an_open_batch_lie_between_two_readings)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .generation_ns = UINT64_C(3600) * 1000 * MS,
					    .directory = "rec" };
	struct done last;
	const struct coati_trace_event *e;
	struct coati_recorder *rec = NULL;
	struct coati_live_reader *t = NULL;
	struct coati_flight *f;
	const void *bytes;
	uint64_t where;
	size_t size;
	int ends = 0;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	coati_region_begin(&serve);
	coati_region_end(&serve);
	usleep(100000);
	region_begins(&serve, &last);
	last.before_end = now();
	coati_region_end(&serve);
	last.after_end = now();
	f = open_flight();
	CHECK_OK(coati_live_reader_new(NULL, &t, NULL));
	while (coati_flight_next(f, &bytes, &size, &where) > 0)
		CHECK_OK(coati_live_reader_feed(t, bytes, size, where, NULL));
	CHECK_OK(coati_live_reader_finish(t));
	while (coati_live_reader_next(t, &e) > 0) {
		if (e->kind != COATI_TRACE_REGION_END || ++ends < 2)
			continue;
		CHECK_U64(e->error, <, 49000);
		CHECK_U64(e->time + e->error, >=, last.before_end);
		CHECK_U64(e->time, <=, last.after_end + e->error);
	}
	CHECK_INT(ends, ==, 2);
	coati_live_reader_free(&t);
	coati_flight_close(&f);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}
