/* SPDX-License-Identifier: MIT */
/* bend-table FILE...: change one rule in twenty of cached unwind tables, and make their checksums
 * right again. */
#include <stdio.h>
#include <stdlib.h>

#include "unwind/table/table.h"

static int bend(const char *path)
{
	static uint64_t bytes[(64u << 20) / 8];
	struct table_head *h = (void *)bytes;
	FILE *f = fopen(path, "r+b");
	size_t size = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	uint64_t *rules = (void *)((char *)bytes + h->rules);

	if (size < sizeof(*h) || h->size != size || h->rules >= size)
		return 1;
	for (uint32_t i = 3; i < h->nr_rules; i += 20)
		if ((rules[i] & 15) == TABLE_CFA_SP)
			rules[i] += UINT64_C(8) << 16; /* the offset of the CFA */
	/* the most used one, too: rules are sorted by use */
	for (uint32_t i = 0; i < h->nr_rules; i++)
		if ((rules[i] & 15) == TABLE_CFA_SP) {
			rules[i] += UINT64_C(8) << 16;
			break;
		}
	h->checksum = coati_table_checksum(bytes, size);
	rewind(f);
	size -= fwrite(bytes, 1, size, f);
	return fclose(f) || size;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (bend(argv[i]))
			return 1;
	return argc < 2;
}
