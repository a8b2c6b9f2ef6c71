/* SPDX-License-Identifier: MIT */
/* Bytes say what to write, and are what is written: the result must be JSON. */
#include "base/cursor.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "lib/json-check.h"

/* Three bits say what kind of value, five how many bytes it is made of; 0xff closes a level. */
static void write_one(struct json *j, struct cursor *c, uint8_t op)
{
	size_t len = op >> 3 < cursor_left(c) ? op >> 3 : cursor_left(c);
	const char *text = cursor_bytes(c, len);
	double real = 0;

	memcpy(&real, text, len < sizeof(real) ? len : sizeof(real));
	if (op != 0xff && j->is_object >> (j->depth - 1) & 1)
		coati_json_key(j, op & 1 ? "\xff\n\"" : "key");
	if (op == 0xff)
		coati_json_end(j);
	else if ((op & 7) < 2)
		(op & 7 ? coati_json_array : coati_json_object)(j);
	else if ((op & 7) == 2)
		coati_json_double(j, real);
	else
		coati_json_strn(j, text, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf s = STRBUF_INIT(16 * size + 4096);
	struct cursor c = cursor_over(data, size);
	struct json j = json_to(&s);

	for (coati_json_array(&j); j.depth && !s.failed;)
		write_one(&j, &c, cursor_left(&c) ? cursor_u8(&c) : 0xff);
	FUZZ_CHECK(s.failed ? s.failed == -E2BIG : json_check(s.text, s.len));
	coati_strbuf_fini(&s);
	return 0;
}
