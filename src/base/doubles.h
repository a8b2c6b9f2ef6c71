/* SPDX-License-Identifier: MIT */
/* Numbers of type double: sorted arrays of them, and conversion to integers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

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

/* Conversion to an integer, towards zero. A value that does not fit, for which C leaves the result
 * undefined, gives the nearest one that does; NaN gives 0. */
static inline uint64_t double_to_u64(double x)
{
	if (!(x > 0))
		return 0;
	return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}
