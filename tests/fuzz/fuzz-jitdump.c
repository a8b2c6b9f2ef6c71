/* SPDX-License-Identifier: MIT */
/* jitdump files: every function that is found covers its address, and its lines lie in the
 * table. */
#include "fuzz/fuzz.h"
#include "image/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_error err = { 0 };
	struct jit j;
	int r;

	coati_jit_init(&j);
	r = coati_jitdump_parse(&j, data, size, &err);
	FUZZ_CHECK(r == 0 || err.text[0]);
	for (size_t i = 0; i < j.functions.len && i < 256; i++) {
		const struct jit_function *f = &j.functions.v[i];
		uint64_t at = f->start + f->size / 2, since;
		const struct jit_line *line = coati_jit_line(&j, f, at);

		FUZZ_CHECK(f->name && f->size);
		FUZZ_CHECK((size_t)f->first_line + f->nr_lines <= j.lines.len);
		FUZZ_CHECK(!line || (line->file && line->addr <= at));
		f = coati_jit_find(&j, at, i, &since);
		FUZZ_CHECK(!f || (at >= f->start && at - f->start < f->size));
	}
	coati_jit_fini(&j);
	return 0;
}
