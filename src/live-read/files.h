/* SPDX-License-Identifier: MIT */
/*
 * Files of recorders, looked for where processes of a user put them (live/tracer/folder.h). A file
 * counts as the user's whose directory it is in and who owns it, whatever is written in it: both
 * are opened without following links, and looked at once they are open.
 */
#pragma once

#include <stdint.h>

#include <coati/trace.h>

#include "live-read/flight.h"

#define LIVE_FILES_ALL	UINT32_MAX
#define LIVE_FILES_MOST 65536u

/* A file, by a descriptor that is closed afterwards; @info->owner is who owns it. A non-zero value
 * ends the search, and is its result. */
typedef int (*coati_live_file_fn)(void *ctx, int fd, const char *path,
				  const struct coati_flight_info *info);
/* Who looks, and how far. */
struct coati_live_look {
	coati_live_file_fn fn;
	void *ctx;
	uint32_t most;	   /* files of a directory that are looked at; 0: LIVE_FILES_MOST */
	uint64_t left_out; /* result: files beyond that */
};

/* All files of @directory, whosever they are. */
int coati_live_files_in(const char *directory, struct coati_live_look *l);
/* Those of one user, or of all. */
int coati_live_files_of_user(uint32_t uid, struct coati_live_look *l);
/* Those that the process has open: also without a name, and in a container. */
int coati_live_files_of_process(int32_t pid, struct coati_live_look *l);

/* The user whose rights the process has; -ESRCH. */
int coati_live_user_of(int32_t pid, uint32_t *ret);
