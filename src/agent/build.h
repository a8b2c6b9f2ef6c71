/* SPDX-License-Identifier: MIT */
/*
 * Building a window: samples of feeds that lie before its end go in, with what is known of their
 * threads, cgroups and labels; rows with tables go out. What was taken is gone from the feeds.
 */
#pragma once

#include "agent/feed.h"
#include "agent/window.h"
#include "base/arena.h"
#include "process/service.h"
#include "reading/index.h"

#define BUILD_FEEDS 2

/* What rows refer to, with an index each. */
struct build_table {
	struct index index;
};

struct agent_build {
	struct agent_window window; /* valid until the next call */
	const struct service_rules *rules;
	bool inlines, lines;
	uint32_t max_services;
	/* inside */
	struct arena arena;
	ARRAY(struct agent_row) rows;
	ARRAY(struct agent_frame) frames;
	ARRAY(struct agent_stack) stacks;
	ARRAY(struct agent_labels) labels;
	ARRAY(struct agent_service) services;
	ARRAY(struct agent_process) processes;
	ARRAY(struct agent_event) events;
	ARRAY(struct agent_tasks) tasks;
	struct index row_index, stack_index, label_index;
	struct map service_names, process_ids, thread_names, cgroups;
	struct coati_view *views[BUILD_FEEDS][2]; /* of each feed: on and off the CPUs */
};

void coati_agent_build_init(struct agent_build *b);
void coati_agent_build_fini(struct agent_build *b);
/* Free the window; how it is built stays. */
void coati_agent_build_clear(struct agent_build *b);
/* Build the window that ends at @end_ns (CLOCK_MONOTONIC): rows, tables and the part of
 * window.quality that counts samples. Tasks of @live that ended before are taken, too. -ENOMEM. */
int coati_agent_build(struct agent_build *b, struct agent_feed *const *feeds, uint32_t nr,
		      struct agent_live *live, uint64_t end_ns);
/* The service of a process that runs, by its cgroup in /proc; its number, or UINT32_MAX: dropped,
 * or no memory. */
uint32_t coati_agent_build_service_of(struct agent_build *b, int32_t pid, const char *program);
