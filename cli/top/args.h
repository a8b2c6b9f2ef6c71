/* SPDX-License-Identifier: MIT */
/* What was asked of coati top: filled from the command line, read by everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "cli/store.h"
#include "cli/top/rows.h"

/* Whether inlined functions are rows of their own. */
enum top_inlines { TOP_INLINES_AUTO = 0, TOP_INLINES_ALWAYS, TOP_INLINES_NEVER };

struct top_args {
	struct option_ids pids, tids;
	bool all;
	const char *cpus;
	const char *event;
	uint64_t freq;
	int stacks;
	bool off_cpu;
	int inlines; /* enum top_inlines */
	const char *by_text;
	enum top_by by;	   /* of by_text */
	const char *label; /* BY_LABEL: its key; NULL: the first that comes */
	const char *filter;
	uint64_t interval_ns, window_ns, history_ns, duration_ns;
	uint64_t memory;
	bool once, json, strict;
	uint32_t limit;
	const char *out;
	const char *store;	  /* of an agent */
	struct store_range range; /* of it */
	const char *service;	  /* of a database */
	int color;		  /* enum color_mode */
	bool quiet;
	char **command;
};

#define TOP_DEFAULT_HZ 99

/* Samples a second on each CPU. */
static inline uint64_t top_rate(const struct top_args *a)
{
	return a->freq ? a->freq : TOP_DEFAULT_HZ;
}

/* Is the command itself watched, or does it only give the time? */
static inline bool top_takes_command(const struct top_args *a)
{
	return a->command && !a->all && !a->cpus && !a->pids.len && !a->tids.len;
}
