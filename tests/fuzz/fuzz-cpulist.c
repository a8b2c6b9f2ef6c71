/* SPDX-License-Identifier: MIT */
/* A list of CPUs that is accepted means the same when its CPUs are listed one by one. */
#include <string.h>

#include "base/parse.h"
#include "base/strbuf.h"
#include "fuzz/fuzz.h"

#define NR_BITS 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	uint64_t bits[(NR_BITS + 63) / 64], back[(NR_BITS + 63) / 64];
	struct strbuf s = STRBUF_INIT(4096);

	if (coati_parse_cpulist(text, bits, NR_BITS) == 0) {
		for (unsigned int i = 0; i < NR_BITS; i++)
			if (bits[i / 64] >> (i % 64) & 1)
				coati_strbuf_printf(&s, "%s%u", s.len ? "," : "", i);
		FUZZ_CHECK(coati_parse_cpulist(s.text, back, NR_BITS) == 0);
		FUZZ_CHECK(!memcmp(bits, back, sizeof(back)));
	}
	coati_strbuf_fini(&s);
	coati_free(text);
	return 0;
}
