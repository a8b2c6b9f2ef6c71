/* SPDX-License-Identifier: MIT */
/* The readers that check exports with a timeline. The first byte says which; what was read once
 * reads the same again. */
#include <errno.h>

#include "fuzz/fuzz.h"
#include "readback/readback.h"

static int read_once(enum coati_format format, const uint8_t *data, size_t size,
		     uint64_t *ret_weight)
{
	struct tally t;
	int r;

	coati_tally_init(&t);
	r = coati_readback_get(format)->read(data, size, &t, NULL);
	*ret_weight = t.weight;
	coati_tally_fini(&t);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum coati_format formats[] = { COATI_FORMAT_SPEEDSCOPE, COATI_FORMAT_FIREFOX,
						     COATI_FORMAT_PERFETTO, COATI_FORMAT_CHROME };
	enum coati_format f = formats[size ? data[0] % 4 : 0];
	uint64_t once, again;
	int r;

	if (!size)
		return 0;
	r = read_once(f, data + 1, size - 1, &once);
	FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -E2BIG || r == -ENOMEM);
	FUZZ_CHECK(read_once(f, data + 1, size - 1, &again) == r && once == again);
	return 0;
}
