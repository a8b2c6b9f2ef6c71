/* SPDX-License-Identifier: MIT */
/* see encode.h */
#include "page/encode.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "format/gzip.h"

#define PIECE	   ((size_t)1 << 16)
#define LOOK	   ((size_t)1 << 14) /* of each piece: how much is looked at */
#define SLOTS	   4096		     /* a power of two */
#define MATCH_BITS 12.0		     /* of a sequence that came before, without how far before */
#define LONG	   16 /* a sequence that is not looked into, even if nothing is saved by it */
#define WORTH	   (1.0 / 16) /* of the bits, saved by sequences: they are looked for, */
#define MUCH	   0.5	      /* and thoroughly */

static int put(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *to = ctx;

	coati_strbuf_add(to, bytes, size);
	return to->failed;
}

/* How many bits a byte takes where only its frequency counts. */
static double bits_of_byte(const uint8_t *v, size_t size)
{
	uint32_t counts[256] = { 0 };
	double bits = 0;

	for (size_t i = 0; i < size; i++)
		counts[v[i]]++;
	for (int i = 0; i < 256; i++)
		if (counts[i])
			bits += counts[i] * log2((double)size / counts[i]);
	return bits / (double)size;
}

static size_t same(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
	const uint8_t *from = b;

	while (b < end && *a == *b)
		a++, b++;
	return (size_t)(b - from);
}

/* Is it worth to look for sequences that come again? It is in texts and call paths, and in times of
 * things that take turns. Times of samples, and which thread ran on which CPU, are noise: only some
 * of their bytes are more frequent than others, and a sequence takes more than its bytes. */
static enum deflater_kind kind_of(const uint8_t *v, size_t size)
{
	uint16_t slots[SLOTS] = { 0 }; /* where the sequence was seen, plus 1 */
	double bits = bits_of_byte(v, size), saved = 0;

	for (size_t i = 0, length; i + sizeof(uint32_t) <= size; i += length) {
		uint32_t word;
		uint16_t *slot;
		size_t before;
		double saves = 0;

		memcpy(&word, v + i, sizeof(word));
		slot = &slots[word * 0x9e3779b1u >> 20];
		before = *slot;
		*slot = (uint16_t)(i + 1);
		length = before ? same(v + before - 1, v + i, v + size) : 0;
		if (length >= sizeof(word))
			saves = bits * (double)length - MATCH_BITS -
				(31 - __builtin_clz((uint32_t)(i + 1 - before)));
		if (saves > 0)
			saved += saves;
		else if (length < LONG)
			length = 1;
	}
	bits *= (double)size;
	return saved > MUCH * bits    ? DEFLATER_TEXT
	       : saved > WORTH * bits ? DEFLATER_NUMBERS
				      : DEFLATER_NOISE;
}

static int put_pieces(struct deflater *d, const struct strbuf *bytes)
{
	size_t size, at = 0;
	const uint8_t *v;
	int r;

	do {
		size = bytes->len - at < PIECE ? bytes->len - at : PIECE;
		v = (const uint8_t *)bytes->text + at;
		r = coati_deflater_expect(d, kind_of(v, size < LOOK ? size : LOOK));
		if (r == 0)
			r = coati_deflater_put(d, v, size, at + size == bytes->len);
		at += size;
	} while (r == 0 && at < bytes->len);
	return r;
}

int coati_page_compress(const struct strbuf *bytes, struct strbuf *ret, bool *ret_is_gzip,
			struct coati_error *err)
{
	struct deflater *d = NULL;
	int r = coati_deflater_new(put, ret, &d, err);

	*ret_is_gzip = r == 0;
	if (r == -EOPNOTSUPP) {
		coati_strbuf_add(ret, bytes->text, bytes->len);
		return ret->failed;
	}
	if (r == 0)
		r = put_pieces(d, bytes);
	coati_deflater_free(d);
	return r < 0 ? coati_fail(err, r, "compressing the page: %m") : 0;
}

void coati_page_base64(const struct strbuf *bytes, struct strbuf *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)bytes->text;
	size_t left = bytes->len, size = (left + 2) / 3 * 4;
	char *at = strbuf_room(ret, size);

	if (!at)
		return;
	for (; left; in += 3, at += 4) {
		size_t nr = left < 3 ? left : 3;
		uint32_t bits = (uint32_t)in[0] << 16 | (nr > 1 ? (uint32_t)in[1] << 8 : 0) |
				(nr > 2 ? in[2] : 0);

		at[0] = digits[bits >> 18];
		at[1] = digits[bits >> 12 & 63];
		at[2] = nr > 1 ? digits[bits >> 6 & 63] : '=';
		at[3] = nr > 2 ? digits[bits & 63] : '=';
		left -= nr;
	}
	*at = '\0';
	ret->len += size;
}
