/* SPDX-License-Identifier: MIT */
/* The formats by number, name and ending. */
#include "format/format.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/match.h"
#include "base/strbuf.h"
#include "format/export.h"

/* The table: one line for each that is built. */
static const struct format *const formats[COATI_FORMAT_COUNT] = {
	[COATI_FORMAT_PPROF] = &coati_format_pprof,
	[COATI_FORMAT_FOLDED] = &coati_format_folded,
	[COATI_FORMAT_SPEEDSCOPE] = &coati_format_speedscope,
	[COATI_FORMAT_FIREFOX] = &coati_format_firefox,
	[COATI_FORMAT_PERFETTO] = &coati_format_perfetto,
	[COATI_FORMAT_CHROME] = &coati_format_chrome,
	[COATI_FORMAT_OTLP] = &coati_format_otlp,
	[COATI_FORMAT_PERFDATA] = &coati_format_perfdata,
	[COATI_FORMAT_JSON] = &coati_format_json,
};

const struct format *coati_format_get(enum coati_format format)
{
	return format < COATI_FORMAT_COUNT ? formats[format] : NULL;
}

const char *coati_format_name(enum coati_format format)
{
	const struct format *f = coati_format_get(format);

	return f ? f->name : NULL;
}

const char *coati_format_suffix(enum coati_format format)
{
	const struct format *f = coati_format_get(format);

	return f ? f->suffix : NULL;
}

int coati_format_is_binary(enum coati_format format)
{
	const struct format *f = coati_format_get(format);

	return f && f->flags & FORMAT_BINARY;
}

/* "a, b and c" of all that there are. */
static void list_names(struct strbuf *s)
{
	const char *last = NULL;

	for (unsigned int i = 0; i < COATI_FORMAT_COUNT; i++) {
		if (!formats[i])
			continue;
		if (last)
			coati_strbuf_printf(s, "%s%s", s->len ? ", " : "", last);
		last = formats[i]->name;
	}
	coati_strbuf_printf(s, "%s%s", s->len ? " and " : "", last ? last : "none");
}

int coati_format_parse(const char *name, enum coati_format *ret, struct coati_error *err)
{
	struct nearest near = coati_nearest_to(name);
	struct strbuf all = STRBUF_INIT(1024);

	for (unsigned int i = 0; i < COATI_FORMAT_COUNT; i++) {
		if (!formats[i])
			continue;
		if (!strcmp(name, formats[i]->name)) {
			*ret = (enum coati_format)i;
			return 0;
		}
		coati_nearest_offer(&near, formats[i]->name);
	}
	if (near.best)
		return coati_fail(err, -EINVAL, "there is no format \"%.100s\"; did you mean %s?",
				  name, near.best);
	list_names(&all);
	coati_fail(err, -EINVAL, "there is no format \"%.100s\"; there are %s", name, all.text);
	coati_strbuf_fini(&all);
	return -EINVAL;
}

/* Endings that others use, besides our own. */
static const struct {
	const char *suffix;
	enum coati_format format;
} endings[] = {
	{ ".pprof", COATI_FORMAT_PPROF },	   { ".pb.gz", COATI_FORMAT_PPROF },
	{ ".folded", COATI_FORMAT_FOLDED },	   { ".collapsed", COATI_FORMAT_FOLDED },
	{ ".stacks", COATI_FORMAT_FOLDED },	   { ".speedscope", COATI_FORMAT_SPEEDSCOPE },
	{ ".pftrace", COATI_FORMAT_PERFETTO },	   { ".perfetto-trace", COATI_FORMAT_PERFETTO },
	{ ".data", COATI_FORMAT_PERFDATA },	   { ".pb", COATI_FORMAT_PPROF },
	{ ".firefox.json", COATI_FORMAT_FIREFOX },
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && !strcmp(text + len - end_len, end);
}

/* The longest wins: x.speedscope.json is no .json. */
static void offer_ending(const char *path, const char *suffix, unsigned int format,
			 size_t *best_len, unsigned int *best)
{
	if (formats[format] && ends_with(path, suffix) && strlen(suffix) > *best_len) {
		*best_len = strlen(suffix);
		*best = format;
	}
}

enum coati_format coati_format_guess(const char *path)
{
	unsigned int best = COATI_FORMAT_UNKNOWN;
	size_t len = 0;

	for (unsigned int i = 0; i < COATI_FORMAT_COUNT; i++)
		if (formats[i])
			offer_ending(path, formats[i]->suffix, i, &len, &best);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		offer_ending(path, endings[i].suffix, endings[i].format, &len, &best);
	return (enum coati_format)best;
}
