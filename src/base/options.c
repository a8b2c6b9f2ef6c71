/* SPDX-License-Identifier: MIT */
/* Walks a command line along a table of options: see the header. */
#include "base/options.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/match.h"
#include "base/parse.h"
#include "base/utf8.h"

#define CPUS_MAX   8192
#define LABEL_SIZE 80
#define QUOTE_SIZE 96

/* One walk over the words. */
struct walk {
	const struct option *table;
	struct option_line *line;
	void *args;
	struct coati_error *err;
	int at; /* the word that comes next */
};

const char *coati_quote(const char *text, char *buf, size_t size)
{
	static const char hex[] = "0123456789abcdef";
	/* what an escape, "...", the quote and the end may take */
	size_t room = size > 8 ? size - 8 : 0;
	size_t len = 0;
	const char *p;

	buf[len++] = '"';
	for (p = text; *p && len < room; p++) {
		unsigned char c = (unsigned char)*p;
		size_t n = utf8_printable((const unsigned char *)p, strnlen(p, 4));

		if (n && len + n <= room) {
			memcpy(buf + len, p, n);
			len += n;
			p += n - 1;
			continue;
		}
		buf[len++] = '\\';
		buf[len++] = 'x';
		buf[len++] = hex[c >> 4];
		buf[len++] = hex[c & 15];
	}
	for (int i = 0; *p && i < 3; i++)
		buf[len++] = '.';
	buf[len++] = '"';
	buf[len] = 0;
	return buf;
}

/* "--interval (-I)", as messages call an option. */
static const char *option_label(const struct option *o, char *buf, size_t size)
{
	if (o->letter)
		snprintf(buf, size, "--%s (-%c)", o->name, o->letter);
	else
		snprintf(buf, size, "--%s", o->name);
	return buf;
}

static void words_join(const char *const *words, struct strbuf *out)
{
	for (size_t i = 0; words[i]; i++)
		coati_strbuf_printf(out, "%s%s", i ? (words[i + 1] ? ", " : " or ") : "", words[i]);
}

/* A bound of a duration in the largest unit that divides it: "1 ms", not "1.00 ms". */
static void add_bound(struct strbuf *out, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = {
		{ 3600 * NSEC_PER_SEC, "h" }, { 60 * NSEC_PER_SEC, "m" }, { NSEC_PER_SEC, "s" },
		{ NSEC_PER_MSEC, "ms" },      { NSEC_PER_USEC, "us" },	  { 1, "ns" },
	};
	size_t i = 0;

	while (units[i].ns > 1 && (!ns || ns % units[i].ns))
		i++;
	coati_strbuf_printf(out, "%llu %s", (unsigned long long)(ns / units[i].ns), units[i].unit);
}

/* What a value of @o looks like, for the sentence "... wants @out". */
static void option_wish(const struct option *o, struct strbuf *out)
{
	switch (o->kind) {
	case OPTION_IDS:
		coati_strbuf_printf(out, "ids such as 4711 or 4711,4712");
		break;
	case OPTION_CPUS:
		coati_strbuf_printf(out, "a CPU list such as 0 or 0-3,7");
		break;
	case OPTION_U32:
	case OPTION_U64:
		coati_strbuf_printf(out, "a whole number from %llu to %llu",
				    (unsigned long long)o->min, (unsigned long long)o->max);
		break;
	case OPTION_I64:
		coati_strbuf_printf(out, "a whole number from %lld to %lld", (long long)o->min,
				    (long long)o->max);
		break;
	case OPTION_SIZE:
		coati_strbuf_printf(out, "a size from %llu to %llu bytes such as 64k or 16M",
				    (unsigned long long)o->min, (unsigned long long)o->max);
		break;
	case OPTION_DURATION:
		coati_strbuf_adds(out, "a duration such as 100ms, 2s or 5m, from ");
		add_bound(out, o->min);
		coati_strbuf_adds(out, " to ");
		add_bound(out, o->max);
		break;
	case OPTION_RATE:
		coati_strbuf_printf(out, "a rate from %llu to %llu such as 99 or 4k",
				    (unsigned long long)o->min, (unsigned long long)o->max);
		break;
	case OPTION_CHOICE:
		words_join(o->choices, out);
		break;
	default:
		coati_strbuf_adds(out, o->arg ? o->arg : "no value");
		break;
	}
}

/* @got: the value that was refused, NULL: there was none. */
static int refuse_value(struct walk *w, const struct option *o, const char *got)
{
	struct strbuf wish = STRBUF_INIT(512);
	char label[LABEL_SIZE], quoted[QUOTE_SIZE];
	int r;

	option_wish(o, &wish);
	option_label(o, label, sizeof(label));
	if (got)
		r = coati_fail(w->err, -EINVAL, "%s wants %s, not %s%s", label, wish.text,
			       coati_quote(got, quoted, sizeof(quoted)),
			       o->flags & OPTION_MAYBE ? "; put -- in front of a command" : "");
	else
		r = coati_fail(w->err, -EINVAL, "%s needs a value: %s", label, wish.text);
	coati_strbuf_fini(&wish);
	return r;
}

static int add_ids(struct option_ids *ids, const char *text)
{
	char word[16];

	while (true) {
		size_t len = strcspn(text, ",");
		uint32_t id;
		int32_t *p;

		if (len >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, len);
		word[len] = 0;
		if (coati_parse_u32(word, 1, INT32_MAX, &id) < 0)
			return -EINVAL;
		p = ARRAY_ADD(ids);
		if (!p)
			return -ENOMEM;
		*p = (int32_t)id;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

static int add_text(struct option_texts *texts, const char *text, int tag)
{
	struct option_text *t = ARRAY_ADD(texts);

	if (!t)
		return -ENOMEM;
	*t = (struct option_text){ .text = text, .tag = tag };
	return 0;
}

static int check_cpus(const char *text)
{
	uint64_t bits[CPUS_MAX / 64] = { 0 };

	return coati_parse_cpulist(text, bits, CPUS_MAX);
}

static int choose(const struct option *o, const char *text, int *ret)
{
	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Store @text as the value of @o in @member. */
static int convert(const struct option *o, const char *text, void *member)
{
	switch (o->kind) {
	case OPTION_STR:
		*(const char **)member = text;
		return 0;
	case OPTION_TEXTS:
		return add_text(member, text, o->tag);
	case OPTION_IDS:
		return add_ids(member, text);
	case OPTION_CPUS:
		if (check_cpus(text) < 0)
			return -EINVAL;
		*(const char **)member = text;
		return 0;
	case OPTION_U32:
		return coati_parse_u32(text, (uint32_t)o->min, (uint32_t)o->max, member);
	case OPTION_U64:
		return coati_parse_u64(text, o->min, o->max, member);
	case OPTION_I64:
		return coati_parse_i64(text, (int64_t)o->min, (int64_t)o->max, member);
	case OPTION_SIZE:
		return coati_parse_size(text, o->min, o->max, member);
	case OPTION_DURATION:
		return coati_parse_duration(text, o->min, o->max, member);
	case OPTION_RATE:
		return coati_parse_rate(text, o->min, o->max, member);
	case OPTION_CHOICE:
		return choose(o, text, member);
	default:
		return -EINVAL;
	}
}

static int set_value(struct walk *w, const struct option *o, const char *text)
{
	char label[LABEL_SIZE];
	int r;

	if (!*text)
		return refuse_value(w, o, text);
	r = convert(o, text, (char *)w->args + o->offset);
	if (r == -ENOMEM)
		return coati_fail(w->err, r, "%s was given too many times, or memory ran out",
				  option_label(o, label, sizeof(label)));
	return r < 0 ? refuse_value(w, o, text) : 0;
}

/* A flag or the wish for help. */
static void set_flag(struct walk *w, const struct option *o, bool on)
{
	if (o->kind == OPTION_ASK_HELP)
		w->line->help = true;
	else
		*(bool *)((char *)w->args + o->offset) = on;
}

static bool is_option(const struct option *o)
{
	return o->kind != OPTION_HEAD;
}

bool coati_option_is_shown(const struct option *o)
{
	return is_option(o) && !(o->flags & OPTION_HIDDEN);
}

static const struct option *find_name(const struct option *table, const char *name, size_t len)
{
	for (const struct option *o = table; o->kind; o++) {
		if (is_option(o) && !strncmp(o->name, name, len) && !o->name[len])
			return o;
	}
	return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
	for (const struct option *o = table; o->kind; o++) {
		if (is_option(o) && o->letter == letter)
			return o;
	}
	return NULL;
}

/* The name that was meant: one that begins like it, else the nearest. */
static const char *guess_name(const struct option *table, const char *name)
{
	struct nearest near = coati_nearest_to(name);
	size_t len = strlen(name);

	for (const struct option *o = table; o->kind; o++) {
		if (!coati_option_is_shown(o))
			continue;
		if (len >= 2 && !strncmp(o->name, name, len))
			return o->name;
		coati_nearest_offer(&near, o->name);
	}
	return near.best;
}

static int refuse_name(struct walk *w, const char *name, size_t len)
{
	char word[48], quoted[QUOTE_SIZE];
	const char *guess;

	if (len >= sizeof(word))
		len = sizeof(word) - 1;
	memcpy(word, name, len);
	word[len] = 0;
	guess = guess_name(w->table, word);
	coati_quote(word, quoted, sizeof(quoted));
	quoted[strlen(quoted) - 1] = 0; /* bare, but with its control characters tamed */
	if (guess)
		return coati_fail(w->err, -EINVAL, "unknown option --%s; did you mean --%s?",
				  quoted + 1, guess);
	return coati_fail(w->err, -EINVAL, "unknown option --%s", quoted + 1);
}

/* The next word as the value of @o. */
static int take_value(struct walk *w, const struct option *o)
{
	const char *next = w->at < w->line->argc ? w->line->argv[w->at] : NULL;

	if (o->flags & OPTION_MAYBE && (!next || next[0] == '-'))
		return set_value(w, o, o->choices[0]);
	if (!next)
		return refuse_value(w, o, NULL);
	return set_value(w, o, w->line->argv[w->at++]);
}

static int walk_long(struct walk *w, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct option *o = find_name(w->table, word, len);
	bool on = true;
	char label[LABEL_SIZE];

	if (!o && len > 3 && !strncmp(word, "no-", 3)) {
		o = find_name(w->table, word + 3, len - 3);
		if (o && !(o->flags & OPTION_NEGATABLE))
			o = NULL;
		on = false;
	}
	if (!o)
		return refuse_name(w, word, len);
	if (o->kind == OPTION_FOREIGN)
		return coati_fail(w->err, -EINVAL, "unknown option --%s: %s", o->name, o->help);
	if (o->arg)
		return word[len] ? set_value(w, o, word + len + 1) : take_value(w, o);
	if (word[len])
		return coati_fail(w->err, -EINVAL, "%s takes no value",
				  option_label(o, label, sizeof(label)));
	set_flag(w, o, on);
	return 0;
}

/* Letters that stand together: flags, and at the end perhaps one that takes the rest or the next
 * word. */
static int walk_short(struct walk *w, const char *letters)
{
	for (const char *p = letters; *p && !w->line->help; p++) {
		const struct option *o = find_letter(w->table, *p);
		char one[2] = { *p, 0 }, quoted[16];

		if (!o)
			return coati_fail(w->err, -EINVAL, "unknown option letter %s",
					  coati_quote(one, quoted, sizeof(quoted)));
		if (o->kind == OPTION_FOREIGN)
			return coati_fail(w->err, -EINVAL, "unknown option -%c: %s", *p, o->help);
		if (o->arg)
			return p[1] ? set_value(w, o, p + 1) : take_value(w, o);
		set_flag(w, o, true);
	}
	return 0;
}

static int walk_word(struct walk *w, int *nr, bool *ended)
{
	char *word = w->line->argv[w->at++];

	if (*ended || word[0] != '-' || !word[1]) {
		w->line->argv[(*nr)++] = word;
		*ended = *ended || w->line->stops;
		return 0;
	}
	if (word[1] != '-')
		return walk_short(w, word + 1);
	if (word[2])
		return walk_long(w, word + 2);
	*ended = true;
	w->line->dashes = true;
	return 0;
}

int coati_options_parse(const struct option *table, struct option_line *line, void *args,
			struct coati_error *err)
{
	struct walk w = { .table = table, .line = line, .args = args, .err = err };
	bool ended = false;
	int nr = 0;

	line->help = false;
	line->dashes = false;
	while (w.at < line->argc && !line->help) {
		int r = walk_word(&w, &nr, &ended);

		if (r < 0)
			return r;
	}
	line->argc = nr;
	return 0;
}

void coati_options_fini(const struct option *table, void *args)
{
	for (const struct option *o = table; o->kind; o++) {
		void *member = (char *)args + o->offset;

		if (o->kind == OPTION_TEXTS)
			ARRAY_FINI((struct option_texts *)member);
		else if (o->kind == OPTION_IDS)
			ARRAY_FINI((struct option_ids *)member);
	}
}

static void help_line(const struct option *o, struct strbuf *out)
{
	size_t start = out->len, used;

	if (o->letter)
		coati_strbuf_printf(out, "  -%c, --", o->letter);
	else
		coati_strbuf_adds(out, "      --");
	if (o->flags & OPTION_NEGATABLE)
		coati_strbuf_adds(out, "[no-]");
	coati_strbuf_printf(out, "%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
	used = out->len - start;
	coati_strbuf_pad(out, ' ', used < 26 ? 28 - used : 2);
	coati_strbuf_printf(out, "%s\n", o->help);
}

void coati_options_help(const struct option *table, struct strbuf *out)
{
	for (const struct option *o = table; o->kind; o++) {
		if (o->kind == OPTION_HEAD)
			coati_strbuf_printf(out, "%s:\n", o->name);
		else if (coati_option_is_shown(o))
			help_line(o, out);
	}
}
