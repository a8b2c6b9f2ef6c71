/* SPDX-License-Identifier: MIT */
/* A column of numbers, as the readers of formats gather them. Failure is sticky. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define FORMAT_NUMBERS_MAX ((size_t)1 << 28)

struct format_numbers {
	uint64_t *v;
	size_t len, cap;
	bool failed; /* no memory, or too many */
};

static inline void numbers_add(struct format_numbers *n, uint64_t value)
{
	uint64_t *slot = coati_array_add((void **)&n->v, &n->len, &n->cap, FORMAT_NUMBERS_MAX,
					 sizeof(*n->v));

	if (slot)
		*slot = value;
	else
		n->failed = true;
}

static inline void numbers_fini(struct format_numbers *n)
{
	coati_array_fini((void **)&n->v, &n->len, &n->cap);
}
