/* SPDX-License-Identifier: MIT */
/*
 * Adds new and delete of a C++ program to the heap profile (<coati/heap.h>): include this in
 * exactly one source file of the program. It defines the global operators on which all others are
 * based: new[], the non-throwing forms and the sized deletes of the C++ library call these.
 */
#ifndef COATI_HEAP_NEW_H
#define COATI_HEAP_NEW_H

#include <coati/heap.h>

#ifdef __cplusplus
#include <cstdlib>
#include <new>

/* Call the new-handler when memory runs out, as the C++ standard requires; false: there is none. */
static inline bool coati_heap_new_again()
{
	std::new_handler handler = std::get_new_handler();

	if (handler)
		handler();
	return handler != nullptr;
}

[[noreturn]] static inline void coati_heap_new_fail()
{
#ifdef __cpp_exceptions
	throw std::bad_alloc();
#else
	std::abort();
#endif
}

void *operator new(std::size_t size)
{
	void *p;

	while (!(p = coati_heap_malloc(size ? size : 1)))
		if (!coati_heap_new_again())
			coati_heap_new_fail();
	return p;
}

void operator delete(void *p) noexcept
{
	coati_heap_free(p);
}

void operator delete(void *p, std::size_t) noexcept
{
	coati_heap_free(p);
}

#ifdef __cpp_aligned_new
void *operator new(std::size_t size, std::align_val_t alignment)
{
	void *p = nullptr;

	while (coati_heap_posix_memalign(&p, static_cast<std::size_t>(alignment), size ? size : 1))
		if (!coati_heap_new_again())
			coati_heap_new_fail();
	return p;
}

void operator delete(void *p, std::align_val_t) noexcept
{
	coati_heap_free(p);
}

void operator delete(void *p, std::size_t, std::align_val_t) noexcept
{
	coati_heap_free(p);
}
#endif
#endif
#endif
