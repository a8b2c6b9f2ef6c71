/* SPDX-License-Identifier: MIT */
/* see database.h */
#include "cli/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/agent/segments.h"
#include "cli/input.h"
#include "cli/talk.h"
#include "fleet/fetch.h"
#include "fleet/place.h"

#define DATABASES_MAX 64
#define HOUR_NS	      (3600 * NSEC_PER_SEC)

struct database {
	const char *text; /* as it was named */
	struct fetch fetch;
	bool keep;
};

static ARRAY(struct database) databases = ARRAY_INIT(DATABASES_MAX);

bool coati_database_needs(const struct source_args *a, enum coati_by by)
{
	const struct coati_filter *f = &a->filter;

	return by == COATI_BY_THREAD || by == COATI_BY_PROCESS || by == COATI_BY_COMM ||
	       by == COATI_BY_LABEL || f->thread || f->process || f->comm || f->label;
}

/* "URL@FROM..TO" to its parts; @url has room for all of it. */
static void split(const char *text, char *url, struct database_query *q)
{
	size_t len = strlen(text) + 1;
	char *slash, *at, *dots;

	memcpy(url, text, len);
	slash = strrchr(url, '/');
	at = slash ? strchr(slash, '@') : NULL;
	dots = at ? strstr(at, "..") : NULL;
	if (!dots)
		return;
	*at = *dots = 0;
	if (at[1])
		q->from = at + 1;
	if (dots[2])
		q->to = dots + 2;
}

/* Whole seconds, as the tables have them. */
static int parse_range(const struct database_query *q, struct fetch_opts *o,
		       struct coati_error *err)
{
	uint64_t now = clock_ns(CLOCK_REALTIME), from, to = now + NSEC_PER_SEC;
	int r = q->to ? coati_wall_parse(q->to, now, &to, err) : 0;

	from = to - HOUR_NS;
	if (r == 0 && q->from)
		r = coati_wall_parse(q->from, now, &from, err);
	if (r < 0)
		return r;
	o->from_s = from / NSEC_PER_SEC;
	o->to_s = to / NSEC_PER_SEC;
	if (o->from_s >= o->to_s)
		return coati_fail(err, -EINVAL, "--from %s is not before --to %s",
				  q->from ? q->from : "an hour ago", q->to ? q->to : "now");
	return 0;
}

static int fetch_one(const char *text, const struct database_query *asked, struct fetch *ret,
		     struct coati_error *err)
{
	char *url = coati_alloc(strlen(text) + 1);
	struct database_query q = *asked;
	struct fetch_opts o = { .url = url, .secrets = getenv("COATI_SECRETS") };
	int r;

	if (!url)
		return coati_fail(err, -ENOMEM, "out of memory");
	split(text, url, &q);
	o.service = q.service;
	o.with_contexts = q.with_contexts;
	o.with_times = q.with_times;
	r = parse_range(&q, &o, err);
	if (r == 0)
		r = coati_fetch_ask(&o, ret, err);
	coati_free(url);
	return r;
}

static struct database *find(const char *text)
{
	for (size_t i = 0; i < databases.len; i++)
		if (!strcmp(databases.v[i].text, text))
			return &databases.v[i];
	return NULL;
}

int coati_database_fetch(const struct option_texts *files, const struct database_query *q)
{
	struct coati_error err = { 0 };

	for (size_t i = 0; i < files->len; i++) {
		const char *text = files->v[i].text;
		struct database *d;
		struct fetch f;
		int r;

		if (!coati_place_is(text) || find(text))
			continue;
		r = fetch_one(text, q, &f, &err);
		d = r == 0 ? ARRAY_ADD(&databases) : NULL;
		if (r == 0 && !d) {
			coati_fetch_fini(&f);
			r = coati_fail(&err, -E2BIG, "more than %d databases", DATABASES_MAX);
		}
		if (r < 0) {
			coati_say("%s", err.text);
			return r;
		}
		*d = (struct database){ .text = text, .fetch = f, .keep = q->keep };
	}
	return 0;
}

int coati_database_read(const char *path, struct coati_profile *p, struct coati_error *err)
{
	struct database *d = find(path);
	int r;

	if (!d)
		return -ENOENT;
	r = coati_fetch_unfold(&d->fetch, p, err);
	if (d->keep)
		return r;
	coati_fetch_fini(&d->fetch);
	*d = databases.v[--databases.len];
	if (!databases.len)
		ARRAY_FINI(&databases);
	return r;
}
