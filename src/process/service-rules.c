/* SPDX-License-Identifier: MIT */
/* Rules of an operator about services: see service.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/match.h"
#include "process/service.h"

#define RULES_MAX 1024
#define TEXT_MAX  1024

void coati_service_rules_init(struct service_rules *r)
{
	*r = (struct service_rules){ .v = ARRAY_INIT(RULES_MAX) };
}

void coati_service_rules_fini(struct service_rules *r)
{
	for (size_t i = 0; i < r->v.len; i++) {
		coati_free(r->v.v[i].text);
		coati_free(r->v.v[i].pattern);
		coati_free(r->v.v[i].name);
	}
	ARRAY_FINI(&r->v);
}

/* The next word; *text is behind it. */
static size_t next_word(const char **text, const char **ret)
{
	size_t len;

	*text += strspn(*text, " \t");
	len = strcspn(*text, " \t");
	*ret = *text;
	*text += len;
	return len;
}

static int add(struct service_rules *r, const char *text, const char *words[2],
	       const size_t lens[2], struct coati_error *err)
{
	struct service_rule *rule = ARRAY_ADD(&r->v);

	if (!rule)
		return r->v.len >= RULES_MAX
			       ? coati_fail(err, -E2BIG, "more than %d rules for services",
					    RULES_MAX)
			       : coati_fail(err, -ENOMEM, "out of memory");
	rule->text = coati_strdup(text);
	rule->pattern = coati_strndup(words[0], lens[0]);
	rule->name = words[1] ? coati_strndup(words[1], lens[1]) : NULL;
	if (!rule->text || !rule->pattern || (words[1] && !rule->name)) {
		coati_free(rule->text);
		coati_free(rule->pattern);
		coati_free(rule->name);
		r->v.len--;
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int coati_service_rules_add(struct service_rules *r, const char *text, struct coati_error *err)
{
	const char *verb, *words[2] = { NULL, NULL }, *p = text, *rest;
	size_t verb_len, lens[2] = { 0, 0 };
	bool drops;

	if (strlen(text) > TEXT_MAX)
		return coati_fail(err, -EINVAL, "rule is longer than %d bytes", TEXT_MAX);
	verb_len = next_word(&p, &verb);
	drops = verb_len == 4 && !strncmp(verb, "drop", 4);
	if (!drops && !(verb_len == 6 && !strncmp(verb, "rename", 6)))
		return coati_fail(err, -EINVAL,
				  "rule \"%s\": write drop PATTERN or rename PATTERN NAME", text);
	lens[0] = next_word(&p, &words[0]);
	if (!drops)
		lens[1] = next_word(&p, &words[1]);
	if (!lens[0] || (!drops && (!lens[1] || lens[1] >= SERVICE_NAME_MAX)) ||
	    next_word(&p, &rest))
		return coati_fail(err, -EINVAL, "rule \"%s\": write %s", text,
				  drops ? "drop PATTERN" : "rename PATTERN NAME");
	return add(r, text, words, lens, err);
}

bool coati_service_rules_has(const struct service_rules *r, const char *text)
{
	for (size_t i = 0; i < r->v.len; i++)
		if (!strcmp(r->v.v[i].text, text))
			return true;
	return false;
}

bool coati_service_rules_apply(const struct service_rules *r, const char *cgroup, struct service *s)
{
	for (size_t i = 0; i < r->v.len; i++) {
		const struct service_rule *rule = &r->v.v[i];

		if (!coati_glob_match(rule->pattern, s->name) &&
		    !(cgroup && coati_glob_match(rule->pattern, cgroup)))
			continue;
		if (!rule->name)
			return false;
		snprintf(s->name, sizeof(s->name), "%s", rule->name);
		return true;
	}
	return true;
}
