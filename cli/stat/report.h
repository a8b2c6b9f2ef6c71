/* SPDX-License-Identifier: MIT */
/*
 * One report of coati stat, and the writers that turn it into text, JSON or CSV. A report is about
 * a whole run, the mean of several runs, or one interval.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/child.h>

#include "cli/output.h"
#include "cli/stat/args.h"
#include "cli/stat/meter.h"
#include "cli/stat/spread.h"

struct stat_report {
	const struct stat_args *args;
	const struct stat_meter *meter;
	const struct stat_tally *tally;
	const struct coati_child_status *status; /* NULL: no command, or it still runs */
	const struct stat_spread *spread;	 /* with the last of several runs, else NULL */
	uint32_t run;				 /* from 1 */
	uint32_t interval;			 /* from 1; 0: about the whole run */
};

typedef void (*stat_write_fn)(struct output *out, const struct stat_report *r);

void coati_stat_text(struct output *out, const struct stat_report *r);
/* One line, schema coati.stat.v1. */
void coati_stat_json(struct output *out, const struct stat_report *r);
/* A line of column names before the first report, then a line per cell. */
void coati_stat_csv(struct output *out, const struct stat_report *r);

/* "total", "cpu:3" or "tid:4711". Returns @buf. */
const char *coati_stat_scope(const struct stat_cell *cell, char *buf, size_t size);
/* Part of its enabled time that it really counted, 0 to 1. */
double coati_stat_share(const struct stat_cell *cell);
/* Unit of the count: "ns", that of the PMU, or "". */
const char *coati_stat_unit(const struct stat_event *e);
