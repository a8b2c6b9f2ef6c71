/* SPDX-License-Identifier: MIT */
/*
 * How long calls of a function take, in all processes: probes at its entry and its return, paired
 * by thread. Calls that have not returned yet count with the time they took so far, so that one
 * that hangs is seen.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

struct latency;

/* @place: PATH:FUNCTION, as behind "uprobe:" of an event. */
int coati_latency_open(const char *place, struct latency **ret, struct coati_error *err);
void coati_latency_close(struct latency **l);
struct latency_seen {
	uint64_t percentile_ns;
	uint64_t longest_since_ns; /* when the longest call began */
};

/* A percentile (1 to 100) of the calls that ended since the last look, and of those that go on.
 * -ENODATA: there was none. */
int coati_latency_look(struct latency *l, uint64_t now_ns, uint32_t percent,
		       struct latency_seen *ret);
/* A percentile (1 to 100) of at least one duration, which are sorted for it. */
uint64_t coati_latency_percentile(uint64_t *v, size_t nr, uint32_t percent);
