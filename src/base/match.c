/* SPDX-License-Identifier: MIT */
/*
 * A name that was typed and names that exist come in; how far apart they are, and the nearest, goes
 * out. The distance is that of optimal string alignment: no stretch of text is edited twice.
 */
#include "base/match.h"

#include <stdint.h>
#include <string.h>

#define NAME_MAX_BYTES 128

/* Of the whole table three rows are kept: row i % 3 holds the distances of the first i bytes of
 * @a. */
struct table {
	const char *a, *b;
	size_t len_a, len_b;
	uint8_t rows[3][NAME_MAX_BYTES + 1];
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool same(char a, char b)
{
	return lower(a) == lower(b);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns the smallest number of the row. */
static size_t fill_row(struct table *t, size_t i)
{
	const char *a = t->a, *b = t->b;
	uint8_t *now = t->rows[i % 3];
	const uint8_t *up = t->rows[(i + 2) % 3], *up2 = t->rows[(i + 1) % 3];
	size_t smallest = i;

	now[0] = (uint8_t)i;
	for (size_t j = 1; j <= t->len_b; j++) {
		size_t best = smaller(up[j], now[j - 1]) + 1;

		best = smaller(best, up[j - 1] + (size_t)!same(a[i - 1], b[j - 1]));
		if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
			best = smaller(best, up2[j - 2] + 1u);
		now[j] = (uint8_t)best;
		smallest = smaller(smallest, best);
	}
	return smallest;
}

static size_t fill_table(struct table *t, size_t limit)
{
	for (size_t j = 0; j <= t->len_b; j++)
		t->rows[0][j] = (uint8_t)j;
	for (size_t i = 1; i <= t->len_a; i++) {
		/* No later row is smaller: each step down costs nothing or more, and a swap, which
		 * skips this row, starts from one that is smaller by no more than the swap costs.
		 */
		if (fill_row(t, i) > limit)
			return limit + 1;
	}
	return t->rows[t->len_a % 3][t->len_b];
}

size_t coati_edit_distance(const char *a, const char *b, size_t limit)
{
	struct table t = { .a = a, .b = b, .len_a = strlen(a), .len_b = strlen(b) };
	size_t distance;

	if (t.len_a > NAME_MAX_BYTES || t.len_b > NAME_MAX_BYTES)
		return limit + 1;
	if ((t.len_a > t.len_b ? t.len_a - t.len_b : t.len_b - t.len_a) > limit)
		return limit + 1;
	distance = fill_table(&t, limit);
	return distance > limit ? limit + 1 : distance;
}

struct nearest coati_nearest_to(const char *name)
{
	/* distance is what an offer must beat */
	return (struct nearest){ .name = name, .distance = strlen(name) / 3 + 1 };
}

void coati_nearest_offer(struct nearest *n, const char *candidate)
{
	size_t distance;

	if (!n->distance)
		return;
	distance = coati_edit_distance(n->name, candidate, n->distance - 1);
	if (distance < n->distance) {
		n->best = candidate;
		n->distance = distance;
	}
}

bool coati_is_glob(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

/* Is @c in the set behind '['? *ret_end is behind its ']'; NULL there when it is not closed. */
static bool in_set(const char *set, char c, const char **ret_end)
{
	bool negate = *set == '!' || *set == '^', found = false;
	const char *p = set + (negate ? 1 : 0);

	*ret_end = NULL;
	do {
		char low = *p, high;
		bool range;

		if (!low)
			return false;
		range = p[1] == '-' && p[2] && p[2] != ']';
		high = range ? p[2] : low;
		if ((unsigned char)c >= (unsigned char)low &&
		    (unsigned char)c <= (unsigned char)high)
			found = true;
		p += range ? 3 : 1;
	} while (*p != ']');
	*ret_end = p + 1;
	return found != negate;
}

/* One character of the pattern (not a star) against @c; the rest of the pattern, or NULL. */
static const char *match_one(const char *pattern, char c)
{
	const char *end;
	bool found;

	if (*pattern == '[') {
		found = in_set(pattern + 1, c, &end);
		if (end)
			return found ? end : NULL;
	}
	return *pattern == '?' || *pattern == c ? pattern + 1 : NULL;
}

bool coati_glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text) {
		const char *next = *pattern && *pattern != '*' ? match_one(pattern, *text) : NULL;

		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (next) {
			pattern = next;
			text++;
		} else if (star) {
			/* only the last star need ever take one more */
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
