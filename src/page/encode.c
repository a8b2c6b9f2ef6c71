/* SPDX-License-Identifier: MIT */
/* see encode.h */
#include "page/encode.h"

#include <errno.h>

#include "base/error.h"
#include "format/gzip.h"

static int put(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *to = ctx;

	coati_strbuf_add(to, bytes, size);
	return to->failed;
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
		r = coati_deflater_put(d, bytes->text, bytes->len, true);
	coati_deflater_free(d);
	return r < 0 ? coati_fail(err, r, "compressing the page: %m") : 0;
}

void coati_page_base64(const struct strbuf *bytes, struct strbuf *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)bytes->text;
	size_t left = bytes->len;

	for (; left; in += 3) {
		size_t nr = left < 3 ? left : 3;
		uint32_t bits = (uint32_t)in[0] << 16 | (nr > 1 ? (uint32_t)in[1] << 8 : 0) |
				(nr > 2 ? in[2] : 0);
		char *at = strbuf_room(ret, 4);

		if (!at)
			return;
		at[0] = digits[bits >> 18];
		at[1] = digits[bits >> 12 & 63];
		at[2] = nr > 1 ? digits[bits >> 6 & 63] : '=';
		at[3] = nr > 2 ? digits[bits & 63] : '=';
		at[4] = '\0';
		ret->len += 4;
		left -= nr;
	}
}
