/* SPDX-License-Identifier: MIT */
/* Numbers and paddings by hand: this runs several times for each tracepoint record, and libc's
 * printf is ten times slower. */
#include "record/output.h"

#include <string.h>

#define DIGITS_MAX 24 /* 64 bits as octal, and some */

void coati_output_add(struct output *o, const char *text, size_t len)
{
	if (o->len < o->cap) {
		size_t room = o->cap - o->len;

		memcpy(o->buf + o->len, text, len < room ? len : room);
	}
	o->len += len;
}

void coati_output_char(struct output *o, char c, size_t count)
{
	if (o->len < o->cap) {
		size_t room = o->cap - o->len;

		memset(o->buf + o->len, c, count < room ? count : room);
	}
	o->len += count;
}

/* Digits of @v at the end of @buf; their number. */
static size_t digits_of(uint64_t v, unsigned int base, bool upper, char buf[DIGITS_MAX])
{
	const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t n = 0;

	do {
		buf[DIGITS_MAX - ++n] = letters[v % base];
		v /= base;
	} while (v);
	return n;
}

void coati_output_hex(struct output *o, uint64_t v, unsigned int digits)
{
	char buf[DIGITS_MAX];
	size_t n = digits_of(v, 16, false, buf);

	coati_output_add(o, "0x", 2);
	if (n < digits)
		coati_output_char(o, '0', digits - n);
	coati_output_add(o, buf + DIGITS_MAX - n, n);
}

void coati_output_decimal(struct output *o, uint64_t v, bool is_signed)
{
	bool negative = is_signed && (int64_t)v < 0;
	char buf[DIGITS_MAX];
	size_t n = digits_of(negative ? 0 - v : v, 10, false, buf);

	if (negative)
		coati_output_char(o, '-', 1);
	coati_output_add(o, buf + DIGITS_MAX - n, n);
}

static uint64_t low_bytes(uint64_t v, uint8_t size, bool is_signed)
{
	unsigned int shift = 64 - 8 * (unsigned int)size;

	return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

/* Sign or base in front of the digits. */
static size_t prefix_of(const struct conversion *c, bool negative, uint64_t v, char prefix[3])
{
	if (c->letter == 'd') {
		prefix[0] = negative ? '-' : c->plus ? '+' : ' ';
		return negative || c->plus || c->space;
	}
	if (!c->alternate || !v || c->letter == 'u')
		return 0;
	prefix[0] = '0';
	prefix[1] = c->letter;
	return c->letter == 'o' ? 1 : 2;
}

void coati_output_number(struct output *o, const struct conversion *c, uint64_t v)
{
	bool is_signed = c->letter == 'd', negative;
	unsigned int base = c->letter == 'o' ? 8 : c->letter == 'x' || c->letter == 'X' ? 16 : 10;
	size_t n, zeros = 0, fill = 0, prefix_len;
	char buf[DIGITS_MAX], prefix[3];

	v = low_bytes(v, c->size, is_signed);
	negative = is_signed && (int64_t)v < 0;
	n = digits_of(negative ? 0 - v : v, base, c->letter == 'X', buf);
	prefix_len = prefix_of(c, negative, v, prefix);
	if (c->precision >= 0 && (size_t)c->precision > n)
		zeros = (size_t)c->precision - n;
	if (c->width >= 0 && (size_t)c->width > prefix_len + zeros + n)
		fill = (size_t)c->width - prefix_len - zeros - n;
	if (c->zero && !c->left && c->precision < 0) {
		zeros += fill;
		fill = 0;
	}
	if (!c->left)
		coati_output_char(o, ' ', fill);
	coati_output_add(o, prefix, prefix_len);
	coati_output_char(o, '0', zeros);
	coati_output_add(o, buf + DIGITS_MAX - n, n);
	if (c->left)
		coati_output_char(o, ' ', fill);
}

void coati_output_fit(struct output *o, const struct conversion *c, size_t start)
{
	size_t len = o->len - start, fill;

	if (c->precision >= 0 && (size_t)c->precision < len) {
		len = (size_t)c->precision;
		o->len = start + len;
	}
	if (c->width < 0 || (size_t)c->width <= len)
		return;
	fill = (size_t)c->width - len;
	coati_output_char(o, ' ', fill);
	if (c->left || start >= o->cap)
		return;
	/* The text was there first: move it behind its padding, as far as there is room. */
	if (fill > o->cap - start)
		fill = o->cap - start;
	if (len > o->cap - start - fill)
		len = o->cap - start - fill;
	memmove(o->buf + start + fill, o->buf + start, len);
	memset(o->buf + start, ' ', fill);
}
