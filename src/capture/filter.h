/* SPDX-License-Identifier: MIT */
/*
 * Processes with many threads. An event for each thread on each CPU is too many descriptors: 20,000
 * for 10,000 threads on two CPUs. Where the stack walker runs, the events are those of the CPUs
 * instead, and the walker lets only samples of the processes through. The kernel does not tell when
 * a process is over then: descriptors of the processes do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

#define FILTER_THREADS 256 /* as many have events of their own */

struct coati_capture;

struct filter {
	bool is_on;
	ARRAY(struct filter_process {
		int fd; /* -1: it has ended */
		int32_t pid;
	})
	processes;
};

/* Before the walker is loaded: is it wanted for this capture? */
bool coati_filter_is_wanted(const struct coati_capture *cap);
/* When the walker is loaded: let the samples of the processes through. Negative errno. */
int coati_filter_open(struct coati_capture *cap);
void coati_filter_close(struct filter *f);
/* Now and then: have all processes ended? */
bool coati_filter_is_over(struct coati_capture *cap);
