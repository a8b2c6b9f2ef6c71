/* SPDX-License-Identifier: MIT */
/* Any bytes as .eh_frame or .debug_frame: a table comes out, the same one twice, and walks over it
 * end. */
#include "fuzz/fuzz.h"
#include "unit/unwind-walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_input in = { .nr_code = 2, .nr_sections = 1 };
	void *bytes[2];
	size_t sizes[2];

	if (!size)
		return 0;
	in.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	in.code[0] = (struct table_code){
		.start = 0x1000, .size = 0x4000, .bytes = data, .nr_bytes = size
	};
	in.code[1] = (struct table_code){ .start = 0x400000, .size = 0x800 };
	in.sections[0] = (struct cfi_section){ .bytes = data + 1,
					       .size = size - 1,
					       .vaddr = 0x8000,
					       .text = 0x1000,
					       .is_debug = data[0] & 2,
					       .stops_at_end = data[0] & 4 };
	in.stubs[in.nr_stubs++] =
		(struct table_stubs){ .start = 0x1010, .size = 0x40, .is_lazy = data[0] & 8 };
	in.entry = 0x1800;
	for (int i = 0; i < 2; i++)
		FUZZ_CHECK(coati_table_build(&in, &bytes[i], &sizes[i]) == 0);
	FUZZ_CHECK(sizes[0] == sizes[1] && !memcmp(bytes[0], bytes[1], sizes[0]));
	FUZZ_CHECK(unwind_walk(bytes[0], sizes[0], data, size));
	unwind_rows(&in);
	coati_free(bytes[0]);
	coati_free(bytes[1]);
	return 0;
}
