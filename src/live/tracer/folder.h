/* SPDX-License-Identifier: MIT */
/*
 * Where the file of the tracer's memory is: a directory that belongs to this user alone. Other
 * users may have taken the name of the usual one; then there are others. Files whose writers have
 * died stay for coati autopsy until they are too many. Ordinary code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/tracer.h>

#include "live/tracer/tracer.h"

struct tracer_folder {
	int fd; /* -1: none could be had, and the memory has no name */
	enum coati_recorder_place place;
	char path[TRACER_FOLDER];
};

/* What files of the dead may take; see struct coati_recorder_opts. */
struct tracer_keep {
	uint64_t files, bytes, age_ns;
};

/* The limits of @o, those of the environment where it has none, else the usual ones. */
int coati_tracer_keep(const struct coati_recorder_opts *o, struct tracer_keep *ret,
		      struct coati_error *err);
/* @directory NULL: the usual one, or what can be had instead. */
int coati_tracer_folder_open(const char *directory, struct tracer_folder *ret,
			     struct coati_error *err);
/* Remove the oldest files of dead writers until @bytes more fit. Those that a recorder from outside
 * still reads stay. */
struct tracer_removed {
	uint64_t files, bytes;
};
void coati_tracer_folder_clean(const struct tracer_folder *f, const struct tracer_keep *keep,
			       uint64_t bytes, struct tracer_removed *ret);

/* A file, locked for as long as this process has it open: that is how others know that its writer
 * lives, whatever number it has for them. */
int coati_tracer_file_make(const struct tracer_folder *f, const char *name,
			   struct coati_error *err);
/* Until others can read what is in it, it has another name (NAME.new); from now on its own. */
int coati_tracer_file_name(const struct tracer_folder *f, const char *name,
			   struct coati_error *err);
/* It is not wanted, before it had its name. */
void coati_tracer_file_drop(const struct tracer_folder *f, const char *name);
