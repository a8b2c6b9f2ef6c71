/* SPDX-License-Identifier: MIT */
/* What passes between the program in the kernel (exec.bpf.c) and the one that reads it
 * (bpf-output.c). */
#ifndef EXEC_H
#define EXEC_H

#include <linux/types.h>

#define NAME_BYTES 16

/* From the kernel, through both kinds of ring: a program was started. */
struct exec_event {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 pid, parent;
	char name[NAME_BYTES];
	char file[64]; /* cut when it is longer */
};

/* To the kernel, through the user ring: only programs of this name; "" for all. */
struct exec_wish {
	char name[NAME_BYTES];
};

/* Places in the map `counts`, whose values are 64 bits. */
enum exec_count {
	EXEC_DROPS, /* the ring had no room: coati_ring_watch_drops() looks here */
	EXEC_SEEN,  /* events that were put out, or should have been */
	EXEC_COUNTS,
};

#endif
