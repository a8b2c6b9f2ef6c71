/* SPDX-License-Identifier: MIT */
/*
 * What it costs to write a sample into a profile buffer and to read it: a header word, 32 stack
 * words, time and tag. Pairs of "OURS PEER" in nanoseconds per record.
 *
 *	bench-profbuf copy PAIRS	peer: the same words copied into a ring with one release
 *					store, and a look at the position
 *	bench-profbuf batch N		one figure, nanoseconds per record over N records:
 *					bench/profbuf.go does the same with Go's buffer
 */
#include <string.h>

#include <coati/profbuf.h>

#include "bench.h"

#define NR_STACK 32u
#define WORDS	 36u
#define ROUNDS	 20000u
#define DATA	 (UINT64_C(1) << 17)

struct both {
	struct coati_profbuf_writer writer;
	struct coati_profbuf_reader reader;
	uint64_t words[WORDS], time, check;
	uint64_t *ring, pos, at;
};

static void ours(void *ctx)
{
	struct both *b = ctx;
	struct coati_profbuf_record out;
	struct coati_profbuf_record in = { .time_ns = b->time++,
					   .tag = 1,
					   .header = b->words,
					   .nr_header = 1,
					   .stack = b->words + 4,
					   .nr_stack = NR_STACK };

	if (coati_profbuf_write(&b->writer, &in) < 0 ||
	    coati_profbuf_read(&b->reader, COATI_PROFBUF_NOW, &out) != 1)
		abort();
	b->check += out.stack[NR_STACK - 1];
}

static void copy(void *ctx)
{
	struct both *b = ctx;
	uint64_t pos = b->pos;

	if ((pos & (DATA - 1)) + WORDS > DATA)
		pos += DATA - (pos & (DATA - 1));
	b->words[1] = b->time++;
	memcpy(b->ring + (pos & (DATA - 1)), b->words, sizeof(b->words));
	__atomic_store_n(&b->pos, pos + WORDS, __ATOMIC_RELEASE);
	b->at = __atomic_load_n(&b->pos, __ATOMIC_ACQUIRE) - WORDS;
	b->check += b->ring[(b->at & (DATA - 1)) + WORDS - 1];
}

int main(int argc, char **argv)
{
	struct coati_profbuf_opts o = { .size = sizeof(o), .data_words = DATA, .header_words = 1 };
	size_t bytes = coati_profbuf_bytes(&o);
	unsigned int n = argc > 2 ? (unsigned int)atoi(argv[2]) : 31;
	static struct both b;
	struct coati_profbuf *buf;

	b.ring = calloc(DATA, sizeof(*b.ring));
	if (argc < 2 || !b.ring ||
	    coati_profbuf_init(aligned_alloc(64, bytes), bytes, &o, &buf, NULL) < 0 ||
	    coati_profbuf_writer_init(&b.writer, buf, bytes, NULL, NULL) < 0 ||
	    coati_profbuf_reader_init(&b.reader, buf, bytes, NULL, NULL) < 0)
		return 2;
	for (uint64_t i = 0; i < WORDS; i++)
		b.words[i] = i;
	if (!strcmp(argv[1], "copy")) {
		bench_pairs(n, ROUNDS, ours, copy, &b);
	} else {
		bench_batch(ours, &b, n);
		printf("%.2f\n", bench_batch(ours, &b, n));
	}
	return b.check == UINT64_MAX;
}
