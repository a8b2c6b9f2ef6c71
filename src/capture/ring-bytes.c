/* SPDX-License-Identifier: MIT */
/*
 * How large the ring buffers of a capture are, and how much of each stack is copied into them, from
 * the options, the CPUs and the budget of locked memory.
 */
#include <unistd.h>

#include "base/parse.h"
#include "capture/attr.h"
#include "capture/capture.h"
#include "event/list.h"
#include "ring/budget.h"

#define CPUS_MAX	8192
#define COPIES_MANY	256 /* in a ring at least: a quarter of a second at the usual rate, */
#define COPIES_A_SECOND 4   /* and at any other */
#define COPY_USUAL	16384

/* A thread that leaves the CPUs which are watched may run on others: its switches are taken
 * everywhere. */
const char *coati_capture_switch_cpus(const struct coati_capture_opts *o)
{
	return o->flags & COATI_CAPTURE_OFF_CPU && !o->cgroup ? NULL : o->cpus;
}

/* One for each CPU that will be watched. */
static uint32_t count_rings(const struct coati_capture_opts *o)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t cpus[CPUS_MAX / 64];
	uint32_t nr = 0;

	if (!coati_capture_switch_cpus(o) || coati_parse_cpulist(o->cpus, cpus, CPUS_MAX) < 0)
		nr = online > 0 ? (uint32_t)online : 1;
	else
		for (size_t i = 0; i < CPUS_MAX / 64; i++)
			nr += (uint32_t)__builtin_popcountll(cpus[i]);
	return o->flags & COATI_CAPTURE_OVERWRITE ? 2 * nr : nr;
}

static uint64_t round_up(uint64_t bytes)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < bytes)
		size *= 2;
	return size;
}

/* Are stacks copied into the rings? The walker's few copies fit where its stacks do: it makes no
 * more at once (WALKER_BURST_BYTES). Clearing larger rings takes as long as all else that a short
 * recording does. */
static bool has_copies(const struct coati_event_list *list, const struct coati_capture_opts *o)
{
	if (o->flags & COATI_CAPTURE_OFF_CPU && o->stacks != COATI_STACKS_FP &&
	    o->stacks != COATI_STACKS_NONE && o->stacks != COATI_STACKS_BPF)
		return true;
	for (uint32_t i = 0; i < coati_event_list_count(list); i++) {
		enum coati_stacks s = coati_capture_stacks(coati_event_list_get(list, i), o);

		if (s == COATI_STACKS_TABLE || s == COATI_STACKS_DWARF)
			return true;
	}
	return false;
}

uint64_t coati_capture_ring_bytes(const struct coati_capture *cap)
{
	const struct coati_capture_opts *o = &cap->opts;
	uint32_t nr = count_rings(o) * (cap->twins.nr_lanes ? cap->twins.nr_lanes : 1);
	uint64_t budget;

	if (!o->ring_bytes)
		return round_up(
			coati_rings_default_bytes(nr, has_copies(cap->sets[SET_EVENTS].list, o)));
	budget = coati_ring_budget(nr);
	return round_up(budget && budget < o->ring_bytes ? budget : o->ring_bytes);
}

/* What of the stack is copied for unwinding here: as much as may be, as long as a ring has room for
 * many copies, because the kernel takes the room whole, however short the stack is. A small ring
 * has fewer, and smaller ones. */
uint32_t coati_capture_copy_bytes(const struct coati_capture *cap)
{
	uint64_t ring = coati_capture_ring_bytes(cap), many = cap->opts.freq_hz / COPIES_A_SECOND;
	uint64_t bytes = ring / (many > COPIES_MANY ? many : COPIES_MANY);

	if (bytes < COPY_USUAL)
		bytes = ring / CAPTURE_COPIES_FEW < COPY_USUAL ? ring / CAPTURE_COPIES_FEW
							       : COPY_USUAL;
	return bytes > CAPTURE_STACK_MAX ? CAPTURE_STACK_MAX : (uint32_t)bytes;
}
