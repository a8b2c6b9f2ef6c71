/* SPDX-License-Identifier: MIT */
/* Sorted arrays of double. */
#pragma once

#include <stddef.h>
#include "base/search.h"

/* For qsort(). */
static inline int double_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* How many of the sorted values are below @value. */
static inline size_t double_below(const double *sorted, size_t nr, double value)
{
	return SEARCH(mid, 0, nr, sorted[mid] < value);
}
