/* SPDX-License-Identifier: MIT */
/*
 * Sizes come in, zeroed memory goes out, from blocks that grow with the arena. Nothing is freed
 * before the arena is; the ceiling counts what was handed out, rounded up to the alignment.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define ARENA_ALIGN	((size_t)16)
#define BLOCK_BYTES_MIN ((size_t)1024)
#define BLOCK_BYTES_MAX ((size_t)64 * 1024)

struct arena_block {
	struct arena_block *next;
	size_t used, cap;
	alignas(16) unsigned char bytes[];
};

/* Small arenas stay small, large ones need few blocks: a new block is as large as all before it. */
static size_t block_bytes(const struct arena *a)
{
	if (a->used_bytes < BLOCK_BYTES_MIN)
		return BLOCK_BYTES_MIN;
	return a->used_bytes < BLOCK_BYTES_MAX ? a->used_bytes : BLOCK_BYTES_MAX;
}

static struct arena_block *add_block(struct arena *a, size_t size)
{
	size_t normal = block_bytes(a);
	size_t cap = size > normal ? size : normal;
	struct arena_block *b = coati_alloc(sizeof(*b) + cap);

	if (!b)
		return NULL;
	b->cap = cap;
	if (a->head && size > normal) {
		/* filled at once: the head keeps its room */
		b->next = a->head->next;
		a->head->next = b;
	} else {
		b->next = a->head;
		a->head = b;
	}
	return b;
}

void coati_arena_init(struct arena *a, size_t max_bytes)
{
	*a = (struct arena){ .max_bytes = max_bytes };
}

void coati_arena_fini(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		coati_free(a->head);
		a->head = next;
	}
	a->used_bytes = 0;
}

void *coati_arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *b = a->head;
	void *p;

	/* the margin keeps the sums below from wrapping, whatever the ceiling */
	if (size > SIZE_MAX / 2)
		return NULL;
	/* never zero bytes: two objects must not have one address */
	size = size ? (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1) : ARENA_ALIGN;
	if (a->used_bytes > a->max_bytes || size > a->max_bytes - a->used_bytes)
		return NULL;
	if (!b || size > b->cap - b->used)
		b = add_block(a, size);
	if (!b)
		return NULL;
	p = b->bytes + b->used;
	b->used += size;
	a->used_bytes += size;
	return p;
}

char *coati_arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = len < SIZE_MAX ? coati_arena_alloc(a, len + 1) : NULL;

	if (copy && len)
		memcpy(copy, s, len);
	return copy;
}

char *coati_arena_strdup(struct arena *a, const char *s)
{
	return coati_arena_strndup(a, s, strlen(s));
}

char *coati_arena_printf(struct arena *a, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len >= 0)
		text = coati_arena_alloc(a, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return text;
}
