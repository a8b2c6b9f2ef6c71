/* SPDX-License-Identifier: MIT */
/*
 * The segments of an agent's directory, oldest first. In: a directory, and a range of time. Out:
 * the files that may have samples of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/array.h"

struct segment {
	char name[64];
	uint64_t start_ns; /* by its name, since 1970 */
	uint64_t end_ns;   /* when it was written last */
	uint64_t bytes;
};

struct segments {
	ARRAY(struct segment) v;
};

/* All of the directory; files with other names are left alone. -ENOMEM, -E2BIG, -errno. */
int coati_segments_list(struct segments *s, int dir);
void coati_segments_fini(struct segments *s);
/* Is @name that of a segment? *ret_ns: when it began. */
bool coati_segment_time(const char *name, uint64_t *ret_ns);

/* A range of the time of day, ns since 1970; the end is outside. */
struct wall_range {
	uint64_t from_ns, to_ns; /* to 0: no range */
};
/* "-2h", "now", "2026-11-16 14:05", "14:05:30", "@1794931200": 0, or -EINVAL with a sentence. Times
 * without a zone are local. @now_ns: since 1970. */
int coati_wall_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct coati_error *err);
/* Does it have anything of the range? A minute of grace at both ends: clocks are set. */
bool coati_segment_overlaps(const struct segment *s, const struct wall_range *r);
