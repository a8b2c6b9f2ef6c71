/* SPDX-License-Identifier: MIT */
/*
 * The directory of an agent: one recording after the other, each an ordinary perf.data file that is
 * named by the time at which it began. The oldest go when they are too old or too many bytes.
 * Recordings that were kept for a reason lie in the directory "kept" in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/capture.h>

#include "agent/window.h"
#include "base/array.h"
#include "recording/writer.h"

#define FOLDER_PREFIX "coati-"
#define FOLDER_SUFFIX ".data"

struct folder {
	const char *path; /* NULL: there is none, and recordings are made in memory */
	int dir;	  /* -1: none */
	uint64_t keep_age_ns, keep_bytes;
	bool is_full;	/* the next recording is made in memory */
	char name[256]; /* of the segment that is written; "": none, or in memory */
	bool is_plain;	/* this build cannot compress */
	uint32_t number;
	struct agent_sink_stats stats;
	uint64_t removed, full; /* segments; times that the disk was full */
	char trouble[512];
};

/* Make the directory when it is not there; it must be ours or root's, and no link. */
int coati_folder_open(struct folder *f, struct coati_error *err);
void coati_folder_close(struct folder *f);
/* A writer for the next segment and a descriptor that reads it. When the disk is full the recording
 * is made in memory instead, and trouble says so. */
int coati_folder_next(struct folder *f, uint64_t wall_ns, struct coati_writer **ret_writer,
		      int *ret_fd, struct coati_error *err);
/* The segment has ended, well or not (@r); remove what is over the limits. */
void coati_folder_ended(struct folder *f, int r);
/* Remove segments that are too old or over the limit of bytes, and one more when @room is. */
void coati_folder_trim(struct folder *f, bool room);
/* The path of a recording that is kept for a reason: the directory, the time of the moment (that of
 * now_ns()), and letters and digits of the reason. */
void coati_folder_kept_name(const struct folder *f, uint64_t time_ns, const char *what, char *ret,
			    size_t size);
