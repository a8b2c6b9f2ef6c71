/* SPDX-License-Identifier: MIT */
/* Perf maps: every function that is found covers its address, and reading is the same twice. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "image/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit a, b;

	coati_jit_init(&a);
	coati_jit_init(&b);
	FUZZ_CHECK(coati_perf_map_parse(&a, (const char *)data, size) == 0);
	FUZZ_CHECK(coati_perf_map_parse(&b, (const char *)data, size) == 0);
	FUZZ_CHECK(a.stats.functions == b.stats.functions);
	FUZZ_CHECK(a.stats.malformed == b.stats.malformed);
	for (size_t i = 0; i < a.functions.len && i < 256; i++) {
		uint64_t at = a.functions.v[i].start + a.functions.v[i].size / 2, since;
		const struct jit_function *f = coati_jit_find(&a, at, 0, &since);
		const struct jit_function *g = coati_jit_find(&b, at, 1, &since);

		FUZZ_CHECK(f && at >= f->start && at - f->start < f->size);
		/* no times: what is there is always there */
		FUZZ_CHECK(g && !strcmp(f->name, g->name));
	}
	coati_jit_fini(&b);
	coati_jit_fini(&a);
	return 0;
}
