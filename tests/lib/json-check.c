/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON by the letter of RFC 8259 and throws the values away. Characters are decoded to code
 * points and judged as such, unlike the writer, which looks at the bytes. Nesting deeper than 200
 * is refused.
 */
#include "lib/json-check.h"

#include <stdint.h>
#include <string.h>

struct json_reader {
	const unsigned char *at, *end;
};

static bool value(struct json_reader *r, int depth);

static int peek(const struct json_reader *r)
{
	return r->at < r->end ? *r->at : -1;
}

static bool accept(struct json_reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

static void blanks(struct json_reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\n' || peek(r) == '\r' || peek(r) == '\t')
		r->at++;
}

static bool digits(struct json_reader *r)
{
	const unsigned char *start = r->at;

	while (peek(r) >= '0' && peek(r) <= '9')
		r->at++;
	return r->at > start;
}

static bool number(struct json_reader *r)
{
	accept(r, "-");
	if (!accept(r, "0") && !digits(r))
		return false;
	if (accept(r, ".") && !digits(r))
		return false;
	if (!accept(r, "e") && !accept(r, "E"))
		return true;
	if (!accept(r, "+"))
		accept(r, "-");
	return digits(r);
}

static bool character(struct json_reader *r)
{
	static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
	uint32_t c = *r->at++;
	int more = c < 0x80 ? 0 : c >> 5 == 6 ? 1 : c >> 4 == 14 ? 2 : c >> 3 == 30 ? 3 : -1;

	if (more < 0 || c < 0x20)
		return false;
	if (more)
		c &= 0x3fu >> more;
	for (int i = 0; i < more; i++) {
		if (peek(r) >> 6 != 2)
			return false;
		c = c << 6 | (*r->at++ & 0x3f);
	}
	return c >= smallest[more] && c <= 0x10ffff && c >> 11 != 0x1b;
}

static bool escape(struct json_reader *r)
{
	if (accept(r, "u")) {
		for (int i = 0; i < 4; i++, r->at++)
			if (peek(r) <= 0 || !strchr("0123456789abcdefABCDEF", peek(r)))
				return false;
		return true;
	}
	if (peek(r) <= 0 || !strchr("\"\\/bfnrt", peek(r)))
		return false;
	r->at++;
	return true;
}

static bool string(struct json_reader *r)
{
	if (!accept(r, "\""))
		return false;
	while (!accept(r, "\"")) {
		if (peek(r) < 0 || !(accept(r, "\\") ? escape(r) : character(r)))
			return false;
	}
	return true;
}

static bool item(struct json_reader *r, bool in_object, int depth)
{
	blanks(r);
	if (in_object) {
		if (!string(r))
			return false;
		blanks(r);
		if (!accept(r, ":"))
			return false;
	}
	return value(r, depth + 1);
}

static bool container(struct json_reader *r, bool is_object, int depth)
{
	const char *closer = is_object ? "}" : "]";

	blanks(r);
	if (accept(r, closer))
		return true;
	do {
		if (!item(r, is_object, depth))
			return false;
	} while (accept(r, ","));
	return accept(r, closer);
}

/* A value and the blanks around it. */
static bool value(struct json_reader *r, int depth)
{
	bool ok;

	if (depth > 200)
		return false;
	blanks(r);
	if (accept(r, "{"))
		ok = container(r, true, depth);
	else if (accept(r, "["))
		ok = container(r, false, depth);
	else if (peek(r) == '"')
		ok = string(r);
	else
		ok = accept(r, "true") || accept(r, "false") || accept(r, "null") || number(r);
	blanks(r);
	return ok;
}

bool json_check(const char *text, size_t len)
{
	struct json_reader r = { (const unsigned char *)text, (const unsigned char *)text + len };

	return value(&r, 0) && r.at == r.end;
}
