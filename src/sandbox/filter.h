/* SPDX-License-Identifier: MIT */
/*
 * Which system calls a process may still make: a filter for seccomp, written here for x86-64 and
 * arm64. A reader has a list of what is allowed; its broker and worker, which use more of the C
 * library and other libraries, one of what is forbidden.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FILTER_MAX 512 /* instructions */

struct filter_opts {
	bool is_reader; /* else it is a process that works for a reader */
	bool may_open;	/* reader: open files for reading, because Landlock says which */
	bool network;	/* others: open sockets */
	bool exec;	/* others: start programs */
	bool changes;	/* others: make, change and remove files */
	pid_t pid;	/* reader: its own, which it may send signals to */
	int serve_fd;	/* reader: accept connections on this one; 0: on none */
};

/* The instructions, and how many; 0: more than @cap, or not for this kind of CPU. */
size_t coati_filter_build(const struct filter_opts *o, struct sock_filter *ret, size_t cap);
/* Whether the kernel takes filters: 0, or negative. */
int coati_filter_probe(void);
/* From now on, for this thread and all that it starts; no_new_privs must be set. */
int coati_filter_install(const struct filter_opts *o);
