/* SPDX-License-Identifier: MIT */
/*
 * What reading live events costs: 16 MB in batches of four threads, whole way (checksum,
 * generations, merge by time, names, states, validator), beside the bare walk over the events of
 * the same batches. Prints pairs of lines "OURS PEER": nanoseconds of CPU time a kilobyte.
 *
 *	bench-live-decode regions|mixed PAIRS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coati/trace.h>

#include "base/leb128.h"
#include "base/writer.h"
#include "bench.h"
#include "live-read/check.h"
#include "live-read/reader.h"
#include "record/live-decode.h"

#define BATCHES 1024u
#define THREADS 4u
#define ROOM	(16384u - 96u)

struct load {
	uint8_t *bytes;		/* of all batches, back to back */
	size_t at[BATCHES + 8]; /* where each begins */
	uint32_t nr;
	uint64_t sum;
};

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % n);
}

static void put_head(struct writer *w, uint8_t kind, uint32_t delta)
{
	unsigned int size = delta > 255 ? 2 : 1;

	writer_u8(w, (uint8_t)(kind | (size - 1) << 5));
	for (unsigned int i = 0; i < size; i++)
		writer_u8(w, (uint8_t)(delta >> (8 * i)));
}

static void put_pair(struct writer *w, int mixed)
{
	static const char text[] = "GET /index.html 200";

	put_head(w, LIVE_REGION_BEGIN, 40 + random_below(400));
	writer_uleb(w, 1 + random_below(50));
	if (mixed && random_below(8) == 0) {
		put_head(w, LIVE_LOG, 30);
		writer_uleb(w, 60);
		writer_uleb(w, sizeof(text) << 1);
		writer_bytes(w, text, sizeof(text));
	}
	if (mixed && random_below(4) == 0) {
		put_head(w, LIVE_COUNTER, 20);
		writer_uleb(w, 61);
		writer_uleb(w, random_below(100000));
	}
	put_head(w, LIVE_REGION_END, 40 + random_below(400));
}

static void close_batch(struct load *l, struct live_batch *h, const struct writer *w, uint64_t base)
{
	uint8_t *to = l->bytes + l->at[l->nr];

	h->magic = LIVE_BATCH_MAGIC;
	h->version = LIVE_BATCH_VERSION;
	h->pid = 7;
	h->used = h->capacity = (uint32_t)w->len;
	h->base = h->pair_cycles = h->pair_ns = base;
	h->flags = LIVE_BATCH_CLOSED | LIVE_BATCH_NANOSECONDS;
	h->checksum = live_checksum(w->start, w->len);
	memcpy(to, h, sizeof(*h));
	l->at[l->nr + 1] = l->at[l->nr] + sizeof(*h) + w->len;
	l->nr++;
}

static void add_sites(struct load *l, uint64_t generation)
{
	struct live_batch h = { .kind = LIVE_BATCH_SITES, .generation = generation };
	struct writer w = writer_over(l->bytes + l->at[l->nr] + sizeof(h), ROOM);

	for (uint32_t i = 1; i < 64; i++) {
		writer_u16(&w, LIVE_SITE);
		writer_uleb(&w, i);
		writer_uleb(&w, 1);
		writer_uleb(&w, i);
		for (int j = 0; j < 5; j++) {
			writer_uleb(&w, (j < 2 ? 6 : 0) << 1);
			writer_bytes(&w, "parser", j < 2 ? 6 : 0);
		}
	}
	close_batch(l, &h, &w, 1);
}

/* Sixteen generations. */
static void make(struct load *l, int mixed)
{
	uint64_t base[THREADS] = { 1000, 1000, 1000, 1000 };
	uint32_t seq[THREADS] = { 0 };

	l->bytes = malloc((BATCHES + 8) * (size_t)17000);
	for (uint32_t i = 0; i < BATCHES; i++) {
		uint32_t thread = i % THREADS;
		uint64_t generation = 1 + i / (BATCHES / 4);
		struct live_batch h = { .kind = LIVE_BATCH_EVENTS,
					.generation = generation,
					.tid = 7 + thread,
					.seq = seq[thread]++ };
		struct writer w;

		if (i % (BATCHES / 4) == 0)
			add_sites(l, generation);
		w = writer_over(l->bytes + l->at[l->nr] + sizeof(h), ROOM);
		while (w.len + 64 < ROOM)
			put_pair(&w, mixed);
		close_batch(l, &h, &w, base[thread]);
		base[thread] += 1000000;
	}
}

static void drain(struct load *l, struct coati_live_reader *t, struct coati_trace_check *c)
{
	const struct coati_trace_event *const *events;
	struct coati_trace_finding f;
	int n;

	while ((n = coati_live_reader_take(t, &events)) > 0) {
		if (coati_trace_check_events(c, events, (uint32_t)n, &f) != 0) {
			fprintf(stderr, "bench-live-decode: %s\n", f.text);
			exit(1);
		}
		for (int i = 0; i < n; i++)
			l->sum += events[i]->time;
	}
}

static void read_all(void *ctx)
{
	struct coati_trace_check *c = NULL;
	struct coati_live_reader *t = NULL;
	struct load *l = ctx;

	if (coati_live_reader_new(NULL, &t, NULL) < 0 || coati_trace_check_new(&c, NULL) < 0)
		exit(1);
	for (uint32_t i = 0; i < l->nr; i++) {
		coati_live_reader_feed(t, l->bytes + l->at[i], l->at[i + 1] - l->at[i], i, NULL);
		drain(l, t, c);
	}
	coati_live_reader_finish(t);
	drain(l, t, c);
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
}

static void walk_all(void *ctx)
{
	struct load *l = ctx;
	struct live_event e;
	struct live_view b;

	for (uint32_t i = 0; i < l->nr; i++) {
		struct live_walk w;

		if (coati_live_open(l->bytes + l->at[i], l->at[i + 1] - l->at[i], &b))
			exit(1);
		w = coati_live_walk(&b, NULL, NULL, NULL);
		while (coati_live_next(&w, &e) > 0)
			l->sum += e.time;
	}
}

/* Time on the CPU: what else runs on the machine is not what is measured. */
static double cpu_ns(bench_fn fn, void *ctx)
{
	struct timespec from, to;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	fn(ctx);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
}

int main(int argc, char **argv)
{
	static struct load l;
	unsigned int pairs = argc == 3 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;

	if (!pairs || (strcmp(argv[1], "regions") != 0 && strcmp(argv[1], "mixed") != 0)) {
		fprintf(stderr, "usage: bench-live-decode regions|mixed PAIRS\n");
		return 2;
	}
	make(&l, !strcmp(argv[1], "mixed"));
	read_all(&l);
	for (unsigned int i = 0; i < pairs; i++) {
		double kb = (double)l.at[l.nr] / 1000, a = 0, b;

		if (i % 2 == 0)
			a = cpu_ns(read_all, &l) / kb;
		b = cpu_ns(walk_all, &l) / kb;
		if (i % 2)
			a = cpu_ns(read_all, &l) / kb;
		printf("%.2f %.2f\n", a, b);
	}
	free(l.bytes);
	return l.sum == 0;
}
