/* SPDX-License-Identifier: MIT */
/*
 * A list of events on many targets. A unit is what is opened together: a lone event, or a group. A
 * slot is one open event; the slots of one unit on one target lie side by side, leader first.
 */
#pragma once

#include <stdbool.h>

#include <coati/event.h>

#include "base/array.h"
#include "event/calls.h"
#include "event/set-target.h"

uint32_t coati_set_count(const struct coati_set *set);

/* COATI_DROP_* over all entries of event @event. */
uint32_t coati_set_event_dropped(const struct coati_set *set, uint32_t event);

#define SET_SLOTS_MAX (1u << 20)

struct set_event {
	struct coati_attr attr;	   /* to be opened; after the first opening: as negotiated */
	struct coati_error *error; /* why it is open nowhere */
	uint32_t dropped;
	uint32_t nr_open;
	uint32_t flags; /* COATI_EVENT_* */
	bool skip;	/* a tool event, or one that this machine does not have */
	uint64_t *cpus; /* NULL: anywhere */
};

struct set_unit {
	uint32_t first, nr;
	bool weak, broken;
};

struct set_slot {
	uint32_t event;
	uint32_t leader; /* slot of the leader: itself when alone */
	int32_t tid, cpu;
	struct coati_event *handle;
	struct coati_count count; /* from the last read of the whole group */
	bool fresh;		  /* which was not asked for yet */
};

struct coati_set {
	const struct event_calls *calls;
	const struct coati_event_list *list;
	struct coati_set_opts opts;
	struct set_targets targets;
	struct set_event *events;
	uint32_t nr_events;
	struct set_unit *units;
	uint32_t nr_units;
	ARRAY(struct set_slot) slots;
	struct coati_count *counts; /* room for the largest group */
	uint32_t nr_counts;
};

/* coati_set_open() with the kernel as a parameter. */
struct set_request {
	const struct event_calls *calls;
	const struct coati_event_list *list;
	const struct coati_set_opts *opts;
};
int coati_set_request(const struct set_request *req, struct coati_set **ret,
		      struct coati_error *err);

/* Open all units on targets @from and later. */
int coati_set_open_targets(struct coati_set *set, size_t from, struct coati_error *err);
/* Forget all slots, as before the first opening. */
void coati_set_close_slots(struct coati_set *set);
