/* SPDX-License-Identifier: MIT */
/* see text.h */
#include "format/text.h"

#include <string.h>

#include "base/utf8.h"

/* How many of the first bytes may stay as they are.  Hot: nearly all names are ASCII. */
static size_t good_length(const unsigned char *p, size_t len)
{
	size_t i = 0;

	while (i < len) {
		size_t n = p[i] < 0x80 ? 1 : utf8_length(p + i, len - i);

		if (!n)
			break;
		i += n;
	}
	return i;
}

bool coati_format_text_is_good(const char *text, size_t len)
{
	return good_length((const unsigned char *)text, len) == len;
}

void coati_format_text_bytes(struct strbuf *s, const char *text, size_t len)
{
	while (len) {
		size_t n = good_length((const unsigned char *)text, len);

		coati_strbuf_add(s, text, n);
		if (n < len) {
			coati_strbuf_adds(s, UTF8_REPLACEMENT);
			n++;
		}
		text += n;
		len -= n;
	}
}

void coati_format_text(struct strbuf *s, const char *text)
{
	coati_format_text_bytes(s, text, strlen(text));
}

void coati_format_build_id(const struct coati_image_info *info,
			   char ret[2 * COATI_BUILD_ID_MAX + 1])
{
	uint32_t size =
		info->build_id_size < COATI_BUILD_ID_MAX ? info->build_id_size : COATI_BUILD_ID_MAX;

	for (uint32_t i = 0; i < size; i++) {
		ret[2 * i] = "0123456789abcdef"[info->build_id[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[info->build_id[i] & 15];
	}
	ret[2 * size] = '\0';
}

void coati_proto_text(struct proto *p, uint32_t field, const char *text)
{
	size_t len = strlen(text), begun;

	if (coati_format_text_is_good(text, len)) {
		coati_proto_bytes(p, field, text, len);
		return;
	}
	begun = coati_proto_begin(p, field);
	coati_format_text(p->out, text);
	coati_proto_end(p, begun);
}
