/* SPDX-License-Identifier: MIT */
/*
 * Which processes live, among those that are recorded. In: forks and ends as the kernel tells them.
 * Out: whom a recording that begins in the middle must describe.
 */
#pragma once

#include <stdint.h>

#include "base/map.h"

#define TASKS_MAX (1u << 22)

struct tasks {
	struct map pids;
	bool on; /* else nothing is remembered */
};

static inline void tasks_init(struct tasks *t, bool on)
{
	t->on = on;
	coati_map_init(&t->pids, TASKS_MAX);
}

static inline void tasks_fini(struct tasks *t)
{
	coati_map_fini(&t->pids);
}

/* A failure to remember costs the description of one process, not the recording. */
static inline void tasks_started(struct tasks *t, uint32_t pid, uint32_t tid)
{
	if (t->on && pid == tid)
		(void)coati_map_put(&t->pids, pid, 1);
}

static inline void tasks_ended(struct tasks *t, uint32_t pid, uint32_t tid)
{
	if (t->on && pid == tid)
		(void)coati_map_del(&t->pids, pid);
}
