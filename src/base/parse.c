/* SPDX-License-Identifier: MIT */
/*
 * Text comes in, a number that was meant goes out. The syntax is checked by hand, character by
 * character; integers, sizes, durations and rates are computed in integers, so no locale and no
 * rounding has a say. A text with a wrong character is -EINVAL even where its digits are out of
 * range.
 */
#include "base/parse.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"

struct number {
	uint64_t value;
	bool too_big; /* more than 64 bits: value means nothing */
	bool inexact; /* a fraction of a unit was cut */
};

struct unit {
	const char *name;
	uint64_t factor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void number_scale(struct number *n, uint64_t factor)
{
	n->too_big |= __builtin_mul_overflow(n->value, factor, &n->value);
}

static void number_add(struct number *n, uint64_t more)
{
	n->too_big |= __builtin_add_overflow(n->value, more, &n->value);
}

/* Consume the digits at *s; false when there are none. */
static bool scan_digits(const char **s, unsigned int base, struct number *ret)
{
	const char *p = *s;

	*ret = (struct number){ 0 };
	for (int d; (d = hex_value(*p)) >= 0 && (unsigned int)d < base; p++) {
		number_scale(ret, base);
		number_add(ret, (uint64_t)d);
	}
	if (p == *s)
		return false;
	*s = p;
	return true;
}

/* The whole of @s, decimal or 0x. */
static int scan_integer(const char *s, struct number *ret)
{
	unsigned int base = 10;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}
	return scan_digits(&s, base, ret) && !*s ? 0 : -EINVAL;
}

static int number_in(const struct number *n, uint64_t min, uint64_t max, uint64_t *ret)
{
	if (n->too_big || n->value < min || n->value > max)
		return -ERANGE;
	*ret = n->value;
	return 0;
}

/* Behind the digits at @s; NULL when there are none. */
static const char *skip_digits(const char *s)
{
	const char *start = s;

	while (is_digit(*s))
		s++;
	return s > start ? s : NULL;
}

/* [-]digits[.digits][e[+-]digits], nothing else: strtod() alone would also take blanks,
 * hexadecimal, infinity and a bare point. */
static bool is_decimal(const char *s)
{
	s = skip_digits(s + (*s == '-'));
	if (s && *s == '.')
		s = skip_digits(s + 1);
	if (s && (*s == 'e' || *s == 'E')) {
		s++;
		s = skip_digits(s + (*s == '+' || *s == '-'));
	}
	return s && !*s;
}

/* Exact part of @unit that the decimal fraction [start, end) is. Digit by digit from the right:
 * 0.d1d2 * unit = (d1 * unit + (d2 * unit) / 10) / 10, and cutting inside cuts no more than
 * outside. */
static void add_fraction(struct number *n, const char *start, const char *end, uint64_t unit)
{
	uint64_t part = 0;

	while (end > start) {
		part += (uint64_t)(*--end - '0') * unit;
		n->inexact |= part % 10 != 0;
		part /= 10;
	}
	number_add(n, part);
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (!strcmp(units->name, name))
			return units;
	return NULL;
}

/* digits[.digits] and the name of a unit. */
static int scan_with_unit(const char *s, const struct unit *units, struct number *ret)
{
	const char *fraction, *end;
	const struct unit *unit;

	if (!scan_digits(&s, 10, ret))
		return -EINVAL;
	fraction = end = s;
	if (*s == '.') {
		fraction = s + 1;
		end = skip_digits(fraction);
		if (!end)
			return -EINVAL;
	}
	unit = find_unit(units, end);
	if (!unit)
		return -EINVAL;
	number_scale(ret, unit->factor);
	add_fraction(ret, fraction, end, unit->factor);
	return 0;
}

/* One "7" or "0-3" of a list; *s is then behind it. */
static int scan_range(const char **s, size_t nr_bits, uint64_t *ret_first, uint64_t *ret_last)
{
	struct number first, last;

	if (!scan_digits(s, 10, &first))
		return -EINVAL;
	last = first;
	if (**s == '-') {
		++*s;
		if (!scan_digits(s, 10, &last))
			return -EINVAL;
	}
	*ret_first = first.value;
	*ret_last = last.value;
	return first.too_big || last.too_big || last.value >= nr_bits || first.value > last.value
		       ? -ERANGE
		       : 0;
}

/* Walk the list; @bits is NULL in the walk that only checks. */
static int walk_cpulist(const char *s, uint64_t *bits, size_t nr_bits)
{
	int result = 0;

	for (;; s++) {
		uint64_t first, last;
		int r = scan_range(&s, nr_bits, &first, &last);

		if (r == -EINVAL || (*s && *s != ','))
			return -EINVAL;
		if (r < 0)
			result = r; /* a wrong character further on weighs more */
		for (uint64_t i = first; bits && i <= last; i++)
			bits[i / 64] |= UINT64_C(1) << (i % 64);
		if (!*s)
			return result;
	}
}

int coati_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	struct number n;
	int r = scan_integer(s, &n);

	return r < 0 ? r : number_in(&n, min, max, ret);
}

int coati_parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *ret)
{
	uint64_t v;
	int r = coati_parse_u64(s, min, max, &v);

	if (r == 0)
		*ret = (uint32_t)v;
	return r;
}

int coati_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = *s == '-';
	struct number n;
	int64_t v;
	int r = scan_integer(s + negative, &n);

	if (r < 0)
		return r;
	if (n.too_big || n.value > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	v = (int64_t)(negative ? -n.value : n.value);
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int coati_parse_hex(const char *s, uint64_t *ret)
{
	const char *p = s;
	struct number n;

	if (!scan_digits(&p, 16, &n) || *p)
		return -EINVAL;
	if (p - s > 16)
		return -ERANGE;
	*ret = n.value;
	return 0;
}

int coati_parse_double(const char *s, double *ret)
{
	locale_t c_locale;
	double v;

	if (!is_decimal(s))
		return -EINVAL;
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return -ENOMEM;
	v = strtod_l(s, NULL, c_locale);
	freelocale(c_locale);
	if (!isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

char *coati_parse_trim(char *text)
{
	size_t len;

	text += strspn(text, " ");
	len = strlen(text);
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
	return text;
}

int coati_parse_percent(const char *s, double min, double max, double *ret)
{
	size_t len = strlen(s);
	char number[32];
	double v;
	int r;

	if (len && s[len - 1] == '%')
		len--;
	if (!len || len >= sizeof(number))
		return -EINVAL;
	memcpy(number, s, len);
	number[len] = '\0';
	r = coati_parse_double(number, &v);
	if (r < 0)
		return r;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int coati_parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	static const char letters[] = "kmgt";
	const char *letter;
	struct number n;

	if (!scan_digits(&s, 10, &n))
		return -EINVAL;
	letter = *s ? strchr(letters, *s | 0x20) : NULL;
	if (letter) {
		number_scale(&n, UINT64_C(1) << (10 * (letter - letters + 1)));
		s++;
	}
	if (*s && strcasecmp(s, "b") != 0 && !(letter && !strcasecmp(s, "ib")))
		return -EINVAL;
	return number_in(&n, min, max, ret);
}

int coati_parse_duration(const char *s, uint64_t min_ns, uint64_t max_ns, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{ "", NSEC_PER_SEC },	      { "ns", 1 },	     { "us", NSEC_PER_USEC },
		{ "ms", NSEC_PER_MSEC },      { "s", NSEC_PER_SEC }, { "m", 60 * NSEC_PER_SEC },
		{ "h", 3600 * NSEC_PER_SEC }, { NULL, 0 },
	};
	struct number n;
	int r = scan_with_unit(s, units, &n);

	return r < 0 ? r : number_in(&n, min_ns, max_ns, ret_ns);
}

int coati_parse_rate(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 }, { "k", 1000 }, { "K", 1000 }, { "M", 1000000 }, { NULL, 0 },
	};
	struct number n;
	int r = scan_with_unit(s, units, &n);

	if (r < 0)
		return r;
	return n.inexact ? -EINVAL : number_in(&n, min, max, ret);
}

int coati_parse_cpulist(const char *s, uint64_t *bits, size_t nr_bits)
{
	int r = walk_cpulist(s, NULL, nr_bits);

	if (r < 0)
		return r;
	memset(bits, 0, (nr_bits + 63) / 64 * sizeof(*bits));
	return walk_cpulist(s, bits, nr_bits);
}
