/* SPDX-License-Identifier: MIT */
/* How many threads read a recording. A library starts none unasked: one, until the tool says
 * otherwise. */
#pragma once

#include <stdint.h>

#define RECORDING_THREADS_MAX 8 /* more would wait for the one that adds up */

struct recording_threads {
	uint32_t nr;	      /* with the caller's; more than the most are the most */
	uint64_t least_bytes; /* smaller recordings are read by one */
};

/* Before the first recording is opened. */
void coati_recording_threads_set(struct recording_threads t);
struct recording_threads coati_recording_threads(void);
