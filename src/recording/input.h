/* SPDX-License-Identifier: MIT */
/*
 * A stream of records out of a descriptor or out of bytes that are pushed in (what a compressed
 * record held). Gives whole records, each inside one chunk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>

#include "recording/chunk.h"

struct input {
	int fd;	       /* -1: bytes are pushed */
	bool seekable; /* pread at offset, else read */
	bool swap;
	uint64_t offset; /* in the file: of the next byte to be read into the chunk */
	uint64_t end;	 /* do not read past this; UINT64_MAX: to the end of the file */
	struct chunk *chunk;
	size_t at;	     /* next byte in the chunk to be looked at */
	uint64_t read_bytes; /* so far */
	struct chunk_pool *pool;
};

/* One record out of it. */
struct input_record {
	struct coati_raw raw;
	const uint8_t *bytes; /* header and body */
	struct chunk *chunk;  /* where it lies; no use is taken */
	uint64_t offset;
};

void coati_input_init(struct input *in, struct chunk_pool *pool, int fd, bool seekable);
void coati_input_fini(struct input *in);
/* 1 and a whole record, 0 nothing more (pushed input: push more; a file: its end), -ENODATA the
 * file ends in mid-record, -EBADMSG a header that cannot be, -ENOBUFS too much waits (deliver, then
 * call again), -ENOMEM, or what read(2) said. */
int coati_input_next(struct input *in, struct input_record *ret);
/* @c was read behind the chunk before, with what was left of that one in front; it is the input's
 * now. -ENOBUFS as above, and nothing was done. */
int coati_input_adopt(struct input *in, struct chunk *c);
/* The next @size bytes, which are data behind a record's end, to @to. -ENODATA: there are fewer. */
int coati_input_copy(struct input *in, void *to, size_t size);
/* Whether the @size bytes behind the record that was given last are there already; a pipe says yes
 * and waits for them. */
bool coati_input_has(const struct input *in, uint64_t size);
/* The record that was given last, of @size bytes, was not taken: give it again. */
void coati_input_back(struct input *in, size_t size);
/* Skip @size bytes. */
int coati_input_skip(struct input *in, uint64_t size);
/* Room for @size bytes at the end of a pushed input, to be filled by the caller; -ENOBUFS as above.
 * Ask before the bytes are taken from where they come. */
int coati_input_room(struct input *in, size_t size, void **ret);
/* So many of them are filled. */
void coati_input_pushed(struct input *in, size_t size);
/* Bytes that are in the chunk and not looked at yet. */
size_t coati_input_left(const struct input *in);
/* Offset in the file of the next byte to be looked at. */
uint64_t coati_input_tell(const struct input *in);
