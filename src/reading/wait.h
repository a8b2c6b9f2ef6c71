/* SPDX-License-Identifier: MIT */
/* What threads wait for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>

/* Sorted by the order in which they are shown, not by weight. */
enum coati_wait {
	COATI_WAIT_RUNNING = 0,
	COATI_WAIT_FUTEX,
	COATI_WAIT_READ,
	COATI_WAIT_WRITE,
	COATI_WAIT_ACCEPT,
	COATI_WAIT_CONNECT,
	COATI_WAIT_POLL,
	COATI_WAIT_SLEEP,
	COATI_WAIT_FAULT,
	COATI_WAIT_IO,
	COATI_WAIT_LOCK, /* of the kernel */
	COATI_WAIT_CHILD,
	COATI_WAIT_SIGNAL,
	COATI_WAIT_EXIT,
	COATI_WAIT_KERNEL,    /* a thread of the kernel's own */
	COATI_WAIT_PREEMPTED, /* it would run on, but another one does */
	COATI_WAIT_RUNNABLE,  /* it was woken or started, and waits for a CPU */
	COATI_WAIT_OTHER,
	COATI_WAIT_UNKNOWN,
	COATI_WAIT_COUNT,
};

/* "running", "futex" ...; NULL: no such. */
const char *coati_wait_name(enum coati_wait wait);

/* What a thread waits for that left its CPU with this stack of the profile, whose names must be
 * known: never RUNNING. */
enum coati_wait coati_profile_stack_wait(struct coati_profile *p, uint32_t stack);

/* Is @name, of a function of the kernel, one by which the scheduler takes a thread off its CPU? */
bool coati_is_scheduler(const char *name);
