/* SPDX-License-Identifier: MIT */
/* gzip without compressing: stored blocks, a sum and a length. */
#include "live/pprof/pprof.h"

#include "base/crc32.h"

#define STORED_MAX 65535u

static void put_le(struct strbuf *s, uint32_t v, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		coati_strbuf_addc(s, (char)(v >> 8 * i));
}

void coati_gzip_store(struct strbuf *ret, const struct strbuf *from)
{
	static const char head[10] = { 0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
	size_t at = 0;

	coati_strbuf_add(ret, head, sizeof(head));
	do {
		size_t size = from->len - at < STORED_MAX ? from->len - at : STORED_MAX;

		put_le(ret, at + size == from->len, 1);
		put_le(ret, (uint32_t)size, 2);
		put_le(ret, ~(uint32_t)size, 2);
		coati_strbuf_add(ret, from->text + at, size);
		at += size;
	} while (at < from->len);
	put_le(ret, coati_crc32(0, from->text, from->len), 4);
	put_le(ret, (uint32_t)from->len, 4);
}
