/* SPDX-License-Identifier: MIT */
/* gzip without compressing: stored blocks, a sum and a length. */
#include "live/pprof/pprof.h"

#define STORED_MAX 65535u

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
		table[i] = c;
	}
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}

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
	put_le(ret, crc32_of((const uint8_t *)from->text, from->len), 4);
	put_le(ret, (uint32_t)from->len, 4);
}
