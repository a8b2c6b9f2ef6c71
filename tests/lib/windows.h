/* SPDX-License-Identifier: MIT */
/*
 * Windows of an agent, made from a seed: the same numbers always give the same windows. For tests
 * of sinks and of what reads them back.
 */
#pragma once

#include <stdint.h>

#include "agent/window.h"

#define WINDOWS_STACKS	 64
#define WINDOWS_FRAMES	 96
#define WINDOWS_ROWS	 200
#define WINDOWS_SERVICES 5

struct windows {
	uint64_t seed;
	uint64_t wall_s;  /* start of window 1, since 1970 */
	uint32_t nr_rows; /* of a window */
	char agent[64];
	const char *host;
	struct coati_label host_labels[1];
	struct agent_frame frames[WINDOWS_FRAMES];
	char names[WINDOWS_FRAMES][24];
	struct agent_stack stacks[WINDOWS_STACKS];
	uint32_t stack_frames[WINDOWS_STACKS][8];
	struct agent_service services[WINDOWS_SERVICES];
	struct agent_process processes[WINDOWS_SERVICES * 2];
	struct agent_labels labels[3];
	struct coati_label label_values[2];
	struct agent_event events[2];
	struct agent_tasks tasks[2];
	struct agent_bucket buckets[3];
	struct agent_row rows[WINDOWS_ROWS];
};

/* @run tells runs of the agent on @host apart. */
void windows_init(struct windows *g, const char *host, uint64_t run, uint64_t wall_s);
/* Window number @sequence, from 1; it lives until the next call. */
void windows_make(struct windows *g, uint64_t sequence, struct agent_window *ret);
