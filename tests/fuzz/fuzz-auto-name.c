/* SPDX-License-Identifier: MIT */
/* A pattern of COATI_PROFILE becomes a name within its limit or an error in words, the same each
 * time; what children are told becomes one wherever it did. */
#include <string.h>

#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "live/auto/auto.h"

static char *no_variable(const char *name)
{
	static char value[] = "value";

	return name[0] == 'A' ? value : NULL;
}

static int expand(const char *pattern, struct strbuf *s)
{
	struct auto_facts facts = { .pid = 1, .start = 0, .program = "p/q", .count = 2 };
	struct coati_error err = { 0 };
	int r = coati_auto_name_expand(pattern, &facts, no_variable, s, &err);

	FUZZ_CHECK(r <= 0 && (r < 0) == (err.text[0] != '\0') && s->len < AUTO_PATH_MAX);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf once = STRBUF_INIT(AUTO_PATH_MAX - 1), again = STRBUF_INIT(AUTO_PATH_MAX - 1);
	struct strbuf child = STRBUF_INIT(1 << 20);
	char *text = fuzz_text(data, size);
	int r = expand(text, &once);

	FUZZ_CHECK(expand(text, &again) == r && (r < 0 || !strcmp(once.text, again.text)));
	coati_strbuf_clear(&again);
	coati_auto_name_for_children(text, &child);
	FUZZ_CHECK(r < 0 || once.len > AUTO_PATH_MAX - 10 || expand(child.text + 1, &again) == 0);
	FUZZ_CHECK(coati_auto_name_has(child.text + 1, 'p') || r < 0);
	coati_strbuf_fini(&once);
	coati_strbuf_fini(&again);
	coati_strbuf_fini(&child);
	coati_free(text);
	return 0;
}
