/* SPDX-License-Identifier: MIT */
/* Memory that is freed whole: for models whose parts live exactly as long as the model. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used_bytes; /* handed out, from all blocks */
	size_t max_bytes;  /* ceiling, set by arena_init */
};

void coati_arena_init(struct arena *a, size_t max_bytes);
void coati_arena_fini(struct arena *a);
/* Zeroed, aligned to 16; NULL when out of memory or over the ceiling. */
void *coati_arena_alloc(struct arena *a, size_t size);
/* A terminated copy. */
char *coati_arena_strndup(struct arena *a, const char *s, size_t len);
char *coati_arena_strdup(struct arena *a, const char *s);
char *coati_arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
