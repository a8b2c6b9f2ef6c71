/* SPDX-License-Identifier: MIT */
/* What context.bpf.c hands to context.c. */
#pragma once

#define HEAD_BYTES  28
#define ENTRY_BYTES 612

struct context_sample {
	unsigned int tid;
	unsigned int size; /* of the entries, as the head has it */
	unsigned char head[HEAD_BYTES];
	unsigned char entries[ENTRY_BYTES];
};

enum { SEEN_SAMPLES, SEEN_NULL, SEEN_INVALID, SEEN_FAULTS, SEEN_DROPS, SEEN_COUNTS };
