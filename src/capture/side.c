/* SPDX-License-Identifier: MIT */
/* see side.h */
#include "capture/side.h"

#include <stdio.h>
#include <sys/stat.h>

#define THREADS_MANY 512

/* Threads of the processes that are watched; a directory has a link for each of its own. */
static uint64_t count_threads(const struct coati_capture_opts *o)
{
	const char *procfs = o->procfs ? o->procfs : "/proc";
	uint64_t nr = o->nr_tids;
	char path[512];
	struct stat st;

	for (uint64_t i = 0; i < o->nr_pids; i++) {
		snprintf(path, sizeof(path), "%s/%d/task", procfs, o->pids[i]);
		if (stat(path, &st) == 0 && st.st_nlink > 2)
			nr += st.st_nlink - 2;
	}
	return nr;
}

bool coati_side_is_wide(const struct coati_capture *cap)
{
	const struct coati_capture_opts *o = &cap->opts;

	return cap->tasks && !o->cpus &&
	       !(o->flags & (COATI_CAPTURE_ON_EXEC | COATI_CAPTURE_OVERWRITE)) &&
	       count_threads(o) >= THREADS_MANY;
}
