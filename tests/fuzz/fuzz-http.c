/* SPDX-License-Identifier: MIT */
/* Requests: what is taken is within its limits, the same twice, and needs exactly the bytes of its
 * head. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "live/serve-http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request a = { 0 }, b = { 0 };
	uint32_t number;
	int head = coati_http_parse((const char *)data, size, &a);

	FUZZ_CHECK(head <= (int)size && head <= HTTP_HEAD_BYTES && head > -600);
	FUZZ_CHECK(coati_http_parse((const char *)data, size, &b) == head);
	if (head <= 0)
		return 0;
	FUZZ_CHECK(!memcmp(&a, &b, sizeof(a)));
	FUZZ_CHECK(a.body_size <= HTTP_BODY_BYTES && (a.host[0] || a.is_old));
	FUZZ_CHECK(coati_http_parse((const char *)data, (size_t)head, &b) == head);
	FUZZ_CHECK(coati_http_parse((const char *)data, (size_t)head - 1, &b) <= 0);
	if (coati_http_query_u32(a.query, "seconds", 60, &number) == 0)
		FUZZ_CHECK(number <= 60);
	return 0;
}
