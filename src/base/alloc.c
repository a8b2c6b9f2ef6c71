/* SPDX-License-Identifier: MIT */
/* The door to the heap, with a counter that tests can make run out. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint_fast64_t nr_calls;
static atomic_uint_fast64_t fail_at = UINT64_MAX;

static int may_allocate(void)
{
	/* relaxed: a test sets the limit before the calls it wants to fail, in the same thread */
	uint64_t n = atomic_fetch_add_explicit(&nr_calls, 1, memory_order_relaxed);

	return n < atomic_load_explicit(&fail_at, memory_order_relaxed);
}

void coati_alloc_fail_after(uint64_t n)
{
	uint64_t now = coati_alloc_count();

	atomic_store_explicit(&fail_at, n > UINT64_MAX - now ? UINT64_MAX : now + n,
			      memory_order_relaxed);
}

uint64_t coati_alloc_count(void)
{
	return atomic_load_explicit(&nr_calls, memory_order_relaxed);
}

void *coati_alloc(size_t size)
{
	return may_allocate() ? calloc(1, size ? size : 1) : NULL;
}

void *coati_alloc_array(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return coati_alloc(bytes);
}

void *coati_realloc_array(void *p, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || !may_allocate())
		return NULL;
	return realloc(p, bytes ? bytes : 1);
}

char *coati_strndup(const char *s, size_t len)
{
	char *copy = len < SIZE_MAX ? coati_alloc(len + 1) : NULL;

	if (copy && len)
		memcpy(copy, s, len);
	return copy;
}

char *coati_strdup(const char *s)
{
	return coati_strndup(s, strlen(s));
}

void coati_free(void *p)
{
	free(p);
}
