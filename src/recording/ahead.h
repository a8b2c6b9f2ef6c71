/* SPDX-License-Identifier: MIT */
/*
 * Reading a file ahead of who uses its records. In: a descriptor and where in it the records lie.
 * Out: chunks, with the places of the whole records in each of them, what event they are of and
 * when they were. Threads take turns to read a chunk and find where its last whole record ends,
 * and then look at its records beside each other. Chunks begin and end where those of an input do
 * that reads alone, so nothing that is decided by what waits in memory depends on the number of
 * threads.
 *
 * The last part ends in front of whatever needs a decision: the end of the file, a read that
 * failed, a record that cannot be, one with data behind it, and one that changes what the table of
 * formats says. The stream goes on alone from there, as if no thread had read ahead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>

#include "recording/chunk.h"
#include "recording/recording.h"

struct ahead;

struct ahead_record {
	uint64_t time; /* 0: none */
	uint32_t at;   /* in the chunk */
	uint32_t event;
	uint32_t note; /* of the callback; 0: none */
	bool no_event; /* its ID belongs to no event of the file */
};

/* What was found in one chunk. */
struct ahead_part {
	struct chunk *chunk;
	struct ahead_record *records;
	size_t nr, cap;
	bool is_last;
};

struct ahead_input {
	int fd;
	bool swap;
	uint64_t offset, end; /* of the records in the file */
	struct chunk_pool *pool;
	const struct coati_format_table *table; /* nothing changes it before the last part */
};

/* NULL: no memory, or no thread could be started. */
struct ahead *coati_ahead_new(const struct ahead_input *in, const struct coati_ahead_opts *o);
void coati_ahead_free(struct ahead *a);
/* The next part, and then the same again until it is taken; NULL: there is none, and the stream
 * goes on alone behind the part before. */
struct ahead_part *coati_ahead_peek(struct ahead *a);
/* The chunk of that part is the caller's now; its records stay until the next peek(). */
struct chunk *coati_ahead_take(struct ahead *a);
