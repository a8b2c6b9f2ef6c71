/* SPDX-License-Identifier: MIT */
/* Every number reader on the same text; what one accepts must come back from its printed form. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/parse.h"
#include "fuzz/fuzz.h"

static const struct {
	int (*parse)(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
	const char *unit;
} kinds[] = { { coati_parse_u64, "" },
	      { coati_parse_size, "B" },
	      { coati_parse_duration, "ns" },
	      { coati_parse_rate, ".0" } };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	struct strbuf s = STRBUF_INIT(100);
	struct json j = json_to(&s);
	double d, d_back = 0;
	uint64_t u, back = 0;
	int64_t i;

	if (coati_parse_double(text, &d) == 0) {
		coati_json_double(&j, d);
		FUZZ_CHECK(coati_parse_double(s.text, &d_back) == 0 && d_back == d);
	}
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (kinds[k].parse(text, 0, UINT64_MAX, &u) < 0)
			continue;
		coati_strbuf_clear(&s);
		coati_strbuf_printf(&s, "%" PRIu64 "%s", u, kinds[k].unit);
		FUZZ_CHECK(kinds[k].parse(s.text, u, u, &back) == 0 && back == u);
	}
	FUZZ_CHECK(coati_parse_i64(text, -1, 1, &i) < 0 || (i >= -1 && i <= 1));
	coati_strbuf_fini(&s);
	return 0;
}
