/* SPDX-License-Identifier: MIT */
/*
 * The one door to the heap. Memory comes zeroed. Tests can make the n-th call fail, which is why
 * nothing else in the tree calls malloc. Nothing here exits or prints: NULL means -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void *coati_alloc(size_t size);
/* NULL when count * size overflows. */
void *coati_alloc_array(size_t count, size_t size);
/* Grow or shrink to @count elements; new bytes are NOT zeroed. The old block stays on failure. */
void *coati_realloc_array(void *p, size_t count, size_t size);
char *coati_strdup(const char *s);
char *coati_strndup(const char *s, size_t len);
/* NULL is fine. */
void coati_free(void *p);

/* For tests: let @n more allocations succeed, then fail every one; UINT64_MAX switches it off. */
void coati_alloc_fail_after(uint64_t n);
/* For tests: number of allocations attempted since start. */
uint64_t coati_alloc_count(void);
