/* SPDX-License-Identifier: MIT */
/* A line of live text into its words. */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "live-read/text.h"

#define TEXT_MAX ((size_t)1 << 20) /* bytes of one text */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands behind a backslash, in *at, as a byte; -1: nothing that is known. */
static int escaped(const char **at)
{
	char c = **at;
	int high, low;

	if (!c || c == '\n')
		return -1; /* the line ends here */
	(*at)++;
	switch (c) {
	case 'n':
		return '\n';
	case '"':
	case '\\':
		return c;
	case 'x':
		high = hex_digit((*at)[0]);
		low = high < 0 ? -1 : hex_digit((*at)[1]);
		if (low < 0)
			return -1;
		*at += 2;
		return high << 4 | low;
	default:
		return -1;
	}
}

/* Behind a text: how often it stands. */
static int take_times(const char **at, uint64_t *ret)
{
	char digits[24];
	size_t len;

	*ret = 1;
	if (**at != '*')
		return 0;
	len = strspn(*at + 1, "0123456789");
	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, *at + 1, len);
	digits[len] = 0;
	*at += 1 + len;
	return coati_parse_u64(digits, 0, TEXT_MAX, ret);
}

/* A text in quotes; *at is behind the first. */
static int take_quoted(const char **at, struct arena *memory, struct text_pair *p)
{
	size_t room = strcspn(*at, "\n"), len = 0;
	char *text = coati_arena_alloc(memory, room + 1), *all;
	uint64_t times;

	if (!text)
		return -ENOMEM;
	while (**at != '"') {
		int c = (unsigned char)**at;

		if (!c || c == '\n')
			return -EINVAL;
		(*at)++;
		if (c == '\\')
			c = escaped(at);
		if (c < 0)
			return -EINVAL;
		text[len++] = (char)c;
	}
	(*at)++;
	if (take_times(at, &times) < 0 || len * times > TEXT_MAX)
		return -EINVAL;
	all = times == 1 ? text : coati_arena_alloc(memory, len * times + 1);
	if (!all)
		return -ENOMEM;
	for (uint64_t i = 0; times != 1 && i < times; i++)
		memcpy(all + i * len, text, len);
	p->value = all;
	p->value_size = len * times;
	p->quoted = true;
	return 0;
}

static const char *take_word(const char **at, struct arena *memory, const char *stops, size_t *len)
{
	const char *word;

	*len = strcspn(*at, stops);
	word = coati_arena_strndup(memory, *at, *len);
	*at += *len;
	return word;
}

static int take_pair(const char **at, struct arena *memory, struct text_pair *p)
{
	size_t len;

	p->name = take_word(at, memory, "= \t\n", &len);
	if (!p->name)
		return -ENOMEM;
	if (!len || **at != '=')
		return -EINVAL;
	(*at)++;
	if (**at == '"') {
		(*at)++;
		return take_quoted(at, memory, p);
	}
	p->value = take_word(at, memory, " \t\n", &p->value_size);
	return p->value ? 0 : -ENOMEM;
}

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t");
}

static int split(const char **at, struct arena *memory, struct text_line *l, const char **why)
{
	size_t len;
	int n;

	l->time = take_word(at, memory, " \t\n", &len);
	skip_blanks(at);
	/* `batch` and `hex` have no time */
	if (l->time && (!strcmp(l->time, "batch") || !strcmp(l->time, "hex"))) {
		l->kind = l->time;
		l->time = "-";
	} else {
		l->kind = take_word(at, memory, " \t\n", &len);
	}
	if (!l->time || !l->kind)
		return -ENOMEM;
	if (!strcmp(l->kind, "hex")) {
		l->time = take_word(at, memory, " \t\n", &len);
		return l->time ? 1 : -ENOMEM;
	}
	for (skip_blanks(at); **at && **at != '\n'; skip_blanks(at)) {
		if (l->nr_pairs == TEXT_PAIRS_MAX) {
			*why = "it has too many words";
			return -EINVAL;
		}
		n = take_pair(at, memory, &l->pairs[l->nr_pairs]);
		if (n < 0) {
			*why = "a word is not name=value";
			return n;
		}
		l->nr_pairs++;
	}
	return 1;
}

int coati_live_text_split(const char **text, struct arena *memory, struct text_line *ret,
			  const char **ret_why)
{
	int n = 0;

	memset(ret, 0, sizeof(*ret));
	*ret_why = "";
	skip_blanks(text);
	if (**text && **text != '\n' && **text != '#')
		n = split(text, memory, ret, ret_why);
	*text += strcspn(*text, "\n");
	*text += **text == '\n';
	return n;
}

const struct text_pair *coati_live_text_get(struct text_line *line, const char *name, size_t len)
{
	for (unsigned int i = 0; i < line->nr_pairs; i++) {
		const struct text_pair *p = &line->pairs[i];

		if (strlen(p->name) == len && !memcmp(p->name, name, len)) {
			line->used |= UINT64_C(1) << i;
			return p;
		}
	}
	return NULL;
}
