/* SPDX-License-Identifier: MIT */
/* UTF-8, as strict as the standard: what is longer than it need be, halves of pairs and what is
 * beyond U+10FFFF is none. */
#pragma once

#include <stddef.h>

/* U+FFFD, what stands for a byte that is none of a character */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

static inline int utf8_is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the character at @p, 0 when the first byte begins none. The second byte decides about
 * overlong forms, surrogates and what is too large. Hot. */
static inline size_t utf8_length(const unsigned char *p, size_t left)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (p[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if (!utf8_is_continuation(p[i]))
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* Bytes of the character at @p when a terminal shows it; 0 when it would obey it (control
 * characters of both kinds, what turns the direction of writing), or when it is none. */
static inline size_t utf8_printable(const unsigned char *p, size_t left)
{
	size_t len = utf8_length(p, left);

	if (len == 1)
		return p[0] >= 0x20 && p[0] != 0x7f;
	if (len == 2 && p[0] == 0xc2 && p[1] < 0xa0)
		return 0;
	if (len == 3 && p[0] == 0xe2 &&
	    ((p[1] == 0x80 && ((p[2] >= 0xa8 && p[2] <= 0xae) || (p[2] & 0xfe) == 0x8e)) ||
	     (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)))
		return 0;
	return len;
}

/* @code as UTF-8 into @ret: how many bytes. Halves of pairs and what is too large become U+FFFD. */
static inline size_t utf8_put(unsigned int code, char ret[4])
{
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	if (code < 0x80) {
		ret[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		ret[0] = (char)(0xc0 | code >> 6);
		ret[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		ret[0] = (char)(0xe0 | code >> 12);
		ret[1] = (char)(0x80 | (code >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | code >> 18);
	ret[1] = (char)(0x80 | (code >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (code >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}
