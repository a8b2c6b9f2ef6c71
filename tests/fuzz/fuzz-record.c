/* SPDX-License-Identifier: MIT */
/* The first bytes choose the attr and the byte order, the rest is a stream of records: what decodes
 * is encoded the same. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "lib/record-views.h"

struct choice {
	uint32_t sample_type, branch_type, regs_user, regs_intr;
	uint8_t read_format, id_all, swap, unused;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_attr attr = { .size = sizeof(attr) };
	struct coati_sample_format fmt;
	struct coati_raw raw;
	struct choice c;
	uint8_t *copy;

	if (size < sizeof(c))
		return 0;
	memcpy(&c, data, sizeof(c));
	attr.sample_type = c.sample_type;
	attr.branch_sample_type = c.branch_type;
	attr.sample_regs_user = c.regs_user;
	attr.sample_regs_intr = c.regs_intr;
	attr.read_format = c.read_format;
	attr.flags = c.id_all & 1 ? COATI_ATTR_SAMPLE_ID_ALL : 0;
	coati_sample_format_init(&attr, &fmt);
	size -= sizeof(c);
	copy = coati_alloc(size);
	FUZZ_CHECK(copy);
	memcpy(copy, data + sizeof(c), size);
	for (const uint8_t *at = copy; coati_raw_next(&at, &size, c.swap & 1, &raw) > 0;)
		FUZZ_CHECK(record_mirrors(&raw, &fmt));
	coati_free(copy);
	return 0;
}
