/* SPDX-License-Identifier: MIT */
/*
 * Context switches beside the samples. The records of the side-band event tell when each thread
 * left a CPU and came back; every user may record that of their own threads. Where the kernel may
 * be looked at, an event samples the stack with which a thread leaves, another tells when it is
 * woken, and others when an interrupt begins and ends while it runs.
 *
 * A stack is copied for unwinding as long as there are not too many switches a second; above that
 * it comes from frame pointers, which cost a tenth, until there are fewer again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

struct coati_capture;

#define OFF_COPIES 16

struct off_cpu {
	struct coati_error no_stacks, no_wakes, no_irqs; /* why not; code 0: they are taken */
	uint64_t checked_ns, checked; /* when the rate was looked at, switches by then */
	uint64_t fast_times;	      /* turned to frame pointers so often */
	bool fast, trying;	      /* trying: until the rate was seen first */
	/* The last times in which switches came with copies of stacks alone; the last one is never
	 * older. */
	struct off_copies {
		uint64_t from, to;
	} copies[OFF_COPIES];
	uint32_t nr_copies; /* that there were; number n is in place n % OFF_COPIES */
	/* wakeups: watched on all CPUs; known for every wakeup of the threads that are recorded, by
	 * whomever; not available because of a PID namespace */
	bool wakes_wide, wakes_all, wakes_no_ns;
	bool irqs_wide; /* interrupts: watched on all CPUs, and filtered by thread */
};

/* Lists and attributes of the sets; @ring_bytes: a ring's. -ENOMEM or worse with a sentence. */
int coati_off_cpu_prepare(struct coati_capture *cap, uint64_t ring_bytes, struct coati_error *err);
/* Are processes numbered here as the kernel itself does? Not in a PID namespace of its own. */
bool coati_off_cpu_numbers_agree(const char *procfs);
/* How long to wait at most until the rate is looked at. */
uint64_t coati_off_cpu_tick(const struct coati_capture *cap);
/* Was the event with copies the only one of the two that took samples at @time? False also when
 * that is forgotten. */
bool coati_off_cpu_copies_at(const struct off_cpu *o, uint64_t time);
/* Which way stacks are taken, by how many switches there were: after each round. */
int coati_off_cpu_adapt(struct coati_capture *cap);
