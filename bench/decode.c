/* SPDX-License-Identifier: MIT */
/*
 * What typed decoding costs, beside a hand-written loop over the same bytes. Records of two shapes (5 fields; 5 fields and a
 * call chain of 32) fill 2 MiB; the loop that knows the shape by heart and ours take turns. Prints a line for each:
 *
 *	name value unit spread
 *
 * value is the median of the rounds, spread the 5th and 95th percentile; of a ratio, the median and its 95 % interval.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <coati/coati.h>

#define ROUNDS	   151
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

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ---- the hand-written loop ---------------------------------------------------------------------------------- */

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

/* ---- ours ----------------------------------------------------------------------------------------------------- */

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

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

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
	double start = now_ns();

	*sum = walk(l, sh);
	return (now_ns() - start) / (double)l->records;
}

static void line(const char *what, const char *name, double *v, const char *unit)
{
	qsort(v, ROUNDS, sizeof(*v), compare);
	printf("decode-%s-%s %.2f %s %.2f..%.2f\n", name, what, v[ROUNDS / 2], unit, v[ROUNDS / 20],
	       v[ROUNDS - 1 - ROUNDS / 20]);
}

/* The median's 95 % interval by rank: 0.98 * sqrt(151) = 12 places to either side. */
static void ratio_line(const char *name, double *v)
{
	qsort(v, ROUNDS, sizeof(*v), compare);
	printf("decode-%s-ratio %.2f x %.2f..%.2f\n", name, v[ROUNDS / 2], v[ROUNDS / 2 - 12],
	       v[ROUNDS / 2 + 12]);
}

static void compare_shape(const struct shape *sh)
{
	static double base[ROUNDS], ours[ROUNDS], ratio[ROUNDS];
	struct load l;
	uint64_t a, b;

	load_init(&l, sh);
	round_of(walk_floor, &l, sh, &a);
	for (int i = 0; i < ROUNDS; i++) {
		base[i] = round_of(walk_floor, &l, sh, &a);
		ours[i] = round_of(walk_ours, &l, sh, &b);
		ratio[i] = ours[i] / base[i];
		if (a != b)
			abort();
	}
	line("floor", sh->name, base, "ns");
	line("ours", sh->name, ours, "ns");
	ratio_line(sh->name, ratio);
	free(l.bytes);
}

int main(void)
{
	static const struct shape shapes[] = {
		{ "5-fields", 0, 0 },
		{ "chain-32", CHAIN, 0 },
		{ "chain-32-hashed", CHAIN, 1 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		compare_shape(&shapes[i]);
	return 0;
}
