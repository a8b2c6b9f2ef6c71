/* SPDX-License-Identifier: MIT */
/* A pattern comes in, the name of a file goes out: %p process, %t start, %n program, %c number of
 * the profile, %{VARIABLE}, %%. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "live/auto/auto.h"

bool coati_auto_name_has(const char *pattern, char letter)
{
	for (; *pattern; pattern++)
		if (pattern[0] == '%' && pattern[1]) {
			pattern++;
			if (*pattern == letter)
				return true;
		}
	return false;
}

/* @text as one part of a path. */
static void add_part(struct strbuf *s, const char *text)
{
	if (!text || !*text)
		text = "unknown";
	for (; *text; text++)
		coati_strbuf_addc(s, *text == '/' ? '_' : *text);
}

static void add_time(struct strbuf *s, time_t when)
{
	struct tm t;

	if (gmtime_r(&when, &t))
		coati_strbuf_printf(s, "%04d%02d%02d-%02d%02d%02d", t.tm_year + 1900, t.tm_mon + 1,
				    t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
	else
		coati_strbuf_i64(s, when);
}

/* "{NAME}..." at @at: how long it is, or negative. */
static int add_variable(struct strbuf *s, const char *at, auto_getenv_fn get,
			struct coati_error *err)
{
	char name[128];
	size_t len = strcspn(at + 1, "}%{");
	const char *value;

	if (at[1 + len] != '}' || !len || len >= sizeof(name))
		return coati_fail(
			err, -EINVAL,
			AUTO_VARIABLE
			": %%{ needs the name of a variable and }, without another %%{ inside: "
			"%%%.100s",
			at);
	memcpy(name, at + 1, len);
	name[len] = '\0';
	value = get(name);
	if (!value || !*value)
		return coati_fail(
			err, -ENOENT,
			AUTO_VARIABLE ": %%{%s}: there is no such variable, or it is empty", name);
	coati_strbuf_adds(s, value);
	return (int)len + 2;
}

/* What stands behind a %: how long it is, or negative. */
static int add_field(struct strbuf *s, const char *at, const struct auto_facts *facts,
		     auto_getenv_fn get, struct coati_error *err)
{
	switch (*at) {
	case '%':
		coati_strbuf_addc(s, '%');
		return 1;
	case 'p':
		coati_strbuf_i64(s, facts->pid);
		return 1;
	case 't':
		add_time(s, facts->start);
		return 1;
	case 'n':
		add_part(s, facts->program);
		return 1;
	case 'c':
		coati_strbuf_u64(s, facts->count);
		return 1;
	case '{':
		return add_variable(s, at, get, err);
	default:
		return coati_fail(
			err, -EINVAL,
			AUTO_VARIABLE
			": %%%.1s is unknown; there are %%p, %%t, %%n, %%c, %%{VARIABLE} and %%%%",
			at);
	}
}

int coati_auto_name_expand(const char *pattern, const struct auto_facts *facts, auto_getenv_fn get,
			   struct strbuf *ret, struct coati_error *err)
{
	for (const char *at = pattern; *at && !ret->failed;) {
		size_t plain = strcspn(at, "%");
		int r;

		coati_strbuf_add(ret, at, plain);
		at += plain;
		if (!*at)
			break;
		r = add_field(ret, at + 1, facts, get, err);
		if (r < 0)
			return r;
		at += 1 + r;
	}
	if (facts->count > 1 && !coati_auto_name_has(pattern, 'c'))
		coati_strbuf_printf(ret, ".%u", facts->count);
	if (ret->failed)
		return coati_fail(err, ret->failed == -E2BIG ? -ENAMETOOLONG : ret->failed,
				  AUTO_VARIABLE ": %.60s...: %m", ret->text);
	return 0;
}

void coati_auto_name_for_children(const char *pattern, struct strbuf *ret)
{
	coati_strbuf_printf(ret, "+%s%s", pattern, coati_auto_name_has(pattern, 'p') ? "" : ".%p");
}
