/* SPDX-License-Identifier: MIT */
/*
 * The list of events behind coati_event_list_*. What one call of add brings lives in a batch with
 * an arena of its own, so that a failing add is taken back whole.
 */
#pragma once

#include <limits.h>

#include <coati/event.h>

#include "base/arena.h"
#include "base/array.h"

uint32_t coati_event_list_count(const struct coati_event_list *list);

#define EVENT_TEXT_MAX	  65536 /* characters of one add */
#define EVENT_LIST_MAX	  16384 /* events of one list */
#define EVENT_GROUP_MAX	  256	/* members of one group */
#define EVENT_BATCH_BYTES (32 << 20)

struct event_batch {
	struct event_batch *next;
	struct arena arena;
};

struct coati_event_list {
	char *sysfs, *procfs;
	char *tracefs; /* NULL: look for it */
	ARRAY(struct coati_event_desc) descs;
	struct event_batch *batches; /* the last one first */
	size_t last_start;	     /* first event of the last add */
	int32_t nr_groups;
};
