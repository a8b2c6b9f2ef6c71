/* SPDX-License-Identifier: MIT */
/* Any bytes as the format file of a tracepoint: every field lies inside of the record, every text
 * is terminated. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "record/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_tp_format f;
	struct arena arena;
	int r;

	coati_arena_init(&arena, 16 << 20);
	r = coati_tp_format_parse((const char *)data, size, &arena, &f);
	FUZZ_CHECK(r == 0 || r == -EBADMSG || r == -E2BIG);
	for (uint32_t i = 0; r == 0 && i < f.nr_fields; i++) {
		const struct coati_tp_field *field = &f.fields[i];

		FUZZ_CHECK(field->name[0] && strlen(field->type) <= size);
		FUZZ_CHECK(field->offset + field->size <= f.size && f.size <= TP_FORMAT_SIZE_MAX);
		FUZZ_CHECK(field->array_len <= field->size);
		FUZZ_CHECK(coati_tp_format_find(&f, field->name));
	}
	FUZZ_CHECK(r < 0 ||
		   (f.nr_common <= f.nr_fields && f.name[0] && strlen(f.print_fmt) <= size));
	coati_arena_fini(&arena);
	return 0;
}
