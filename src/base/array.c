/* SPDX-License-Identifier: MIT */
/*
 * The untyped half of ARRAY(): grows by doubling up to the ceiling, hands out zeroed elements,
 * leaves the array as it was when it cannot.
 */
#include "base/array.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_CAP ((size_t)8)

static bool grow(void **v, size_t *cap, size_t max, size_t size)
{
	size_t want = *cap ? *cap * 2 : FIRST_CAP;
	void *p;

	if (want > max || want < *cap)
		want = max;
	p = coati_realloc_array(*v, want, size);
	if (!p)
		return false;
	*v = p;
	*cap = want;
	return true;
}

void *coati_array_add(void **v, size_t *len, size_t *cap, size_t max, size_t size)
{
	unsigned char *element;

	if (*len >= max || (*len == *cap && !grow(v, cap, max, size)))
		return NULL;
	element = (unsigned char *)*v + *len * size;
	memset(element, 0, size);
	++*len;
	return element;
}

void coati_array_fini(void **v, size_t *len, size_t *cap)
{
	coati_free(*v);
	*v = NULL;
	*len = *cap = 0;
}
