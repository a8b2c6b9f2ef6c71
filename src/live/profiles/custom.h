/* SPDX-License-Identifier: MIT */
/*
 * Custom profiles, inside. Values are addresses in an open hash table, each with the number of its
 * stack in the store; the store counts values by stack. Both are under the lock of the store.
 */
#pragma once

#include <pthread.h>

#include <coati/custom.h>

#include "live/page.h"
#include "live/profiles/store.h"

struct custom_value {
	uint64_t value; /* 0: the slot is free */
	uint32_t stack;
};

struct coati_custom {
	struct live_page page;
	struct coati_custom *next; /* of all profiles; never changes */
	char name[COATI_CUSTOM_NAME_BYTES + 1];
	struct store store;
	struct custom_value *values; /* @slots, a power of two; never more than half in use */
	uint32_t slots, len, max_values;
	uint64_t refused; /* values over max_values */
};

/* As coati_custom_new(), also for the names that are the library's own. */
int coati_custom_open(const char *name, const struct coati_custom_opts *opts,
		      struct coati_custom **ret, struct coati_error *err);
/* As coati_custom_add(), for who has the frame. */
int coati_custom_put(struct coati_custom *p, const void *value, const struct store_caller *caller);

/* custom-write.c */
/* The profile as it is now, behind @ret; @flags as of coati_custom_write(). */
int coati_custom_format(struct coati_custom *p, uint32_t flags, struct strbuf *ret);
void coati_custom_make_page(struct page_job *job);
