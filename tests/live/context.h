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

/* Which process, as seen in its PID namespace, and where its pointer lies from the thread
 * pointer. */
struct context_wanted {
	long long tls_offset;
	unsigned long long pidns_dev, pidns_ino;
	unsigned long long pid;
};
