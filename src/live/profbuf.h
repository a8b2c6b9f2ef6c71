/* SPDX-License-Identifier: MIT */
/*
 * The profile buffer, inside: what lies in its memory, and the two sides. docs/formats/profbuf.md
 * has the layout byte by byte.
 *
 * Who writes what: the first line has no writer after init; the writer's line the writer; the
 * reader's line the reader, but "sleeping", which the writer takes back; the control line the
 * writer, and "closed" who closes. Positions are counts of words since the start and wrap at 2^64.
 *
 * Invariants: given <= stored as differences, and stored - given <= data_words; what lies between
 * belongs to the reader, the rest to the writer. A record lies in one piece. lost only grows. Every
 * loss up to "marked" has its LOSS record in the stream; the reader reports losses up to "told",
 * from these records, or from the control line once the stream is read to its end. So a loss is
 * reported once, in its place, and survives the death of the writer at any moment.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/profbuf.h>

#define PROFBUF_MAGIC	      UINT64_C(0x3142504954414f43) /* "COATIPB1" in memory */
#define PROFBUF_VERSION	      1u
#define PROFBUF_DEFAULT_WORDS UINT64_C(16384)
#define PROFBUF_MIN_WORDS     UINT64_C(64)
#define PROFBUF_MAX_WORDS     (UINT64_C(1) << 28)
#define PROFBUF_MAX_HEADER    256u
#define PROFBUF_FLAGS	      (COATI_PROFBUF_SHARED | COATI_PROFBUF_EVENTFD)

/* In front of the header words of a DATA record: size and kind, time, tag. */
#define PROFBUF_PREFIX 3u
/* A LOSS record: size and kind, last time, losses up to here, losses before this run, first
 * time. */
#define PROFBUF_LOSS_WORDS 5u
/* Kind of a record that only fills the rest of the lap. */
#define PROFBUF_PAD 3u

enum { PROFBUF_OPEN = 0, PROFBUF_CLOSING, PROFBUF_CLOSED };

struct coati_profbuf {
	uint64_t magic;
	uint32_t version, data_offset;
	uint64_t data_words, wake_words;
	uint32_t header_words, flags;
	uint64_t created_ns; /* for people, as is pid */
	uint32_t pid;
	uint32_t reserved[19];

	/* the writer's line */
	_Atomic uint64_t stored; /* position behind the last record */
	_Atomic uint64_t records, marked;
	_Atomic uint64_t too_large, after_close, reentered, wakes;
	_Atomic uint32_t busy; /* a write is under way */
	uint32_t reserved_writer[17];

	/* the reader's line */
	_Atomic uint64_t given; /* position up to which the writer may write again */
	_Atomic uint64_t told;
	_Atomic uint32_t sleeping; /* also the futex */
	uint32_t reserved_reader[27];

	/* the control line */
	_Atomic uint64_t lost;		      /* since the start */
	_Atomic uint64_t run_base, run_first; /* losses before this run, time of its first */
	/* time of the n-th loss, at n & 1: n and its time are read together */
	_Atomic uint64_t run_last[2];
	_Atomic uint32_t closed;
	uint32_t reserved_control[21];
};
_Static_assert(sizeof(struct coati_profbuf) == 512, "four pairs of cache lines");
_Static_assert(offsetof(struct coati_profbuf, stored) == 128, "the writer's line");
_Static_assert(offsetof(struct coati_profbuf, given) == 256, "the reader's line");
_Static_assert(offsetof(struct coati_profbuf, lost) == 384, "the control line");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4, "words as they are");

/* What struct coati_profbuf_writer really is. Geometry is kept here: the memory may belong to
 * another process, too. */
struct profbuf_writer {
	struct coati_profbuf *buf;
	uint64_t *data;
	uint64_t mask, pos;
	/* up to here a record may go without a second look: see settle_limit() */
	_Atomic uint64_t limit;
	uint64_t given; /* as last loaded */
	uint64_t floor; /* the reader sleeps at no position before this one */
	uint64_t wake_words;
	uint32_t header_words, max_stack;
	int32_t wake_fd;
	uint32_t *wake_word;
	bool eventfd, shared;
	bool fenced; /* no membarrier() here: every write has a fence of its own */
};
_Static_assert(sizeof(struct profbuf_writer) <= sizeof(struct coati_profbuf_writer), "fits");

/* What struct coati_profbuf_reader really is. */
struct profbuf_reader {
	struct coati_profbuf *buf;
	const uint64_t *data;
	uint64_t mask, pos, seen; /* "stored" as last looked at */
	uint64_t limit; /* up to here records are taken without a second look: see refill() */
	uint64_t given; /* as published */
	uint64_t step;	/* publish when so much is read */
	uint64_t told, told_ns; /* losses, and the time of the last */
	uint32_t header_words;
	int32_t wake_fd;
	bool eventfd, shared, dead, ended;
	bool holding; /* a DATA record is out, and its tag is to be released */
	uint64_t tag;
	coati_profbuf_release_fn release;
	void *release_ctx;
};
_Static_assert(sizeof(struct profbuf_reader) <= sizeof(struct coati_profbuf_reader), "fits");

static inline uint64_t profbuf_word(uint64_t words, uint32_t kind, uint32_t type)
{
	return words | (uint64_t)kind << 32 | (uint64_t)(type & 0xffff) << 48;
}

static inline uint64_t profbuf_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}
