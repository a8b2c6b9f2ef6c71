/* SPDX-License-Identifier: MIT */
/*
 * Adds the allocations of a C source file to the heap profile (<coati/heap.h>): calls of malloc(),
 * free() and so on after this include go through coati_heap_malloc() and its companions. Include it
 * last, or for a whole program use cc -include coati/heap-hook.h.
 *
 * These are macros with arguments. A name without a call, as in `ops.free = free`, is not replaced;
 * a call of a member with such a name is: write (ops->free)(p) to avoid that. In C++ this header
 * does nothing: see <coati/heap-new.h>. Memory that other functions of the C library allocate
 * (asprintf(), getline(), ...) is not seen; it may be passed to free() as usual.
 */
#ifndef COATI_HEAP_HOOK_H
#define COATI_HEAP_HOOK_H

/* The headers that declare these functions must come first. */
#include <stdlib.h>
#include <string.h>

#include <coati/heap.h>

#ifndef __cplusplus
#undef malloc
#undef calloc
#undef realloc
#undef reallocarray
#undef aligned_alloc
#undef posix_memalign
#undef strdup
#undef strndup
#undef free
#define malloc(size)			     coati_heap_malloc(size)
#define calloc(count, size)		     coati_heap_calloc(count, size)
#define realloc(p, size)		     coati_heap_realloc(p, size)
#define reallocarray(p, count, size)	     coati_heap_reallocarray(p, count, size)
#define aligned_alloc(alignment, size)	     coati_heap_aligned_alloc(alignment, size)
#define posix_memalign(ret, alignment, size) coati_heap_posix_memalign(ret, alignment, size)
#define strdup(s)			     coati_heap_strdup(s)
#define strndup(s, size)		     coati_heap_strndup(s, size)
#define free(p)				     coati_heap_free(p)
#endif

#endif
