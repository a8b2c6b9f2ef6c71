/* SPDX-License-Identifier: MIT */
/* Any text as a mangled name of Rust: read, or given back as it is; never longer than the
 * ceiling. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "image/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out = STRBUF_INIT(DEMANGLE_OUT_MAX);
	char *text = fuzz_text(data, size);
	struct demangler none = { .tried = true }; /* C++ is not ours */

	FUZZ_CHECK(coati_demangle_rust_legacy(text, &out) <= 0);
	coati_strbuf_clear(&out);
	FUZZ_CHECK(coati_demangle_rust_v0(text, &out) <= 0);
	coati_strbuf_clear(&out);
	if (coati_demangle_name(&none, text, &out))
		FUZZ_CHECK(out.len && out.len <= DEMANGLE_OUT_MAX);
	else
		FUZZ_CHECK(!out.len);
	coati_strbuf_fini(&out);
	coati_free(text);
	return 0;
}
