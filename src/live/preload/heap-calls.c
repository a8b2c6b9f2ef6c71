/* SPDX-License-Identifier: MIT */
/*
 * libcoati-preload-heap in front of the functions that allocate. In: a call of the program, or of
 * any library. Out: the same from the allocator that the program would have without us (that of the
 * C library, or one that it is linked with), with a word to the heap profile.
 *
 * The first call comes before any code of this library has run. Looking for the next allocator may
 * allocate: such blocks come from a small memory of our own, and stay.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coati/visibility.h>

#include "live/preload/heap.h"
#include "live/profiles/heap.h"

#define EARLY_BYTES 65536u
#define ALIGNMENT   16u

/* The frame of the function that stands here: its caller is the first of the stack. */
#define HERE ((struct store_caller){ __builtin_frame_address(0), 0 })

/* Of the next allocator. */
static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *p, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret, size_t alignment, size_t size);
	void (*free)(void *p);
	_Atomic bool is_known;
} next;

static __thread bool is_looking __attribute__((tls_model("initial-exec")));
static __thread bool was_called __attribute__((tls_model("initial-exec"))); /* malloc() of this
									     * library */

/* ---- before it is known ---- */

static struct {
	_Alignas(ALIGNMENT) uint8_t bytes[EARLY_BYTES];
	_Atomic size_t used;
} early;

/* Zeroed, with its size in front of it. */
static void *take_early(size_t size)
{
	size_t whole = (size + 2 * ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1), at;

	if (size > EARLY_BYTES - 2 * ALIGNMENT)
		return NULL;
	at = atomic_fetch_add_explicit(&early.used, whole, memory_order_relaxed);
	if (at > EARLY_BYTES - whole)
		return NULL;
	memcpy(early.bytes + at, &size, sizeof(size));
	return early.bytes + at + ALIGNMENT;
}

static bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early.bytes < EARLY_BYTES;
}

static size_t size_of_early(const void *p)
{
	size_t size;

	memcpy(&size, (const uint8_t *)p - ALIGNMENT, sizeof(size));
	return size;
}

static void find(const char *name, void *ret)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(ret, &found, sizeof(found));
}

/* False: we are called by what looks for it. Two threads may look at once, and find the same. */
static bool look(void)
{
	static const char none[] = "coati: there is no allocator behind libcoati-preload-heap\n";

	if (is_looking)
		return false;
	is_looking = true;
	find("malloc", &next.malloc);
	find("calloc", &next.calloc);
	find("realloc", &next.realloc);
	find("memalign", &next.memalign);
	find("aligned_alloc", &next.aligned_alloc);
	find("posix_memalign", &next.posix_memalign);
	find("free", &next.free);
	if (!next.malloc || !next.calloc || !next.realloc || !next.memalign ||
	    !next.aligned_alloc || !next.posix_memalign || !next.free) {
		(void)!write(STDERR_FILENO, none, sizeof(none) - 1);
		abort();
	}
	/* pairs with: acquire in is_known() */
	atomic_store_explicit(&next.is_known, true, memory_order_release);
	is_looking = false;
	return true;
}

static inline bool is_known(void)
{
	/* pairs with: release in look() */
	return __builtin_expect(atomic_load_explicit(&next.is_known, memory_order_acquire), 1) ||
	       look();
}

/* ---- the calls ---- */

COATI_API void *malloc(size_t size)
{
	void *p;

	was_called = true;
	if (!is_known())
		return take_early(size);
	p = next.malloc(size);
	coati_heap_taken(p, size, HERE);
	return p;
}

COATI_API void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (!is_known())
		return __builtin_mul_overflow(count, size, &bytes) ? NULL : take_early(bytes);
	p = next.calloc(count, size);
	coati_heap_taken(p, count * size, HERE); /* it did not overflow: there is memory */
	return p;
}

static void *move_early(const void *p, size_t size)
{
	size_t had = size_of_early(p);
	void *moved = is_known() ? next.malloc(size) : take_early(size);

	if (moved)
		memcpy(moved, p, had < size ? had : size);
	return moved;
}

/* As resize() of heap-malloc.c. */
static void *resize(void *p, size_t size, struct store_caller caller)
{
	struct heap_block old;
	bool was_sample;
	void *moved;

	if (p && is_early(p))
		return move_early(p, size);
	if (!is_known())
		return take_early(size);
	was_sample = p && heap_may_be_sample(p) && coati_heap_give(p, &old);
	moved = next.realloc(p, size);
	if (moved)
		coati_heap_taken(moved, size, caller);
	else if (was_sample && size) /* it stays as it was; of size 0 it was freed */
		coati_heap_keep(&old);
	return moved;
}

COATI_API void *realloc(void *p, size_t size)
{
	void *moved = resize(p, size, HERE);

	return moved;
}

/* That of the C library calls realloc(): it would be seen twice. */
COATI_API void *reallocarray(void *p, size_t count, size_t size)
{
	void *moved = NULL;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		errno = ENOMEM;
	else
		moved = resize(p, bytes, HERE);
	return moved;
}

static void *align(size_t alignment, size_t size, struct store_caller caller)
{
	void *p = is_known() ? next.memalign(alignment, size) : NULL;

	coati_heap_taken(p, size, caller);
	return p;
}

COATI_API void *memalign(size_t alignment, size_t size)
{
	void *p = align(alignment, size, HERE);

	return p;
}

COATI_API void *aligned_alloc(size_t alignment, size_t size)
{
	void *p = is_known() ? next.aligned_alloc(alignment, size) : NULL;

	coati_heap_taken(p, size, HERE);
	return p;
}

COATI_API void *valloc(size_t size)
{
	void *p = align((size_t)sysconf(_SC_PAGESIZE), size, HERE);

	return p;
}

COATI_API void *pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole;
	void *p = NULL;

	if (__builtin_add_overflow(size, page - 1, &whole))
		errno = ENOMEM;
	else
		p = align(page, whole & ~(page - 1), HERE);
	return p;
}

COATI_API int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int r = is_known() ? next.posix_memalign(ret, alignment, size) : ENOMEM;

	if (r == 0)
		coati_heap_taken(*ret, size, HERE);
	return r;
}

COATI_API void free(void *p)
{
	struct heap_block block;

	if (!p || is_early(p))
		return;
	if (heap_may_be_sample(p))
		coati_heap_give(p, &block);
	if (is_known())
		next.free(p);
}

/* ---- whose calls ---- */

/* A try: addresses do not tell, as a program that is loaded at a fixed one has an entry of its own
 * that leads to us. */
bool coati_preload_heap_is_called(void)
{
	void *(*volatile any_malloc)(size_t size) = malloc;
	void (*volatile any_free)(void *p) = free;
	void *p;

	was_called = false;
	p = any_malloc(1);
	any_free(p);
	return was_called;
}
