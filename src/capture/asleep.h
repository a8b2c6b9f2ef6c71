/* SPDX-License-Identifier: MIT */
/*
 * Where threads wait that slept already when the recording began: no switch of theirs is recorded
 * until they wake. In: /proc/PID/task/TID/syscall, stack and wchan, of which nothing is trusted.
 * Out: one sample a thread of the event that takes the stacks of switches, with the kernel's part
 * of the stack and the address in user space from which it called.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ASLEEP_FRAMES 64

struct coati_capture;

/* A function of the kernel, and how far into it. */
struct asleep_frame {
	char name[64];
	uint64_t offset;
};

struct asleep_stack {
	struct asleep_frame frames[ASLEEP_FRAMES]; /* innermost first */
	uint32_t nr;
	uint64_t ip; /* in user space, 0: not known */
};

/* The thread at this path, "task/TID" below @dirfd: 1 it sleeps, 0 it runs, would run, or has gone.
 *  */
int coati_asleep_read(int dirfd, const char *path, struct asleep_stack *ret);
/* Describe all threads that are recorded and sleep. To be called when events run: what a thread
 * does from then on is recorded. */
int coati_asleep_write(struct coati_capture *cap);
