/* SPDX-License-Identifier: MIT */
/*
 * What typed decoding costs, beside a hand-written loop over the same bytes. Records of one shape
 * (5 fields; the same and a call chain of 32; the same with every entry of the chain hashed) fill 2
 * MiB; ours and the loop that knows the shape by heart take turns. Prints pairs of lines "OURS PEER
 * ALLOCATIONS": nanoseconds a record, and how often memory was asked for meanwhile.
 *
 *	bench-decode fields|chain|hashed PAIRS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coati/coati.h>

#include "bench.h"
#include "record/record.h"

#define ROUNDS	   20 /* of one pair */
#define DATA_BYTES (2u << 20)
#define CHAIN	   32

struct header {
	uint32_t type;
	uint16_t misc, size;
};

struct shape {
	const char *name;
	uint32_t chain;
	int hash; /* fold every entry of the chain */
};

struct load {
	uint8_t *bytes;
	size_t size, records;
	struct coati_sample_format fmt;
};

typedef uint64_t (*walk_fn)(const struct load *, const struct shape *);

/* ---- every way to the heap is counted ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long allocations;

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	allocations++;
	return __libc_calloc(nr, size);
}

void *realloc(void *p, size_t size)
{
	allocations++;
	return __libc_realloc(p, size);
}

/* ---- the hand-written loop ---- */

struct floor_sample {
	uint64_t ip, time, period, nr;
	uint32_t pid, tid, cpu;
	const uint64_t *chain;
};

static inline int floor_decode(const uint8_t *p, const uint8_t *end, int chain,
			       struct floor_sample *s)
{
	const struct header *h = (const void *)p;
	const uint64_t *w = (const void *)(p + sizeof(*h));
	const uint8_t *e = p + h->size;

	if (h->size < sizeof(*h) || e > end || (const uint8_t *)(w + 5 + chain) > e)
		return -1;
	s->ip = w[0];
	s->pid = (uint32_t)w[1];
	s->tid = (uint32_t)(w[1] >> 32);
	s->time = w[2];
	s->cpu = (uint32_t)w[3];
	s->period = w[4];
	s->nr = 0;
	if (!chain)
		return 0;
	s->nr = w[5];
	s->chain = w + 6;
	return s->nr > (uint64_t)(e - (const uint8_t *)s->chain) / 8 ? -1 : 0;
}

static uint64_t fold(const uint64_t *chain, uint64_t nr)
{
	uint64_t h = 0;

	for (uint64_t i = 0; i < nr; i++)
		h = (h ^ chain[i]) * 0x9e3779b97f4a7c15u;
	return h;
}

/* Both loops hand each sample to a function that the compiler cannot look into. */
static __attribute__((noinline)) void take_floor(const struct floor_sample *s, uint64_t *sum)
{
	*sum += s->ip ^ s->time ^ s->nr;
}

static __attribute__((noinline)) void take_ours(const struct coati_record *rec, uint64_t *sum)
{
	*sum += rec->u.sample.ip ^ rec->id.time ^ rec->u.sample.callchain.count;
}

static inline uint64_t walk_floor_as(const struct load *l, const struct shape *sh, int chain)
{
	const uint8_t *end = l->bytes + l->size;
	uint64_t sum = 0;

	for (const uint8_t *p = l->bytes; p < end;
	     p += ((const struct header *)(const void *)p)->size) {
		struct floor_sample s;

		if (floor_decode(p, end, chain, &s))
			abort();
		take_floor(&s, &sum);
		if (sh->hash)
			sum += fold(s.chain, s.nr);
	}
	return sum;
}

static uint64_t walk_floor(const struct load *l, const struct shape *sh)
{
	return sh->chain ? walk_floor_as(l, sh, 1) : walk_floor_as(l, sh, 0);
}

/* ---- ours ---- */

static uint64_t walk_ours(const struct load *l, const struct shape *sh)
{
	const uint8_t *at = l->bytes;
	size_t left = l->size;
	struct coati_raw raw;
	struct coati_record rec;
	uint64_t sum = 0, buf[CHAIN];

	rec.u.sample.callchain.count = 0;
	while (coati_raw_next(&at, &left, 0, &raw) > 0) {
		if (coati_record_decode(&raw, &l->fmt, &rec))
			abort();
		take_ours(&rec, &sum);
		if (sh->hash)
			sum += fold(coati_u64_array(&rec.u.sample.callchain, buf),
				    rec.u.sample.callchain.count);
	}
	return sum;
}

/* ---- pairs ---- */

static void load_init(struct load *l, const struct shape *sh)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_IP | COATI_SAMPLE_TID |
						  COATI_SAMPLE_TIME | COATI_SAMPLE_CPU |
						  COATI_SAMPLE_PERIOD };
	struct {
		struct header h;
		uint64_t w[6 + CHAIN];
	} rec = { .h = { .type = COATI_RECORD_SAMPLE, .misc = COATI_MISC_USER } };

	rec.h.size = (uint16_t)(sizeof(rec.h) + (sh->chain ? 6 + sh->chain : 5) * 8);
	rec.w[5] = sh->chain;
	for (uint32_t i = 0; i < sh->chain; i++)
		rec.w[6 + i] = 0x400000 + i * 64;
	if (sh->chain)
		attr.sample_type |= COATI_SAMPLE_CALLCHAIN;
	coati_sample_format_init(&attr, &l->fmt);
	l->bytes = aligned_alloc(64, DATA_BYTES);
	if (!l->bytes)
		abort();
	l->records = DATA_BYTES / rec.h.size;
	l->size = l->records * rec.h.size;
	for (size_t i = 0; i < l->records; i++) {
		rec.w[0] = 0x401000 + i;
		rec.w[2] = i;
		memcpy(l->bytes + i * rec.h.size, &rec, rec.h.size);
	}
}

static double round_of(walk_fn walk, const struct load *l, const struct shape *sh, uint64_t *sum)
{
	uint64_t start_ns = bench_now_ns();

	for (int i = 0; i < ROUNDS; i++)
		*sum = walk(l, sh);
	return (double)(bench_now_ns() - start_ns) / (double)l->records / ROUNDS;
}

static void compare_shape(const struct shape *sh, int pairs)
{
	double ours = 0, peer;
	unsigned long before;
	struct load l;
	uint64_t a, b;

	load_init(&l, sh);
	round_of(walk_floor, &l, sh, &a);
	round_of(walk_ours, &l, sh, &b);
	for (int i = 0; i < pairs; i++) {
		before = allocations;
		if (i % 2)
			ours = round_of(walk_ours, &l, sh, &b);
		peer = round_of(walk_floor, &l, sh, &a);
		if (i % 2 == 0)
			ours = round_of(walk_ours, &l, sh, &b);
		if (a != b)
			abort();
		before = allocations - before;
		printf("%.3f %.3f %lu\n", ours, peer, before);
	}
	free(l.bytes);
}

int main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{ "fields", 0, 0 },
		{ "chain", CHAIN, 0 },
		{ "hashed", CHAIN, 1 },
	};

	for (size_t i = 0; argc > 2 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(argv[1], shapes[i].name))
			continue;
		compare_shape(&shapes[i], atoi(argv[2]));
		return 0;
	}
	return 2;
}
