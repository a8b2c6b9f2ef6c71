/* SPDX-License-Identifier: MIT */
/* Any text: our reader and the judge of the tests agree whether it is JSON, as far as our limits
 * go. */
#include "base/json-read.h"
#include "fuzz/fuzz.h"
#include "lib/json-check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_reader r;
	int code;

	coati_json_read_init(&r, data, size);
	coati_json_read_skip(&r);
	code = coati_json_read_end(&r);
	coati_json_read_fini(&r);
	if (code == 0)
		FUZZ_CHECK(json_check((const char *)data, size));
	return 0;
}
