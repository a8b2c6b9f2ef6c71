/* SPDX-License-Identifier: MIT */
/* What is read back to check an export: the first byte says the format, the rest is its file. The
 * same bytes give the same sums. */
#include "fuzz/fuzz.h"
#include "readback/readback.h"

static int read_once(const struct readback *f, const uint8_t *data, size_t size, uint64_t *ret)
{
	struct tally t;
	int r;

	coati_tally_init(&t);
	r = f->read(data, size, &t, NULL);
	FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -E2BIG || r == -ENOMEM || r == -EINVAL);
	*ret = t.weight;
	coati_tally_fini(&t);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct readback *f =
		size ? coati_readback_get((enum coati_format)(data[0] % COATI_FORMAT_COUNT)) : NULL;
	uint64_t first, second;

	if (!f || !f->read)
		return 0;
	FUZZ_CHECK(read_once(f, data + 1, size - 1, &first) ==
		   read_once(f, data + 1, size - 1, &second));
	FUZZ_CHECK(first == second);
	return 0;
}
