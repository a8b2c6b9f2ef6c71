/* SPDX-License-Identifier: MIT */
/*
 * A growing array with a ceiling. The element type is in the variable:
 *
 *	ARRAY(struct coati_event_desc) events = ARRAY_INIT(4096);
 *	struct coati_event_desc *e = ARRAY_ADD(&events);   zeroed new element, NULL: out of memory
 *	                                                   or full
 *	for (size_t i = 0; i < events.len; i++) use(&events.v[i]);
 *	ARRAY_FINI(&events);
 *
 * Adding may move the elements: pointers into v live until the next ARRAY_ADD.
 */
#pragma once

#include <stddef.h>

#define ARRAY(type)                   \
	struct {                      \
		type *v;              \
		size_t len, cap, max; \
	}
#define ARRAY_INIT(ceiling)      \
	{                        \
		.max = (ceiling) \
	}

/* Zeroed new last element, or NULL. */
#define ARRAY_ADD(a)                                                                           \
	((__typeof__((a)->v))coati_array_add((void **)&(a)->v, &(a)->len, &(a)->cap, (a)->max, \
					     sizeof(*(a)->v)))
#define ARRAY_FINI(a) coati_array_fini((void **)&(a)->v, &(a)->len, &(a)->cap)

void *coati_array_add(void **v, size_t *len, size_t *cap, size_t max, size_t size);
void coati_array_fini(void **v, size_t *len, size_t *cap);
