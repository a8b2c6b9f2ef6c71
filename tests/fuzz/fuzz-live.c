/* SPDX-License-Identifier: MIT */
/* Batches, each behind its size in two bytes: reader and validator come to an end, account for what
 * they were given, and say the same twice. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "lib/live-text.h"
#include "live-read/check.h"
#include "live-read/reader.h"
#include "live-read/sampled.h"
#include "record/live-format.h"

/* What is closed has the right checksum: the others would be stopped at the door. */
static void mend(uint8_t *bytes, size_t size)
{
	struct live_batch h;

	memcpy(&h, bytes, sizeof(h));
	if (h.used <= size - sizeof(h))
		h.checksum = live_checksum(bytes + sizeof(h), h.used);
	memcpy(bytes, &h, sizeof(h));
}

/* What is asked for at the end, whatever was fed. Events are asked by live_text_drain(). */
static void ask(struct coati_live_reader *t)
{
	const struct coati_live_opened *open;
	struct coati_live_process p;
	uint32_t nr;

	FUZZ_CHECK(coati_live_reader_open_regions(t, &open, &nr) == 0);
	for (uint32_t i = 0; i < nr; i++)
		FUZZ_CHECK(!open[i].site || open[i].site->name.text);
	FUZZ_CHECK(coati_live_reader_open_tasks(t, &open, &nr) == 0);
	for (uint32_t i = 0; i < nr; i++)
		FUZZ_CHECK(!open[i].site || open[i].site->name.text);
	for (uint32_t i = 0; coati_live_reader_process(t, i, &p) == 0; i++)
		FUZZ_CHECK(p.comm.text && p.executable.text && p.name.text);
	FUZZ_CHECK(coati_live_reader_damage(t));
}

static void run(const uint8_t *data, size_t size, struct strbuf *out)
{
	struct coati_trace_opts o = { .size = sizeof(o), .max_bytes = 1 << 16 };
	struct coati_trace_check *c = NULL;
	struct coati_live_reader *t = NULL;
	static uint8_t batch[1 << 16];
	struct coati_trace_quality q = { .size = sizeof(q) };

	FUZZ_CHECK(coati_live_reader_new(&o, &t, NULL) == 0 &&
		   coati_trace_check_new(&c, NULL) == 0);
	while (size > 2) {
		size_t n = (size_t)data[0] | (size_t)data[1] << 8;

		n = n < size - 2 ? n : size - 2;
		memcpy(batch, data + 2, n);
		if (n >= sizeof(struct live_batch))
			mend(batch, n);
		(void)coati_live_may_have_samples(batch, n);
		if (coati_live_reader_feed(t, batch, n, 0, NULL) < 0 ||
		    live_text_drain(t, c, out) < 0)
			break;
		data += 2 + n;
		size -= 2 + n;
	}
	coati_live_reader_finish(t);
	live_text_drain(t, c, out);
	ask(t);
	coati_live_reader_get_quality(t, &q);
	FUZZ_CHECK(size > 2 || q.held_bytes == 0);
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf a = STRBUF_INIT(1 << 22), b = STRBUF_INIT(1 << 22);

	run(data, size, &a);
	run(data, size, &b);
	FUZZ_CHECK(a.len == b.len && !memcmp(a.text, b.text, a.len));
	coati_strbuf_fini(&a);
	coati_strbuf_fini(&b);
	return 0;
}
