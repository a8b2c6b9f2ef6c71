/* SPDX-License-Identifier: MIT */
/*
 * Bytes of live events in a recording: a program that works for times that vary, as clocks of real
 * programs see it, and a writer that compresses as `coati record -z` does.
 *
 *	bench-trace-size regions|mixed|service COUNT
 *
 * regions: begins and ends alone, nested. mixed: of one request, a task with regions, a log and a
 * counter. service: the same on two threads. COUNT requests in all. Prints
 *
 *	MEMORY PLAIN PACKED EVENTS
 *
 * bytes an event in the memory of the tracer, in a recording and in a compressed recording, each
 * with heads and with what is written once; and events in all.
 */
#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/recording.h>
#include <coati/trace.h>

#include "bench.h"
#include "live-read/flight.h"
#include "record/batch.h"
#include "recording/writer.h"

#define MEMORY	(UINT64_C(64) << 20)
#define THREADS 2
#define LEVEL	1 /* what -z takes */

static void fail(const char *what)
{
	fprintf(stderr, "bench-trace-size: %s\n", what);
	exit(1);
}

/* ---- the program ---- */

struct worker {
	unsigned int seed;
	unsigned int count; /* of requests */
	uint64_t events;    /* written */
	int mixed;
};

/* Mostly short, now and then long: 0.1 to some 50 us. */
static void work(struct worker *w)
{
	unsigned int draw = (unsigned int)rand_r(&w->seed), turns = 100 + draw % 1000;

	if (draw % 16 == 0)
		turns *= 20;
	for (unsigned int i = 0; i < turns; i++)
		__asm__ volatile("" ::: "memory");
}

static void parse(struct worker *w)
{
	COATI_REGION("parse");
	work(w);
	w->events += 2;
}

static void look_up(struct worker *w)
{
	COATI_REGION("look up");
	work(w);
	if (rand_r(&w->seed) % 4 == 0) {
		COATI_REGION("load from disk");
		work(w);
		w->events += 2;
	}
	work(w);
	w->events += 2;
}

static void reply(struct worker *w)
{
	COATI_REGION("reply");
	work(w);
	w->events += 2;
}

static void serve(struct worker *w)
{
	COATI_REGION("request");
	parse(w);
	look_up(w);
	work(w);
	reply(w);
	w->events += 2;
}

static void serve_task(struct worker *w)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "request", NULL);
	COATI_TASK_SCOPE(&task);
	serve(w);
	COATI_LOG("http", "GET /item/%d: %d bytes", rand_r(&w->seed) % 1000,
		  200 + rand_r(&w->seed) % 4000);
	COATI_COUNTER("requests", (int64_t)w->events);
	coati_task_end(&task);
	w->events += 6; /* begin, enter, log, counter, end, leave */
}

static void *run_worker(void *ctx)
{
	struct worker *w = ctx;

	for (unsigned int i = 0; i < w->count; i++) {
		if (w->mixed)
			serve_task(w);
		else
			serve(w);
		work(w);
	}
	return NULL;
}

static uint64_t run_workers(const char *shape, unsigned int count)
{
	unsigned int n = strcmp(shape, "service") ? 1 : THREADS;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	uint64_t events = 0;

	for (unsigned int i = 0; i < n; i++) {
		workers[i] = (struct worker){ .seed = i + 1,
					      .count = count / n,
					      .mixed = strcmp(shape, "regions") != 0 };
		if (pthread_create(&threads[i], NULL, run_worker, &workers[i]))
			fail("no thread");
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		events += workers[i].events;
	}
	return events;
}

/* ---- the recording ---- */

static struct coati_flight *open_flight(const char *folder)
{
	struct coati_flight *f = NULL;
	struct coati_error err = { 0 };
	char path[sizeof("/tmp/") + 256 + 64];
	struct dirent *e;
	DIR *d = opendir(folder);

	while (d && !f && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (coati_flight_open(path, &f, &err) < 0)
			fail(err.text);
	}
	if (!f)
		fail("no file of a flight recorder");
	closedir(d);
	return f;
}

static struct coati_writer *open_writer(int fd, int level)
{
	struct coati_writer_opts opts = { .size = sizeof(opts), .zstd_level = level };
	const uint64_t id = COATI_LIVE_ID;
	struct coati_writer *w = NULL;
	struct coati_error err = { 0 };
	struct coati_attr attr;

	coati_batch_attr(&attr);
	if (coati_writer_open_fd(fd, &opts, &w, &err) < 0 ||
	    coati_writer_add_event(
		    w,
		    &(struct coati_recording_event){
			    .name = COATI_LIVE_EVENT, .attr = attr, .ids = &id, .nr_ids = 1 },
		    &err) < 0 ||
	    coati_writer_start(w, &err) < 0)
		fail(err.text);
	return w;
}

/* The size of a recording of all that the recorder holds. *ret_bytes: of its batches. */
static uint64_t size_of_recording(const char *folder, int level, uint64_t *ret_bytes)
{
	struct coati_flight *f = open_flight(folder);
	int fd = memfd_create("recording", MFD_CLOEXEC), kept = dup(fd), n;
	struct coati_writer *w = open_writer(fd, level);
	struct coati_error err = { 0 };
	const void *bytes;
	uint64_t where;
	struct stat st;
	size_t size;

	*ret_bytes = 0;
	while ((n = coati_flight_next(f, &bytes, &size, &where)) > 0) {
		struct coati_batch b = { .kind = COATI_BATCH_TRACE,
					 .version = 1,
					 .time_ns = bench_now_ns(),
					 .id = COATI_LIVE_ID,
					 .payload = bytes,
					 .payload_size = (uint32_t)size };

		*ret_bytes += size;
		if (coati_writer_batch(w, &b) < 0)
			fail("a batch that cannot be written");
	}
	if (n < 0 || coati_writer_close(&w, &err) < 0 || fstat(kept, &st) < 0)
		fail(n < 0 ? "the memory cannot be read" : err.text);
	coati_flight_close(&f);
	close(kept);
	return (uint64_t)st.st_size;
}

static int measure(const char *folder, const char *shape, unsigned int count)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .directory = folder,
					    .bytes = MEMORY };
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *rec = NULL;
	struct coati_error err;
	uint64_t memory, plain, packed;
	double events;

	if (coati_recorder_start(&opts, &rec, &err) < 0)
		fail(err.text);
	events = (double)run_workers(shape, count);
	plain = size_of_recording(folder, 0, &memory);
	packed = size_of_recording(folder, LEVEL, &memory);
	coati_recorder_stats(rec, &stats);
	coati_recorder_stop(&rec, NULL);
	if (stats.dropped)
		fail("events were dropped: a smaller COUNT");
	printf("%.3f %.3f %.3f %.0f\n", (double)memory / events, (double)plain / events,
	       (double)packed / events, events);
	return 0;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/bench-trace-size-XXXXXX";
	int r;

	if (argc != 3)
		return 2;
	if (!mkdtemp(folder))
		fail(folder);
	r = measure(folder, argv[1], (unsigned int)strtoul(argv[2], NULL, 10));
	rmdir(folder);
	return r;
}
