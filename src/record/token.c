/* SPDX-License-Identifier: MIT */
/* Text comes in, tokens go out; the end of the text is its terminator. */
#include "record/token.h"

#include <errno.h>
#include <string.h>

#define TEXT_MAX 65536

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/* The end of the literal that starts at @s with a quote; NULL when it has none. */
static const char *literal_end(const char *s)
{
	char quote = *s++;

	for (; *s && *s != quote; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : NULL;
}

static uint8_t two_characters(const char *s)
{
	static const struct {
		char text[3];
		uint8_t op;
	} ops[] = { { "<<", TOKEN_OP_SHL }, { ">>", TOKEN_OP_SHR }, { "<=", TOKEN_OP_LE },
		    { ">=", TOKEN_OP_GE },  { "==", TOKEN_OP_EQ },  { "!=", TOKEN_OP_NE },
		    { "&&", TOKEN_OP_AND }, { "||", TOKEN_OP_OR },  { "->", TOKEN_OP_ARROW } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (s[0] == ops[i].text[0] && s[1] == ops[i].text[1])
			return ops[i].op;
	return 0;
}

int coati_token_next(const char **at, struct token *ret)
{
	const char *s = *at + strspn(*at, " \t\n");
	struct token t = { .kind = TOKEN_OP, .at = s };

	if (!*s) {
		t.kind = TOKEN_END;
	} else if (is_name_char(*s)) {
		t.kind = is_digit(*s) ? TOKEN_NUMBER : TOKEN_NAME;
		while (is_name_char(*s))
			s++;
	} else if (*s == '"' || *s == '\'') {
		t.kind = *s == '"' ? TOKEN_STRING : TOKEN_NUMBER;
		s = literal_end(s);
		if (!s)
			return -EOPNOTSUPP;
	} else {
		t.op = two_characters(s);
		s += t.op ? 2 : 1;
		t.op = t.op ? t.op : (uint8_t)*t.at;
	}
	t.len = (size_t)(s - t.at);
	*at = s;
	*ret = t;
	return 0;
}

/* One character behind a backslash; *@s is left behind it. */
static char escape(const char **s)
{
	static const char names[] = "abfnrtv", codes[] = "\a\b\f\n\r\t\v";
	unsigned int v = 0;
	const char *name;

	if (**s < '0' || **s > '7') {
		char c = *(*s)++;

		name = c ? strchr(names, c) : NULL;
		return name ? codes[name - names] : c;
	}
	for (int i = 0; i < 3 && **s >= '0' && **s <= '7'; i++)
		v = v * 8 + (unsigned int)(*(*s)++ - '0');
	return (char)v;
}

int coati_token_string(const char **at, struct arena *arena, const char **ret, uint32_t *ret_len)
{
	const char *s = *at, *end;
	size_t len = 0, room = 0;
	char *out;

	/* Twice over the literals: how much, then what. */
	for (const char *q = s; *q == '"'; q = end + strspn(end, " \t\n")) {
		end = literal_end(q);
		if (!end)
			return -EOPNOTSUPP;
		room += (size_t)(end - q);
	}
	if (!room || room > TEXT_MAX)
		return room ? -E2BIG : -EOPNOTSUPP;
	out = coati_arena_alloc(arena, room);
	if (!out)
		return -ENOMEM;
	while (*s == '"') {
		for (s++; *s != '"';) {
			bool escaped = *s == '\\';

			s += escaped;
			out[len++] = escaped ? escape(&s) : *s++;
		}
		*at = ++s;
		s += strspn(s, " \t\n");
	}
	*ret = out;
	*ret_len = (uint32_t)len;
	return 0;
}

static unsigned int digit_value(char c)
{
	if (is_digit(c))
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 99;
}

static int character(const struct token *t, uint64_t *ret, struct ctype *ret_type)
{
	const char *s = t->at + 1;
	char c = *s++;

	if (c == '\\')
		c = escape(&s);
	if (s + 1 != t->at + t->len)
		return -EOPNOTSUPP;
	*ret = (uint64_t)(int64_t)c;
	*ret_type = (struct ctype){ .size = 4, .is_signed = true };
	return 0;
}

/* u and l behind the digits. */
static int suffix(const char *s, const char *end, bool *ret_unsigned, bool *ret_long)
{
	for (; s < end; s++) {
		char c = (char)(*s | 0x20);

		if (c != 'u' && c != 'l')
			return -EOPNOTSUPP;
		*(c == 'u' ? ret_unsigned : ret_long) = true;
	}
	return 0;
}

int coati_token_number(const struct token *t, uint64_t *ret, struct ctype *ret_type)
{
	const char *s = t->at, *end = s + t->len;
	unsigned int base = 10;
	bool is_long = false, is_unsigned = false;
	uint64_t v = 0;

	if (*s == '\'')
		return character(t, ret, ret_type);
	if (t->len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		s += 2;
	} else if (t->len > 1 && s[0] == '0') {
		base = 8;
	}
	for (; s < end && digit_value(*s) < base; s++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit_value(*s), &v))
			return -EOPNOTSUPP;
	if (suffix(s, end, &is_unsigned, &is_long))
		return -EOPNOTSUPP;
	is_long |= v > UINT32_MAX || (base == 10 && !is_unsigned && v > INT32_MAX);
	is_unsigned |= v > (uint64_t)(is_long ? INT64_MAX : INT32_MAX);
	*ret = v;
	*ret_type = (struct ctype){ .size = is_long ? 8 : 4, .is_signed = !is_unsigned };
	return 0;
}
