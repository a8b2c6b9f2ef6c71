/* SPDX-License-Identifier: MIT */
/* Any text as a format file and as an event file of a PMU. */
#include <string.h>

#include "base/cleanup.h"
#include "event/pmu-format.h"
#include "fuzz/fuzz.h"

/* What is put into a field comes back by its mask, and only there. */
static void check_field(const struct pmu_field *f, uint64_t value)
{
	uint64_t max = coati_pmu_field_max(f);
	struct coati_attr attr = { 0 };

	FUZZ_CHECK(f->word < PMU_WORDS && f->mask);
	FUZZ_CHECK(coati_pmu_field_set(f, value & max, &attr) == 0);
	FUZZ_CHECK((*coati_pmu_word(&attr, f->word) & ~f->mask) == 0);
	FUZZ_CHECK(__builtin_popcountll(*coati_pmu_word(&attr, f->word)) ==
		   __builtin_popcountll(value & max));
	FUZZ_CHECK(max == UINT64_MAX || coati_pmu_field_set(f, max + 1, &attr) == -ERANGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	const char *at = text;
	struct pmu_field f;
	struct pmu_term t;
	int r;

	if (coati_pmu_field_parse(text, &f) == 0)
		check_field(&f, UINT64_C(0xa5a5a5a5a5a5a5a5));
	while ((r = coati_pmu_term_next(&at, &t)) > 0)
		FUZZ_CHECK(t.name[0] && at <= text + strlen(text));
	FUZZ_CHECK(r == 0 || r == -EBADMSG);
	return 0;
}
