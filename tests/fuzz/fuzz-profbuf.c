/* SPDX-License-Identifier: MIT */
/* Bytes are a profile buffer of a process that died, the head included or only what it wrote: the
 * reader stays inside and comes to an end, the same twice. */
#include <string.h>

#include <coati/profbuf.h>

#include "fuzz/fuzz.h"

#define WORDS 64u
#define BYTES (512u + 8 * WORDS)

static uint64_t walk(struct coati_profbuf *buf, size_t bytes)
{
	static const struct coati_profbuf_reader_opts dead = { .size = sizeof(dead),
							       .flags = COATI_PROFBUF_DEAD };
	struct coati_profbuf_record record;
	struct coati_profbuf_reader reader;
	uint64_t sum = 0, n = 0;
	int r = coati_profbuf_reader_init(&reader, buf, bytes, &dead, NULL);

	if (r < 0)
		return (uint64_t)r;
	while ((r = coati_profbuf_read(&reader, COATI_PROFBUF_FOREVER, &record)) == 1) {
		FUZZ_CHECK(++n <= bytes / 8 + 2);
		sum += record.kind == COATI_PROFBUF_DATA ? record.time_ns : record.count;
		for (uint32_t i = 0; record.kind == COATI_PROFBUF_DATA && i < record.nr_stack; i++)
			sum = sum * 31 + record.stack[i];
	}
	FUZZ_CHECK(r == 0);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_profbuf_opts o = { .size = sizeof(o), .data_words = WORDS, .header_words = 1 };
	size_t at = size && data[0] & 1 ? 0 : 128, bytes;
	uint8_t *memory = aligned_alloc(64, BYTES);
	struct coati_profbuf *buf;

	FUZZ_CHECK(memory && coati_profbuf_init(memory, BYTES, &o, &buf, NULL) == 0);
	bytes = size > 1 ? size - 1 : 0;
	if (bytes)
		memcpy(memory + at, data + 1, bytes < BYTES - at ? bytes : BYTES - at);
	FUZZ_CHECK(walk(buf, BYTES) == walk(buf, BYTES));
	free(memory);
	return 0;
}
