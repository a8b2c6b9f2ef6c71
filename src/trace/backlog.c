/* SPDX-License-Identifier: MIT */
/* see backlog.h */
#include "trace/backlog.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* In front of the bytes of a batch. */
struct head {
	uint64_t size, where;
};

static struct backlog_chunk *add_chunk(struct backlog *s, size_t least)
{
	struct backlog_chunk *c = ARRAY_ADD(&s->chunks);

	if (!c)
		return NULL;
	c->cap = least > CHUNK_BYTES ? least : CHUNK_BYTES;
	/* not coati_alloc(): pages that are never written stay out of memory, and none is zeroed
	 * twice */
	c->bytes = coati_realloc_array(NULL, c->cap, 1);
	if (!c->bytes) {
		s->chunks.len--;
		return NULL;
	}
	return c;
}

int coati_backlog_add(struct backlog *s, const struct backlog_batch *b)
{
	struct backlog_chunk *c = s->chunks.len ? &s->chunks.v[s->chunks.len - 1] : NULL;
	struct head head = { b->size, b->where };

	if (b->size > SIZE_MAX - sizeof(head))
		return -ENOMEM;
	if (!c || c->cap - c->len < sizeof(head) + b->size)
		c = add_chunk(s, sizeof(head) + b->size);
	if (!c)
		return -ENOMEM;
	memcpy(c->bytes + c->len, &head, sizeof(head));
	memcpy(c->bytes + c->len + sizeof(head), b->bytes, b->size);
	c->len += sizeof(head) + b->size;
	return 0;
}

int coati_backlog_next(const struct backlog *s, struct backlog_pos *pos, struct backlog_batch *ret)
{
	const struct backlog_chunk *c;
	struct head head;

	if (pos->chunk < s->chunks.len && pos->at >= s->chunks.v[pos->chunk].len)
		*pos = (struct backlog_pos){ pos->chunk + 1, 0 };
	if (pos->chunk >= s->chunks.len)
		return 0;
	c = &s->chunks.v[pos->chunk];
	memcpy(&head, c->bytes + pos->at, sizeof(head));
	*ret = (struct backlog_batch){ c->bytes + pos->at + sizeof(head), head.size, head.where };
	pos->at += sizeof(head) + head.size;
	return 1;
}

bool coati_backlog_is_end(const struct backlog *s, const struct backlog_pos *pos)
{
	return pos->chunk >= s->chunks.len ||
	       (pos->chunk + 1 == s->chunks.len && pos->at >= s->chunks.v[pos->chunk].len);
}

void coati_backlog_fini(struct backlog *s)
{
	for (size_t i = 0; i < s->chunks.len; i++)
		coati_free(s->chunks.v[i].bytes);
	ARRAY_FINI(&s->chunks);
}
