/* SPDX-License-Identifier: MIT */
/*
 * A kernel for tests: knows the features it is told to know, refuses the others as a real one does,
 * can fail any single call, and keeps account of the descriptors it gave out.
 *
 *	struct fake_kernel k;
 *	fake_kernel_init(&k);
 *	k.known_flags &= ~COATI_ATTR_TEXT_POKE;
 *	struct event_request req = { &k.calls, &attr, &COATI_SELF, &opts };
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/calls.h"

#define FAKE_FDS 256

struct fake_event {
	bool open, enabled;
	struct coati_attr attr;
	int group_fd;
	uint64_t value;
};

struct fake_kernel {
	struct event_calls calls;
	uint32_t attr_size;
	uint64_t known_flags, known_sample_type, known_read_format;
	uint32_t known_open_flags;
	bool aux_action;
	unsigned int max_precise;
	int precise_error; /* what a higher precision gets */
	int64_t max_rate, max_stack;
	bool user_only; /* refuses the kernel part and namespace records with EACCES */
	bool no_pmu;	/* ENOENT for hardware events */
	/* EINVAL for counts in samples of inherited events, as before 6.13 */
	bool no_inherited_read;
	uint32_t group_max;	  /* events in a group before EINVAL; 0 any number */
	int cpu_max;		  /* CPUs above are EINVAL; -1: all there */
	int fail_call, fail_code; /* let that many calls pass, then fail one; -1: none */
	bool pinned_lost;	  /* reads give end of file */
	int forking;		  /* so many reads fail, because a thread is being made */
	int nr_calls, nr_opens, nr_open;
	struct fake_event events[FAKE_FDS];
	/* orders and reads as letters: e enable, d disable, r reset, R read; tests may add their
	 * own */
	char log[64];
	int nr_log;
	int order[FAKE_FDS]; /* descriptors in the order of closing */
	int nr_closed;
};

void fake_kernel_init(struct fake_kernel *k);
/* Add a letter to the log. */
void fake_kernel_log(struct fake_kernel *k, char letter);
/* The event behind a descriptor that the kernel gave out. */
struct fake_event *fake_kernel_event(struct fake_kernel *k, int fd);
