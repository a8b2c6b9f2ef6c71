/* SPDX-License-Identifier: MIT */
/* Chunks of the usual size are kept for the next use; larger ones (rare) are freed. */
#include "recording/chunk.h"

#include <errno.h>

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

static bool is_over(const struct chunk_pool *p, size_t size)
{
	return !p->urgent && (p->live_bytes > p->max_bytes || size > p->max_bytes - p->live_bytes);
}

/* Not zeroed: it is filled at once. */
static struct chunk *make_chunk(struct chunk_pool *p, size_t size)
{
	struct chunk *c = p->free;

	if (c && size == CHUNK_BYTES)
		p->free = c->next;
	else
		c = coati_realloc_array(NULL, sizeof(*c) + size, 1);
	if (c)
		*c = (struct chunk){ .users = 1, .size = size };
	return c;
}

struct chunk *coati_chunk_get(struct chunk_pool *p, size_t size)
{
	struct chunk *c;

	if (size < CHUNK_BYTES)
		size = CHUNK_BYTES;
	if (is_over(p, size))
		return NULL;
	c = make_chunk(p, size);
	if (c)
		p->live_bytes += size;
	return c;
}

struct chunk *coati_chunk_spare(struct chunk_pool *p)
{
	return make_chunk(p, CHUNK_BYTES);
}

void coati_chunk_unspare(struct chunk_pool *p, struct chunk *c)
{
	if (!c)
		return;
	c->next = p->free;
	p->free = c;
}

int coati_chunk_adopt(struct chunk_pool *p, const struct chunk *c, bool replaces)
{
	if (!replaces && is_over(p, c->size))
		return -ENOBUFS;
	p->live_bytes += c->size;
	return 0;
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
