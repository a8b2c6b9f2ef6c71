/* SPDX-License-Identifier: MIT */
/* Finding and opening the directory of a cgroup. */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include <coati/error.h>

/* The hierarchy that perf events follow: that of cgroup v1 which has the perf_event controller,
 * else cgroup v2. */
struct cgroup_mount {
	char path[PATH_MAX];
	dev_t dev;
	int version; /* 1 or 2; 0: none is mounted */
};

/* Find it in the text of a mountinfo file. */
void coati_cgroup_mount_find(const char *mountinfo, struct cgroup_mount *ret);

/* Open the cgroup @name: an absolute path is taken as it is, anything else is looked up below the
 * perf_event hierarchy of cgroup v1 or the cgroup v2 mount ("." is its root). Returns a directory
 * descriptor or a negative errno with the place that was tried: -EINVAL for what is not a cgroup of
 * that hierarchy, or a name with "..". */
int coati_cgroup_open(const char *name, struct coati_error *err);
