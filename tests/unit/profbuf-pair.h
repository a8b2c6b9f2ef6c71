/* SPDX-License-Identifier: MIT */
/*
 * A profile buffer with its two sides, as the tests of it need it: made with given options, its
 * counters started anywhere, records whose contents follow from a number so that a torn one is
 * seen.
 */
#pragma once

#include "lib/test.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <coati/profbuf.h>

#include "live/profbuf.h"

#define PAIR_STACK_MAX 64u

struct pair {
	struct coati_profbuf *buf;
	size_t bytes;
	uint64_t start; /* of the counters */
	struct coati_profbuf_writer writer;
	struct coati_profbuf_reader reader;
};

/* In memory that a child of fork() shares. @start: where the counters begin. */
static inline void pair_open(struct pair *p, const struct coati_profbuf_opts *opts, uint64_t start)
{
	struct coati_error err;
	void *memory;

	p->start = start;
	p->bytes = coati_profbuf_bytes(opts);
	CHECK_U64(p->bytes, >, 0);
	memory = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK_OK(coati_profbuf_init(memory, p->bytes, opts, &p->buf, &err));
	atomic_store(&p->buf->stored, start);
	atomic_store(&p->buf->given, start);
	atomic_store(&p->buf->lost, start);
	atomic_store(&p->buf->marked, start);
	atomic_store(&p->buf->told, start);
	CHECK_OK(coati_profbuf_writer_init(&p->writer, p->buf, p->bytes, NULL, &err));
	CHECK_OK(coati_profbuf_reader_init(&p->reader, p->buf, p->bytes, NULL, &err));
}

static inline void pair_close(struct pair *p)
{
	coati_profbuf_reader_fini(&p->reader);
	munmap(p->buf, p->bytes);
}

/* Record number @n with @nr_stack words: type, time, tag, header and stack all follow from n. */
static inline int pair_write(struct coati_profbuf_writer *writer, uint64_t n, uint32_t nr_stack)
{
	uint64_t stack[PAIR_STACK_MAX], header[1] = { ~n };

	for (uint32_t i = 0; i < nr_stack; i++)
		stack[i] = n * 1000003 + i;
	return coati_profbuf_write(writer,
				   &(struct coati_profbuf_record){ .type = (uint32_t)n & 0xffff,
								   .time_ns = n,
								   .tag = n << 8,
								   .header = header,
								   .nr_header = 1,
								   .stack = stack,
								   .nr_stack = nr_stack });
}

/* The record is whole, and is the one of its time. */
static inline void pair_check(const struct coati_profbuf_record *record)
{
	uint64_t n = record->time_ns;

	CHECK_INT(record->kind, ==, COATI_PROFBUF_DATA);
	CHECK_U64(record->type, ==, n & 0xffff);
	CHECK_U64(record->tag, ==, n << 8);
	CHECK_U64(record->nr_header, >=, 1);
	CHECK_U64(record->header[0], ==, ~n);
	for (uint32_t i = 1; i < record->nr_header; i++)
		CHECK_U64(record->header[i], ==, 0);
	for (uint32_t i = 0; i < record->nr_stack; i++)
		CHECK_U64(record->stack[i], ==, n * 1000003 + i);
}

/* The next record is number @n with @nr_stack words. */
static inline void pair_expect(struct pair *p, uint64_t n, uint32_t nr_stack)
{
	struct coati_profbuf_record record;

	CHECK_INT(coati_profbuf_read(&p->reader, COATI_PROFBUF_NOW, &record), ==, 1);
	pair_check(&record);
	CHECK_U64(record.time_ns, ==, n);
	CHECK_U64(record.nr_stack, ==, nr_stack);
}

static inline void pair_expect_loss(struct pair *p, uint64_t count, uint64_t first, uint64_t last)
{
	struct coati_profbuf_record record;

	CHECK_INT(coati_profbuf_read(&p->reader, COATI_PROFBUF_NOW, &record), ==, 1);
	CHECK_INT(record.kind, ==, COATI_PROFBUF_LOSS);
	CHECK_U64(record.count, ==, count);
	CHECK_U64(record.first_ns, ==, first);
	CHECK_U64(record.last_ns, ==, last);
	CHECK_U64(record.time_ns, ==, first);
}

static inline void pair_expect_nothing(struct pair *p, int code)
{
	struct coati_profbuf_record record;

	CHECK_ERR(coati_profbuf_read(&p->reader, COATI_PROFBUF_NOW, &record), code);
}

/* calls = delivered + lost + too_large + after_close, by the buffer's own counters */
static inline void pair_check_balance(const struct pair *p, uint64_t calls, uint64_t delivered,
				      uint64_t told)
{
	struct coati_profbuf_stats s = { .size = sizeof(s) };

	coati_profbuf_get_stats(p->buf, &s);
	CHECK_U64(s.written, ==, delivered);
	CHECK_U64(s.lost - p->start, ==, told);
	CHECK_U64(s.written + told + s.too_large + s.after_close, ==, calls);
}
