/* SPDX-License-Identifier: MIT */
/*
 * The heap of a C source file in the heap profile (<coati/heap.h>): calls of malloc(), free() and
 * the like that come after this line go through coati_heap_malloc() and so on. Include it last, or
 * for a whole program: cc -include coati/heap-hook.h.
 *
 * These are macros with arguments: the names without a call, as in `ops.free = free`, are left
 * alone, and calls of members that are called so are not: write (ops->free)(p) for these. In C++ it
 * does nothing: see <coati/heap-new.h>. What other functions of the C library allocate (asprintf(),
 * getline(), ...) is not seen; free() may free it as ever.
 */
#ifndef COATI_HEAP_HOOK_H
#define COATI_HEAP_HOOK_H

/* What declares these names comes first. */
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
