/* SPDX-License-Identifier: MIT */
/* Any bytes as a table out of the cache: as they are, and with a head that holds, so that what is
 * behind it is reached. */
#include "fuzz/fuzz.h"
#include "unit/unwind-walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t whole = size & ~(size_t)7;
	uint8_t *copy = coati_alloc(whole + 8);
	struct table_head *h = (void *)copy;

	FUZZ_CHECK(copy);
	if (whole)
		memcpy(copy, data, whole);
	unwind_walk(copy, whole, data, size);
	if (whole >= sizeof(*h)) {
		h->magic = TABLE_MAGIC;
		h->version = TABLE_VERSION;
		h->size = whole;
		h->checksum = coati_table_checksum(copy, whole);
		unwind_walk(copy, whole, data, size);
	}
	coati_free(copy);
	return 0;
}
