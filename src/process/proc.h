/* SPDX-License-Identifier: MIT */
/*
 * Text of /proc about processes, of which nothing is trusted: a process chooses its own name, and
 * the paths that it maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>

#define PROC_COMM_MAX 64

/* One line of a maps file into @ret, whose name points into @line: 0, or -EBADMSG. */
int coati_maps_line(char *line, struct coati_mmap *ret);
/* The fields of a stat file of /proc that matter. */
struct proc_stat {
	char comm[PROC_COMM_MAX];
	uint32_t ppid, nr_threads;
	bool kernel; /* a thread of the kernel: no mappings */
};
int coati_proc_stat(const char *text, size_t size, struct proc_stat *ret);
