/* SPDX-License-Identifier: MIT */
/* Letters and numbers of Rust names: base-62 numbers, identifiers (ASCII, or Punycode),
 * constants. */
#include "image/rust-v0.h"

#include <stdio.h>
#include <string.h>

#define PUNY_CHARS_MAX 128

uint64_t coati_v0_base62(struct v0 *v)
{
	uint64_t n = 0;
	char c;

	if (v0_eat(v, '_'))
		return 0;
	while (!v->bad && (c = v0_next(v)) != '_') {
		uint64_t digit;

		if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'z')
			digit = (uint64_t)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'Z')
			digit = (uint64_t)(c - 'A') + 36;
		else
			v->bad = true;
		if (v->bad || __builtin_mul_overflow(n, 62, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			v->bad = true;
	}
	if (__builtin_add_overflow(n, 1, &n))
		v->bad = true;
	return n;
}

uint64_t coati_v0_tagged(struct v0 *v, char tag)
{
	uint64_t n;

	if (!v0_eat(v, tag))
		return 0;
	n = coati_v0_base62(v);
	if (__builtin_add_overflow(n, 1, &n))
		v->bad = true;
	return n;
}

struct v0_ident coati_v0_ident(struct v0 *v, bool disambiguated)
{
	struct v0_ident i = { .text = "" };
	size_t len = 0;

	if (disambiguated)
		i.disambiguator = coati_v0_tagged(v, 's');
	i.puny = v0_eat(v, 'u');
	if (v0_peek(v) < '0' || v0_peek(v) > '9')
		v->bad = true;
	if (!v0_eat(v, '0'))
		while (!v->bad && v0_peek(v) >= '0' && v0_peek(v) <= '9' && len < v->len)
			len = len * 10 + (size_t)(v0_next(v) - '0');
	v0_eat(v, '_');
	if (v->bad || len > v->len - v->at) {
		v->bad = true;
		return i;
	}
	i.text = v->s + v->at;
	i.len = len;
	v->at += len;
	return i;
}

/* ---- Punycode (RFC 3492, with "_" in place of "-") ---- */

static uint64_t puny_adapt(uint64_t delta, uint64_t nr, bool first)
{
	uint64_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / nr;
	while (delta > 455) {
		delta /= 35;
		k += 36;
	}
	return k + 36 * delta / (delta + 38);
}

/* One number of variable length; UINT64_MAX: damaged. */
static uint64_t puny_number(const char **at, const char *end, uint64_t bias)
{
	uint64_t n = 0, weight = 1;

	for (uint64_t k = 36; *at < end && weight < (UINT64_C(1) << 40); k += 36) {
		uint64_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
		char c = *(*at)++;
		uint64_t digit;

		if (c >= 'a' && c <= 'z')
			digit = (uint64_t)(c - 'a');
		else if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0') + 26;
		else
			break;
		n += digit * weight;
		if (digit < threshold)
			return n;
		weight *= 36 - threshold;
	}
	return UINT64_MAX;
}

static size_t puny_decode(const struct v0_ident *i, uint32_t *out)
{
	const char *end = i->text + i->len, *at = i->text;
	uint64_t code = 128, place = 0, bias = 72;
	size_t nr = 0;

	for (const char *p = end; p > i->text; p--)
		if (p[-1] == '_') {
			for (; at < p - 1 && nr < PUNY_CHARS_MAX; at++)
				out[nr++] = (unsigned char)*at;
			at = p;
			break;
		}
	while (at < end) {
		uint64_t delta = puny_number(&at, end, bias);

		if (delta == UINT64_MAX || nr >= PUNY_CHARS_MAX)
			return 0;
		bias = puny_adapt(delta, nr + 1, place == 0 && code == 128);
		place += delta;
		code += place / (nr + 1);
		place %= nr + 1;
		if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code < 0xa0)
			return 0;
		memmove(out + place + 1, out + place, (nr - place) * sizeof(*out));
		out[place++] = (uint32_t)code;
		nr++;
	}
	return nr;
}

static void add_utf8(struct strbuf *s, uint32_t code)
{
	if (code < 0x80) {
		coati_strbuf_addc(s, (char)code);
		return;
	}
	if (code < 0x800) {
		coati_strbuf_addc(s, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			coati_strbuf_addc(s, (char)(0xe0 | code >> 12));
		} else {
			coati_strbuf_addc(s, (char)(0xf0 | code >> 18));
			coati_strbuf_addc(s, (char)(0x80 | (code >> 12 & 0x3f)));
		}
		coati_strbuf_addc(s, (char)(0x80 | (code >> 6 & 0x3f)));
	}
	coati_strbuf_addc(s, (char)(0x80 | (code & 0x3f)));
}

void coati_v0_add_ident(struct v0 *v, const struct v0_ident *i)
{
	uint32_t chars[PUNY_CHARS_MAX + 1];
	size_t nr;

	if (v->silent || v->bad)
		return;
	if (!i->puny) {
		coati_strbuf_add(v->out, i->text, i->len);
		return;
	}
	nr = puny_decode(i, chars);
	if (!nr) {
		coati_strbuf_printf(v->out, "punycode{%.*s}", (int)i->len, i->text);
		return;
	}
	for (size_t k = 0; k < nr; k++)
		add_utf8(v->out, chars[k]);
}

/* ---- constants ---- */

/* Digits up to "_"; false when there are too many for 64 bits. */
static bool read_hex(struct v0 *v, uint64_t *ret, const char **ret_digits, size_t *ret_len)
{
	uint64_t n = 0;

	*ret_digits = v->s + v->at;
	*ret_len = 0;
	while (!v->bad && v0_peek(v) != '_') {
		char c = v0_next(v);

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | ((uint64_t)(c - 'a') + 10);
		else
			v->bad = true;
		++*ret_len;
	}
	v0_eat(v, '_');
	*ret = n;
	return *ret_len <= 16;
}

static void add_char(struct v0 *v, uint64_t code)
{
	if (code >= ' ' && code < 0x7f && code != '\'' && code != '\\')
		coati_strbuf_printf(v->out, "'%c'", (char)code);
	else
		coati_strbuf_printf(v->out, "'\\u{%llx}'", (unsigned long long)code);
}

void coati_v0_constant(struct v0 *v, char type)
{
	bool is_signed = strchr("aslxni", type);
	const char *digits;
	uint64_t value;
	size_t len;
	bool fits;

	if (is_signed && v0_eat(v, 'n'))
		v0_add(v, "-");
	fits = read_hex(v, &value, &digits, &len);
	if (v->bad || v->silent)
		return;
	if (type == 'b')
		coati_strbuf_adds(v->out, value ? "true" : "false");
	else if (type == 'c')
		add_char(v, value);
	else if (fits)
		coati_strbuf_printf(v->out, "%llu", (unsigned long long)value);
	else
		coati_strbuf_printf(v->out, "0x%.*s", (int)len, digits);
}
