/* SPDX-License-Identifier: MIT */
/*
 * A window on its way to ClickHouse: the RowBinary of its rows for each table, what is needed to
 * ask whether they have arrived, and the sums that are reported when they never do. A parcel has a
 * form as bytes, in which it waits on disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "agent/window.h"
#include "base/strbuf.h"
#include "fleet/schema.h"

#define PARCEL_TABLE_MAX (64u << 20) /* bytes of one table in one parcel */

struct parcel {
	char *agent, *host;
	/* Several windows only when they were dropped: then the last one. */
	uint64_t first_sequence, sequence;
	uint64_t time_s, duration_ms;
	uint64_t windows;
	bool stored; /* false: its rows were dropped, the sums are left */
	uint64_t samples, intervals, rows;
	/* The first row of ROWS and of TASKS: the tables are ordered by it. A table with rows has
	 * all of them or none. */
	char *service, *type;
	uint64_t stack, context;
	char *task_service, *task;
	struct strbuf tables[SCHEMA_SENT];
};

void coati_parcel_init(struct parcel *p);
void coati_parcel_fini(struct parcel *p);
uint64_t coati_parcel_bytes(const struct parcel *p);

/* Are they of the same window? */
bool coati_parcel_same(const struct parcel *a, const struct parcel *b);

/* As bytes behind what @s holds, and back. -EBADMSG: it is none, or damaged. */
void coati_parcel_write(const struct parcel *p, struct strbuf *s);
int coati_parcel_read(struct parcel *p, const void *bytes, size_t size);

/* Let its rows and tasks go, and keep the sums, the stacks and the contexts, which later windows
 * may refer to; without @with_names these go, too. -ENOMEM. */
int coati_parcel_drop(struct parcel *p, bool with_names);
/* Of one that was dropped the server turns out to have the rows: the window says so. -ENOMEM. */
int coati_parcel_keep(struct parcel *p);
/* Add the sums of @older, which was dropped right before @p, to those of @p, which was dropped,
 * too. -ENOMEM. */
int coati_parcel_join(struct parcel *p, const struct parcel *older);
/* Its partition: windows of one insert must be of one day (UTC). */
static inline uint64_t parcel_day(const struct parcel *p)
{
	return p->time_s / 86400;
}
