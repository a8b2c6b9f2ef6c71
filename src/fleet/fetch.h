/* SPDX-License-Identifier: MIT */
/*
 * Profiles out of ClickHouse. The database groups by stack, the client unfolds. Reading has two
 * steps: the first talks to the server and keeps its answers as they are; the second parses them,
 * when the process has confined itself and has no network any more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/profile.h>

#include "base/strbuf.h"

struct fetch_opts {
	const char *url;       /* clickhouse://HOST/DATABASE */
	const char *secrets;   /* file; NULL: the environment alone */
	const char *service;   /* "*" and "?" work as in a shell; NULL: all */
	uint64_t from_s, to_s; /* since 1970; the end is outside */
	/* Keep hosts, processes, threads and labels apart: it takes longer. Without them a thread
	 * has the name of its service. */
	bool with_contexts;
	bool with_times; /* keep windows apart: for tables by time and comparisons */
};

struct fetch {
	char title[512];
	bool with_contexts;
	struct strbuf rows, stacks, contexts, windows, units; /* answers of the server */
	uint64_t from_s;
	bool used_hours; /* a part of it is from coati_rows_hour */
};

/* Ask. -ENODATA: there is nothing for that time and service. */
int coati_fetch_ask(const struct fetch_opts *o, struct fetch *ret, struct coati_error *err);
/* Parse the answers into @p. -EBADMSG: they are not what was asked for. */
int coati_fetch_unfold(const struct fetch *f, struct coati_profile *p, struct coati_error *err);
void coati_fetch_fini(struct fetch *f);
