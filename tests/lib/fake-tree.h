/* SPDX-License-Identifier: MIT */
/*
 * Small copies of sysfs and tracefs made of plain files, for machines that this one is not.
 * Functions return 0 or -1 with errno, so that fuzz targets can use them too.
 */
#pragma once

/* Write @text to ROOT/PATH and create the folders on the way. */
int fake_file(const char *root, const char *path, const char *text);
/* A PMU "cpu" with format and events, numbered uncore PMUs with cpumask, scale and unit, split
 * ranges, an event with an open term, a malformed format, the software PMUs. */
int fake_sysfs(const char *root);
/* The same machine with two kinds of cores, cpu_core and cpu_atom, and no "cpu". */
int fake_sysfs_hybrid(const char *root);
/* A few tracepoints of the systems sched, syscalls, block and odd (strange and malformed
 * formats). */
int fake_tracefs(const char *root);
/* Remove ROOT and all below it. */
int fake_remove(const char *root);
/* Path of PART ("sys", "tracing") of trees that are made at the first call, in a folder of their
 * own that is removed when the process ends. Aborts when it cannot. */
const char *fake_shared(const char *part);
