/* SPDX-License-Identifier: MIT */
/* A format file, a zero, a payload: every field and the printed line, twice the same, in both byte
 * orders. */
#include <string.h>

#include <coati/record.h>

#include "fuzz/fuzz.h"
#include "record/tracepoint.h"

static int walk(const struct coati_tracepoint *tp, const struct coati_payload *p, char line[1024])
{
	struct coati_field_value v;
	uint64_t sum = 0;
	int len;

	for (uint32_t i = 0; i < coati_tracepoint_field_count(tp); i++) {
		if (coati_tracepoint_read(tp, i, p, &v))
			continue;
		FUZZ_CHECK(v.bytes >= p->bytes && v.bytes + v.size <= p->bytes + p->size);
		for (uint32_t k = 0; k < v.count; k++)
			sum += coati_field_value_at(&v, k);
	}
	len = coati_tracepoint_print(tp, p, NULL, line, sum ? 1024 : 100);
	FUZZ_CHECK(len < 0 || len >= (int)strnlen(line, 1024));
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t len = zero ? (size_t)(zero - data) : size;
	struct coati_payload p = { .bytes = data + size };
	struct coati_tracepoint *tp;
	char a[1024], b[1024];

	if (zero)
		p = (struct coati_payload){ zero + 1, (uint32_t)(size - len - 1), 0 };
	if (coati_tracepoint_parse((const char *)data, len, &tp, NULL))
		return 0;
	for (p.swap = 0; p.swap < 2; p.swap++)
		FUZZ_CHECK(walk(tp, &p, a) == walk(tp, &p, b) && !strcmp(a, b));
	coati_tracepoint_free(tp);
	return 0;
}
