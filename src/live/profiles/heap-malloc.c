/* SPDX-License-Identifier: MIT */
/* The functions of the C library that allocate, with a word to the heap profile. A sample is taken
 * out before its block goes back: then no other block can have its address. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <coati/heap.h>

#include "live/profiles/heap.h"

/* The frame of the function that stands here: its caller is the first of the stack. */
#define HERE ((struct store_caller){ __builtin_frame_address(0), 0 })

void *coati_heap_malloc(size_t size)
{
	void *p = malloc(size);

	coati_heap_taken(p, size, HERE);
	return p;
}

void *coati_heap_calloc(size_t count, size_t size)
{
	void *p = calloc(count, size);

	coati_heap_taken(p, count * size, HERE); /* it did not overflow: there is memory */
	return p;
}

static void *resize(void *p, size_t size, struct store_caller caller)
{
	struct heap_block old;
	bool was_sample = p && heap_may_be_sample(p) && coati_heap_give(p, &old);
	void *moved = realloc(p, size);

	if (moved)
		coati_heap_taken(moved, size, caller);
	else if (was_sample && size) /* it stays as it was; of size 0 it was freed */
		coati_heap_keep(&old);
	return moved;
}

void *coati_heap_realloc(void *p, size_t size)
{
	void *moved = resize(p, size, HERE);

	return moved;
}

void *coati_heap_reallocarray(void *p, size_t count, size_t size)
{
	void *moved = NULL;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		errno = ENOMEM;
	else
		moved = resize(p, bytes, HERE);
	return moved;
}

void *coati_heap_aligned_alloc(size_t alignment, size_t size)
{
	void *p = aligned_alloc(alignment, size);

	coati_heap_taken(p, size, HERE);
	return p;
}

int coati_heap_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int r = posix_memalign(ret, alignment, size);

	if (r == 0)
		coati_heap_taken(*ret, size, HERE);
	return r;
}

char *coati_heap_strdup(const char *s)
{
	char *p = strdup(s);

	coati_heap_taken(p, p ? strlen(p) + 1 : 0, HERE);
	return p;
}

char *coati_heap_strndup(const char *s, size_t size)
{
	char *p = strndup(s, size);

	coati_heap_taken(p, p ? strlen(p) + 1 : 0, HERE);
	return p;
}

void coati_heap_free(void *p)
{
	coati_heap_note_free(p);
	free(p);
}
