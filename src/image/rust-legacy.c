/* SPDX-License-Identifier: MIT */
/*
 * Rust's first mangling: parts with their lengths, like a C++ name, the last part a hash of 17
 * characters ("h" and 16 digits). Inside a part "$LT$" stands for "<", "$u20$" for a blank, ".."
 * for "::". The hash is left out.
 */
#include <errno.h>
#include <string.h>

#include "image/demangle.h"

#define HASH_CHARS 17

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_hash(const char *part, size_t len)
{
	if (len != HASH_CHARS || part[0] != 'h')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!is_hex(part[i]))
			return false;
	return true;
}

/* The next part, or NULL. */
static const char *next_part(const char **at, size_t *ret_len)
{
	const char *p = *at;
	size_t len = 0;

	if (!is_digit(*p) || *p == '0')
		return NULL;
	while (is_digit(*p) && len < DEMANGLE_IN_MAX)
		len = len * 10 + (size_t)(*p++ - '0');
	if (!len || strnlen(p, len) < len)
		return NULL;
	*at = p + len;
	*ret_len = len;
	return p;
}

/* "$u7e$": a character by its number. Only those that can be shown. */
static bool add_numbered(const char *digits, size_t len, struct strbuf *out)
{
	unsigned int code = 0;

	for (size_t i = 0; i < len; i++) {
		if (!is_hex(digits[i]))
			return false;
		code = code * 16 +
		       (unsigned int)(is_digit(digits[i]) ? digits[i] - '0' : digits[i] - 'a' + 10);
	}
	if (!len || len > 2 || code < ' ' || code >= 0x7f)
		return false;
	coati_strbuf_addc(out, (char)code);
	return true;
}

/* Between two dollars. */
static bool add_escape(const char *name, size_t len, struct strbuf *out)
{
	static const struct {
		const char *name, *text;
	} known[] = { { "SP", "@" }, { "BP", "*" }, { "RF", "&" }, { "LT", "<" },
		      { "GT", ">" }, { "LP", "(" }, { "RP", ")" }, { "C", "," } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len)) {
			coati_strbuf_adds(out, known[i].text);
			return true;
		}
	return len > 1 && name[0] == 'u' && add_numbered(name + 1, len - 1, out);
}

static void add_part(const char *part, size_t len, struct strbuf *out)
{
	const char *end = part + len;

	/* an underscore keeps a leading escape from being no identifier */
	if (len > 1 && part[0] == '_' && part[1] == '$')
		part++;
	while (part < end) {
		const char *close;

		if (*part == '.' && end - part > 1 && part[1] == '.') {
			coati_strbuf_adds(out, "::");
			part += 2;
			continue;
		}
		close = *part == '$' ? memchr(part + 1, '$', (size_t)(end - part - 1)) : NULL;
		if (close && add_escape(part + 1, (size_t)(close - part - 1), out)) {
			part = close + 1;
			continue;
		}
		coati_strbuf_addc(out, *part++);
	}
}

/* Does the name have the shape, and a hash at its end? */
static bool looks_right(const char *at)
{
	const char *last = NULL, *part;
	size_t len, last_len = 0, nr = 0;

	while ((part = next_part(&at, &len))) {
		last = part;
		last_len = len;
		nr++;
	}
	return nr > 1 && *at == 'E' && !at[1] && is_hash(last, last_len);
}

int coati_demangle_rust_legacy(const char *symbol, struct strbuf *out)
{
	size_t before = out->len, len;
	const char *at = symbol + 3, *part;

	if (strncmp(symbol, "_ZN", 3) != 0 || !looks_right(at))
		return -EINVAL;
	while ((part = next_part(&at, &len)) && *at != 'E') {
		if (out->len > before)
			coati_strbuf_adds(out, "::");
		add_part(part, len, out);
	}
	return out->failed;
}
