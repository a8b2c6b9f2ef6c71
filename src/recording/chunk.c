/* SPDX-License-Identifier: MIT */
/* Chunks of the usual size are kept for the next use; larger ones (rare) are freed. */
#include "recording/chunk.h"

#include "base/alloc.h"

void coati_chunk_pool_init(struct chunk_pool *p, size_t max_bytes)
{
	*p = (struct chunk_pool){ .max_bytes = max_bytes };
}

void coati_chunk_pool_fini(struct chunk_pool *p)
{
	while (p->free) {
		struct chunk *next = p->free->next;

		coati_free(p->free);
		p->free = next;
	}
}

struct chunk *coati_chunk_get(struct chunk_pool *p, size_t size)
{
	struct chunk *c = p->free;

	if (size < CHUNK_BYTES)
		size = CHUNK_BYTES;
	if (!p->urgent && (p->live_bytes > p->max_bytes || size > p->max_bytes - p->live_bytes))
		return NULL;
	if (c && size == CHUNK_BYTES)
		p->free = c->next;
	else
		c = coati_realloc_array(NULL, sizeof(*c) + size,
					1); /* not zeroed: it is filled at once */
	if (!c)
		return NULL;
	*c = (struct chunk){ .users = 1, .size = size };
	p->live_bytes += size;
	return c;
}

void coati_chunk_give_back(struct chunk_pool *p, struct chunk *c)
{
	p->live_bytes -= c->size;
	if (c->size == CHUNK_BYTES) {
		c->next = p->free;
		p->free = c;
	} else {
		coati_free(c);
	}
}
