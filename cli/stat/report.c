/* SPDX-License-Identifier: MIT */
/* What the writers share. */
#include "cli/stat/report.h"

#include <stdio.h>

const char *coati_stat_scope(const struct stat_cell *cell, char *buf, size_t size)
{
	if (cell->tid >= 0)
		snprintf(buf, size, "tid:%d", cell->tid);
	else if (cell->cpu >= 0)
		snprintf(buf, size, "cpu:%d", cell->cpu);
	else
		snprintf(buf, size, "total");
	return buf;
}

double coati_stat_share(const struct stat_cell *cell)
{
	return cell->enabled_ns ? (double)cell->running_ns / (double)cell->enabled_ns : 1;
}

const char *coati_stat_unit(const struct stat_event *e)
{
	return coati_stat_is_time(e) ? "ns" : e->desc->unit;
}
