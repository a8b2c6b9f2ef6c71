/* SPDX-License-Identifier: MIT */
/* The list of pages that parts of the library bring. */
#include "live/page.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PAGES 64u

static _Atomic(const struct live_page *) pages[PAGES];

bool coati_page_provide(const struct live_page *page)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		const struct live_page *there = NULL;

		/* pairs with: acquire in coati_page_at() */
		if (atomic_compare_exchange_strong_explicit(
			    &pages[i], &there, page, memory_order_release, memory_order_acquire))
			return true;
		if (!strcmp(there->name, page->name)) {
			atomic_store_explicit(&pages[i], page, memory_order_release);
			return true;
		}
	}
	return false;
}

const struct live_page *coati_page_at(uint32_t i)
{
	return i < PAGES ? atomic_load_explicit(&pages[i], memory_order_acquire) : NULL;
}

void coati_page_fail(struct page_job *job, int status, const char *sentence)
{
	job->status = status;
	snprintf(job->sentence, sizeof(job->sentence), "%s", sentence);
}
