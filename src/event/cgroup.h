/* SPDX-License-Identifier: MIT */
/* Finding and opening the directory of a cgroup. */
#pragma once

#include <coati/error.h>

/* Open the cgroup @name: an absolute path is taken as it is, anything else is looked up below the perf_event hierarchy
 * of cgroup v1 or the cgroup v2 mount. Returns a directory descriptor or a negative errno with the places that were
 * tried. */
int coati_cgroup_open(const char *name, struct coati_error *err);
