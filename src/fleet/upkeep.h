/* SPDX-License-Identifier: MIT */
/*
 * Work on the database that is done once or now and then: create the tables or bring older ones up
 * to date, make hours of days that are over, drop days that are too old.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"
#include "fleet/query.h"
#include "fleet/schema.h"

/* The statements that coati_upkeep_schema() would send, as a script. */
void coati_upkeep_print(const struct schema_opts *o, struct strbuf *s);
/* Create what is missing, tables and columns. @ret_changes: how many statements changed
 * something. */
int coati_upkeep_schema(struct server *s, const struct schema_opts *o, uint32_t *ret_changes,
			struct coati_error *err);
/* Make hours of every day before today (UTC) that has none, or whose rows have changed since: late
 * windows. Each day is replaced as a whole, so that doing it twice does no harm. */
int coati_upkeep_hours(struct server *s, uint32_t *ret_days, struct coati_error *err);
/* Drop the days of all tables that are older than @days, and months of stacks and contexts that no
 * row can refer to. For servers without TTL. */
int coati_upkeep_retention(struct server *s, uint32_t days, uint32_t *ret_dropped,
			   struct coati_error *err);
