/* SPDX-License-Identifier: MIT */
/* Any bytes as a file with DWARF: no answer that cannot be one, damage has a reason, and the same
 * again the second time. */
#include "fuzz/fuzz.h"
#include "lib/lines-walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines_walk once = lines_walk(data, size), twice = lines_walk(data, size);

	FUZZ_CHECK(once.sound && once.sum == twice.sum && once.result == twice.result);
	FUZZ_CHECK(once.result <= 0 && once.result != -EINVAL);
	FUZZ_CHECK(once.result == 0 || once.err.text[0]);
	FUZZ_CHECK(once.result != -EBADMSG || !once.nr_frames || once.tally.why[0]);
	return 0;
}
