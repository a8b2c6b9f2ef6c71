/* SPDX-License-Identifier: MIT */
/*
 * One file of a recording as a stream of records in order: input, decompression and ordering put
 * together. A recording has one, a directory recording several, which are merged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/recording.h>

#include "record/table.h"
#include "recording/ahead.h"
#include "recording/input.h"
#include "recording/model.h"
#include "recording/order.h"
#include "recording/zstd.h"

/* What all streams of a recording share. */
struct shared {
	struct model model;
	struct chunk_pool pool;
	struct coati_recording_stats stats;
	struct damage damage;
	struct coati_error err;
	bool follow;
	uint64_t unpack_most;	 /* see struct coati_recording_opts */
	int (*watch)(void *ctx); /* see coati_recording_watch(), or NULL */
	void *watch_ctx;
};

struct stream {
	struct shared *shared;
	struct input outer, inner; /* inner: what came out of compressed records */
	struct order order;
	struct ahead *ahead;	 /* NULL: no thread reads ahead */
	struct ahead_part *part; /* of it, whose chunk is that of @outer; NULL: none so far */
	size_t part_at;		 /* next record of the part */
	struct locator locator;
	struct unpacker *unpacker;
	const uint8_t *packed; /* rest of the compressed record that is being unpacked */
	size_t packed_left;
	struct chunk *packed_chunk;
	uint64_t packed_offset;
	struct order_entry *head; /* next to deliver, or NULL */
	int end;		  /* 0 more may come, 1 ended well, negative: why it stopped */
	const char *name;	  /* for messages */
};

void coati_stream_init(struct stream *s, struct shared *shared, int fd, bool seekable);
void coati_stream_fini(struct stream *s);
/* Read ahead, as far as there is memory for it and threads can be started. */
void coati_stream_ahead(struct stream *s, const struct coati_ahead_opts *o);
/* Make s->head, which is none, the next record: 1, 0 at the end (s->end tells how it ended). */
int coati_stream_find_head(struct stream *s);
/* The same, unless there is one.  Hot. */
static inline int stream_peek(struct stream *s)
{
	if (!s->head)
		s->head = order_next(&s->order);
	return s->head ? 1 : coati_stream_find_head(s);
}

/* Read up to the first record that is not about the recording itself: in a pipe the events come
 * first. */
void coati_stream_prime(struct stream *s);
/* The length of the data behind a record that its header does not cover (TRACING_DATA, AUXTRACE),
 * else 0. */
uint64_t coati_stream_behind(const struct coati_raw *raw);
