/* SPDX-License-Identifier: MIT */
/*
 * Which system calls a process may still make: a filter for seccomp, written here for x86-64 and
 * arm64. A reader has a list of what is allowed; its broker, which uses more of the C library and
 * other libraries, one of what is forbidden.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FILTER_MAX 512 /* instructions */

struct filter_opts {
	bool is_reader; /* else it is the broker, or a helper of it */
	bool may_open;	/* reader: open files for reading, because Landlock says which */
	bool network;	/* broker: open sockets */
	bool exec;	/* broker: start programs */
	pid_t pid;	/* reader: its own, which it may send signals to */
};

/* The instructions, and how many; 0: more than @cap, or not for this kind of CPU. */
size_t coati_filter_build(const struct filter_opts *o, struct sock_filter *ret, size_t cap);
/* Whether the kernel takes filters: 0, or negative. */
int coati_filter_probe(void);
/* From now on, for this thread and all that it starts; no_new_privs must be set. */
int coati_filter_install(const struct filter_opts *o);
