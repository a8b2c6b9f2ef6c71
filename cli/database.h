/* SPDX-License-Identifier: MIT */
/*
 * clickhouse://HOST/DATABASE as an input of verbs that look at recordings. The server is asked
 * before the verb confines itself, and what it answered is parsed afterwards.
 *
 *	clickhouse://db/coati			the last hour, or --from and --to
 *	clickhouse://db/coati@-2h..-1h		this time
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>
#include <coati/profile.h>

#include "base/options.h"

struct database_query {
	const char *from, *to; /* NULL: an hour ago, now */
	const char *service;   /* NULL: all */
	/* hosts, processes, threads and labels are needed, not stacks alone */
	bool with_contexts;
	bool with_times; /* windows are kept apart */
	bool keep;	 /* it is read several times */
};

/* Do the filters or the table need more than stacks? */
struct source_args;
bool coati_database_needs(const struct source_args *a, enum coati_by by);
/* Ask for each of @files that is a database. Negative: it was said why. */
int coati_database_fetch(const struct option_texts *files, const struct database_query *q);
/* Is it one that was fetched? Then into the profile. -ENOENT: it is a file. */
int coati_database_read(const char *path, struct coati_profile *p, struct coati_error *err);
