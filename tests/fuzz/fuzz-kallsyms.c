/* SPDX-License-Identifier: MIT */
/* Any text as the kernel's list of symbols: what it names lies inside what it names. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "image/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel k = { 0 };
	const char *module = NULL;
	char *text = fuzz_text(data, size);

	FUZZ_CHECK(coati_kernel_take(&k, text, strlen(text)) == 0);
	for (size_t i = 0; i < k.symbols.nr; i++) {
		const struct symbol *s = coati_kernel_find(&k, k.symbols.v[i].start, &module);

		if (!s)
			continue;
		FUZZ_CHECK(s == &k.symbols.v[i] && symbol_size(s) > 0);
		FUZZ_CHECK(*coati_symbols_name(&k.symbols, s));
		FUZZ_CHECK(!*module || *module == '[');
	}
	coati_kernel_fini(&k);
	return 0;
}
