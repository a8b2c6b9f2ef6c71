/* SPDX-License-Identifier: MIT */
/* A trace as text: what is accepted becomes batches that say the same when they are written as text
 * and read again. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "lib/live-text.h"
#include "live-read/text.h"

struct both {
	struct strbuf text, bytes;
	struct live_names names;
	bool whole;
};

static int put(void *ctx, const uint8_t *bytes, size_t size)
{
	struct both *b = ctx;

	coati_strbuf_add(&b->bytes, bytes, size);
	if (coati_live_text_write(bytes, size, &b->names, &b->text) < 0 ||
	    memchr(bytes, 0xff, size))
		b->whole = false; /* damaged on purpose, or with lies in its head */
	return 0;
}

static int through(const char *text, struct both *b)
{
	*b = (struct both){ .text = STRBUF_INIT(1 << 22),
			    .bytes = STRBUF_INIT(1 << 22),
			    .whole = true };
	coati_live_names_init(&b->names, 0);
	return coati_live_text_read(text, put, b, NULL);
}

static void both_fini(struct both *b)
{
	coati_strbuf_fini(&b->text);
	coati_strbuf_fini(&b->bytes);
	coati_live_names_fini(&b->names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out = STRBUF_INIT(1 << 22);
	char *text = fuzz_text(data, size);
	struct both once, twice;

	if (through(text, &once) == 0) {
		live_text_run(text, &out, NULL);
		if (once.whole && !strstr(text, "hex") && !strstr(text, "none") &&
		    !once.text.failed) {
			FUZZ_CHECK(through(once.text.text, &twice) == 0);
			FUZZ_CHECK(!strcmp(once.text.text, twice.text.text));
			both_fini(&twice);
		}
	}
	both_fini(&once);
	coati_strbuf_fini(&out);
	coati_free(text);
	return 0;
}
