/* SPDX-License-Identifier: MIT */
/*
 * The conditions of a filter that a sample can be asked for: threads, processes, CPUs, events,
 * labels, time. Taken apart once; the questions afterwards are cheap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/profile.h>

#include "base/array.h"
#include "reading/parts.h"

#define CONDITION_CPUS_MAX 8192
#define CONDITION_TEXT_MAX 65536
#define CONDITION_NAME_MAX 4096 /* of a region that is asked for */

/* A list of names and numbers, separated by commas. No list (v == NULL): everything. */
struct words {
	char *text; /* cut into words at the commas */
	ARRAY(const char *) list;
};

/* One end of a range of time. */
struct time_point {
	enum {
		TIME_NONE = 0,
		TIME_SINCE_START,
		TIME_PER_MILLION,
		TIME_ABSOLUTE,
		TIME_WALL, /* since 1970: of each recording another time of its clock */
	} kind;
	uint64_t value; /* ns, or millionths of the whole */
};

struct conditions {
	struct words threads, processes, comms, events, labels, tasks, regions, waits;
	uint64_t *cpus; /* bitmap, NULL: all */
	struct time_point from, to;
	const struct service_rules *rules; /* NULL: none */
};

/* -EINVAL, -E2BIG with a sentence, -ENOMEM. */
int coati_conditions_init(struct conditions *c, const struct coati_filter *f,
			  struct coati_error *err);
void coati_conditions_fini(struct conditions *c);
bool coati_conditions_thread(const struct conditions *c, const struct coati_profile_thread *t);
bool coati_conditions_event(const struct conditions *c, const char *name);
/* Of @labels, or that follow from the thread; and its service is not one that is dropped. */
bool coati_conditions_labels(const struct conditions *c, const struct coati_label *labels,
			     uint32_t nr, const struct coati_profile_thread *t);
/* Is anything asked of labels? */
static inline bool conditions_want_labels(const struct conditions *c)
{
	return c->labels.list.len || c->tasks.list.len || c->regions.list.len;
}
/* What it waited for: coati_wait_name(). */
bool coati_conditions_wait(const struct conditions *c, const char *name);
/* @cpu -1: not known. */
bool coati_conditions_cpu(const struct conditions *c, int32_t cpu);
/* The same.  Hot. */
static inline bool conditions_cpu(const struct conditions *c, int32_t cpu)
{
	return !c->cpus || coati_conditions_cpu(c, cpu);
}
/* Does it need to be known when the recording ends? */
bool coati_conditions_need_end(const struct conditions *c);
/* The range of time on the clock of a recording that goes from @first to @last: both ends belong to
 * it. */
void coati_conditions_time(const struct conditions *c, uint64_t first, uint64_t last,
			   uint64_t *ret_from, uint64_t *ret_to);
