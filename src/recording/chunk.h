/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a recording in memory. Input is read into chunks; records stay where they were read, and
 * a chunk is used again once no record in it is waiting any more. So nothing is copied for the sake
 * of ordering, and memory is bounded by what waits, not by the file. (A file is read, not mapped: a
 * mapping would raise SIGBUS when another process truncates the file, and its pages would count as
 * memory of this one.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_BYTES (512 * 1024)

struct chunk {
	struct chunk *next; /* in the pool's free list */
	uint32_t users;	    /* records that wait, plus one while it is being filled */
	uint32_t reserved;
	size_t size; /* bytes of data[] */
	size_t filled;
	uint64_t offset; /* of data[0] in the file */
	uint8_t data[];
};

struct chunk_pool {
	struct chunk *free;
	size_t live_bytes; /* of all chunks that are not free */
	size_t max_bytes;
	/* the ceiling does not hold now: the caller has nothing that it could give back */
	bool urgent;
};

void coati_chunk_pool_init(struct chunk_pool *p, size_t max_bytes);
void coati_chunk_pool_fini(struct chunk_pool *p);
/* A chunk with room for at least @size bytes and one user; NULL when out of memory or over the
 * ceiling (not when it is urgent). */
struct chunk *coati_chunk_get(struct chunk_pool *p, size_t size);
/* One of the usual size with one user, to be filled by another thread, that does not count for the
 * ceiling until it is adopted; or it is given back unused. NULL: out of memory. */
struct chunk *coati_chunk_spare(struct chunk_pool *p);
void coati_chunk_unspare(struct chunk_pool *p, struct chunk *c);
/* -ENOBUFS: over the ceiling, as get() is; unless @replaces says that another one is given back. */
int coati_chunk_adopt(struct chunk_pool *p, const struct chunk *c, bool replaces);
/* It is not used any more. */
void coati_chunk_give_back(struct chunk_pool *p, struct chunk *c);
/* One user less; the last one gives it back. NULL is fine.  Hot. */
static inline void coati_chunk_put(struct chunk_pool *p, struct chunk *c)
{
	if (c && !--c->users)
		coati_chunk_give_back(p, c);
}
