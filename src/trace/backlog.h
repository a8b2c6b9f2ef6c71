/* SPDX-License-Identifier: MIT */
/* Batches of live events that wait, in the order in which they came, until the kernel's records
 * are all read. They take the bytes that they have in the recording. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct backlog_chunk {
	uint8_t *bytes;
	size_t len, cap;
};

/* Zeros are an empty one, with chunks.max set. */
struct backlog {
	ARRAY(struct backlog_chunk) chunks;
};

struct backlog_batch {
	const void *bytes;
	size_t size;
	uint64_t where; /* place in the recording, for messages */
};

/* Where coati_backlog_next() goes on; start with zeros. */
struct backlog_pos {
	size_t chunk, at;
};

/* A copy. -ENOMEM. */
int coati_backlog_add(struct backlog *s, const struct backlog_batch *b);
/* 1 and the next batch, 0 at the end. */
int coati_backlog_next(const struct backlog *s, struct backlog_pos *pos, struct backlog_batch *ret);
/* Is nothing behind it? */
bool coati_backlog_is_end(const struct backlog *s, const struct backlog_pos *pos);
void coati_backlog_fini(struct backlog *s);
