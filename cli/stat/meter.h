/* SPDX-License-Identifier: MIT */
/*
 * The meter of coati stat: a list of events, opened on targets, read into cells. A cell is one
 * event in one scope (everything, one CPU or one thread); places of one event (USDT), its threads
 * and its CPUs are added up, each scaled by itself. Between two readings the difference is formed
 * per opened event, before scaling.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/event.h>

#include "cli/stat/args.h"

struct stat_event { /* one event as it is shown */
	const struct coati_event_desc *desc;
	char *name;	  /* as typed, with :u when it had to fall back to user space */
	uint32_t first;	  /* index of its first place in the list */
	uint32_t dropped; /* COATI_DROP_* */
	bool hidden;	  /* one of the default set that this machine does not have */
	char *error;	  /* why it is not counted, NULL when it is */
};

struct stat_cell {
	uint32_t event;	  /* index into stat_meter.events */
	int32_t tid, cpu; /* -1: all */
	bool counted;	  /* count means something */
	bool scaled;	  /* ran only for a part of its time */
	uint64_t raw;	  /* what the kernel counted */
	uint64_t count;	  /* that, scaled up */
	uint64_t enabled_ns, running_ns, lost;
};

struct stat_tally {		 /* one reading */
	struct stat_cell *cells; /* by scope, then in the order of the events */
	uint32_t nr_cells;
	uint64_t start_ns, end_ns; /* since counting began */
	uint64_t user_ns, sys_ns;
	bool has_usage; /* user_ns and sys_ns are known */
};

struct stat_scope { /* what is counted apart */
	int32_t tid, cpu;
	char comm[20]; /* of the thread */
};

struct stat_meter {
	const struct stat_args *args;
	struct coati_event_list *list;
	struct coati_set *set;
	bool is_default;	   /* these events were not asked for by name */
	struct stat_event *events; /* nr_events */
	uint32_t nr_events;
	uint32_t *event_of;	   /* per event of the list: places of one event share theirs */
	struct stat_scope *scopes; /* nr_scopes */
	uint32_t nr_scopes;
	uint32_t *cell_of;	  /* per entry of the set */
	struct coati_count *last; /* per entry, of the last interval */
};

/* Parse the events of @args, or take the default set. err->column is that of the event text
 * *ret_text. */
int coati_meter_init(struct stat_meter *m, const struct stat_args *args, const char **ret_text,
		     struct coati_error *err);
/* Open them on the targets of @args, or on @child when it is > 0 (started by its exec unless there
 * is a delay). */
int coati_meter_open(struct stat_meter *m, int32_t child, struct coati_error *err);
/* Number of events that are really counted. */
uint32_t coati_meter_nr_counted(const struct stat_meter *m);
/* Read all: since the last interval reading when @interval, else since the start. @t comes zeroed
 * or from an earlier reading; free with coati_stat_tally_fini(). */
int coati_meter_read(struct stat_meter *m, bool interval, struct stat_tally *t,
		     struct coati_error *err);
/* Close the events, for the next repeat. */
void coati_meter_close(struct stat_meter *m);
void coati_meter_fini(struct stat_meter *m);

/* Give the events that the tool measures by itself (duration_time, ...) their counts. */
void coati_stat_tally_fill_tool(const struct stat_meter *m, struct stat_tally *t);
void coati_stat_tally_fini(struct stat_tally *t);

/* Is the count a time in nanoseconds? */
bool coati_stat_is_time(const struct stat_event *e);
