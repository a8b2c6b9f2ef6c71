/* SPDX-License-Identifier: MIT */
/* Type information of BPF programs: whatever the bytes, names have an end, and the same bytes give
 * the same names. */
#include <string.h>

#include "bpf/kernel-types.h"
#include "capture/btf.h"
#include "fuzz/fuzz.h"

#define NR 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct kernel_struct wanted = { "task_struct", { "flags", "mm" } };
	struct btf_func first[NR], again[NR];
	struct kernel_types types;
	int r;

	memset(first, 0xff, sizeof(first));
	memset(again, 0xff, sizeof(again));
	for (uint32_t i = 0; i < NR; i++)
		first[i].type_id = again[i].type_id = i;
	(void)coati_kernel_types_cut(data, size, &wanted, 1, &types);
	r = coati_btf_func_names(data, size, first, NR);
	FUZZ_CHECK(coati_btf_func_names(data, size, again, NR) == r);
	for (int i = 0; i < NR; i++) {
		FUZZ_CHECK(memchr(first[i].name, 0, sizeof(first[i].name)));
		FUZZ_CHECK(!strcmp(first[i].name, again[i].name));
	}
	return 0;
}
