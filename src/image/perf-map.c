/* SPDX-License-Identifier: MIT */
/*
 * The text that a JIT writes to /tmp/perf-PID.map: "START SIZE name", one function a line, both
 * numbers hexadecimal. It is appended to without end, so that what is written last at an address is
 * what is there now.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "image/jit.h"

#define NAME_BYTES (JIT_NAME_MAX + 1)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and at least one blank behind it; *@at is then behind both. */
static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t v = 0;
	int d, digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (; p < end && (d = hex_digit(*p)) >= 0; p++, digits++) {
		if (v >> 60)
			return false; /* more than 64 bits */
		v = v << 4 | (uint64_t)d;
	}
	if (!digits || p == end || !is_blank(*p))
		return false;
	while (p < end && is_blank(*p))
		p++;
	*at = p;
	*ret = v;
	return true;
}

static int take_line(struct jit *j, const char *at, const char *end)
{
	char name[NAME_BYTES];
	uint64_t start, size;
	size_t len;

	while (end > at && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	while (at < end && is_blank(*at))
		at++;
	if (at == end)
		return 0;
	if (!take_hex(&at, end, &start) || !take_hex(&at, end, &size) || at == end ||
	    memchr(at, 0, (size_t)(end - at))) {
		j->stats.malformed++;
		return 0;
	}
	len = (size_t)(end - at) < NAME_BYTES ? (size_t)(end - at) : NAME_BYTES - 1;
	memcpy(name, at, len);
	name[len] = '\0';
	return coati_jit_add(j, start, size, name, 0);
}

int coati_perf_map_parse(struct jit *j, const char *text, size_t size)
{
	const char *at = text, *end = text + size;
	int r = 0;

	while (r == 0 && at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		/* A last line without its end is still being written: half a name is a wrong
		 * name. */
		if (!eol) {
			j->stats.malformed++;
			break;
		}
		r = take_line(j, at, eol);
		at = eol + 1;
	}
	return r;
}
