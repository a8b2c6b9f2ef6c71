/* SPDX-License-Identifier: MIT */
/* see encode.h */
#include "page/encode.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "format/gzip.h"

#define PIECE	 ((size_t)1 << 16)
#define LOOK	 ((size_t)1 << 13) /* of each piece: how much is looked at */
#define SEQUENCE 8
#define SLOTS	 4096 /* a power of two */

static int put(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *to = ctx;

	coati_strbuf_add(to, bytes, size);
	return to->failed;
}

/* Do sequences come again? They do in texts and call paths. Times, and which thread ran on which
 * CPU, are noise: only some of their bytes are more frequent than others. */
static bool repeats(const char *bytes, size_t size)
{
	uint16_t slots[SLOTS] = { 0 }; /* where the sequence was seen, plus 1 */
	size_t again = 0, i = 0;

	while (i + SEQUENCE <= size) {
		uint64_t word;
		uint16_t *slot;
		size_t before;

		memcpy(&word, bytes + i, SEQUENCE);
		slot = &slots[(word * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
		before = *slot;
		*slot = (uint16_t)(i + 1);
		if (before && !memcmp(bytes + before - 1, &word, SEQUENCE)) {
			again += SEQUENCE;
			i += SEQUENCE;
		} else {
			i++;
		}
	}
	return again * 8 >= size;
}

static int put_pieces(struct deflater *d, const struct strbuf *bytes)
{
	size_t size, at = 0;
	int r;

	do {
		size = bytes->len - at < PIECE ? bytes->len - at : PIECE;
		r = coati_deflater_expect(d, repeats(bytes->text + at, size < LOOK ? size : LOOK));
		if (r == 0)
			r = coati_deflater_put(d, bytes->text + at, size, at + size == bytes->len);
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
