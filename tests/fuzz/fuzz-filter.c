/* SPDX-License-Identifier: MIT */
/* Any text as a filter, against the fields of a probe and against any field at all. */
#include <string.h>

#include "base/cleanup.h"
#include "event/filter.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	struct coati_error err = { 0 };
	int r = coati_filter_check(text, &coati_probe_format, &err);

	if (r < 0) {
		FUZZ_CHECK(err.text[0] && !strpbrk(err.text, "\n\r\t"));
		FUZZ_CHECK(err.column >= 1 && (size_t)err.column <= strlen(text) + 1);
	}
	/* what is right for known fields is right for unknown ones */
	FUZZ_CHECK(r < 0 || coati_filter_check(text, NULL, &err) == 0);
	return 0;
}
