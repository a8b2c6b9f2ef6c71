/* SPDX-License-Identifier: MIT */
/*
 * Rows of windows back into a profile, the one that recordings are read into: stacks with the names
 * they were stored with, threads, labels and weights. Files of this machine are not asked.
 *
 *	coati_unfold_begin(&u, profile, "clickhouse://db/coati", &err);
 *	coati_unfold_stack(&u, &stack, &number);
 *	coati_unfold_add(&u, &row);
 *	coati_unfold_end(&u);
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>
#include <coati/profile.h>

#include "agent/window.h"
#include "base/map.h"

#define UNFOLD_FRAMES 1024

struct unfold {
	struct coati_profile *profile;
	uint32_t file;
	struct map groups;    /* names at one address to their location */
	struct map addresses; /* image and address to how many groups it has */
	struct map tasks;     /* thread to its number */
	uint32_t nr_tasks;
	uint32_t *locations;
	uint64_t start_s; /* what bins of time count from */
};

struct unfold_frames {
	const struct agent_frame *v; /* innermost first */
	uint32_t nr;
	uint32_t flags; /* AGENT_STACK_* */
};

struct unfold_row {
	uint32_t stack; /* of coati_unfold_stack() */
	const char *event, *unit;
	uint32_t is_off_cpu;
	const char *service, *host, *process, *thread;
	int32_t pid;
	const struct coati_label *labels;
	uint32_t nr_labels;
	uint64_t samples, weight;
	uint64_t time_s; /* of its window, since 1970; 0: not kept apart */
};

int coati_unfold_begin(struct unfold *u, struct coati_profile *p, const char *title,
		       struct coati_error *err);
/* Its number in the profile. -ENOMEM, -E2BIG. */
int coati_unfold_stack(struct unfold *u, const struct unfold_frames *s, uint32_t *ret);
int coati_unfold_add(struct unfold *u, const struct unfold_row *r);
/* Bins of time count from here: no row is earlier. */
void coati_unfold_start(struct unfold *u, uint64_t start_s);
/* What the windows say about their quality. */
void coati_unfold_quality(struct unfold *u, uint64_t lost, uint64_t throttled, uint64_t own_cpu_ns);
void coati_unfold_end(struct unfold *u);
/* All of a window. */
int coati_unfold_window(struct unfold *u, const struct agent_window *w);
