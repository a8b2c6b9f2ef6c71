/* SPDX-License-Identifier: MIT */
/*
 * Where recordings go. In: the name that was asked for. Out: writers, one for each file. A file
 * gets its name only once its beginning is written: who finds one by that name can read it, and a
 * recording that comes to nothing leaves nothing behind. An older recording of that name is kept as
 * NAME.old, as perf does it. With several files each is named after the time at which it begins.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/recording.h>

#include "base/array.h"
#include "recording/writer.h"

struct record_output {
	const char *path;
	uint64_t max_bytes;
	int zstd_level;
	bool many;	    /* several files */
	uint32_t max_files; /* of those, keep the last; 0: all */
	bool pipe;	    /* a stream: standard output, a FIFO, a socket */
	bool special;	    /* something that is no regular file: written as it is */
	int unnamed;	    /* the file that has no name yet, -1: none */
	char name[4096];    /* of the file that is open, or was last */
	ARRAY(char *) names;
};

/* The name that is used when none was typed. There may be anything under it, put there by others:
 * it is written only as a file of our own. */
extern const char coati_record_default[];
int coati_record_check_default(const char *path, struct coati_error *err);

/* Find out whether the file can be written. The members up to max_files are the caller's to fill
 * in. */
int coati_record_output_reserve(struct record_output *o, struct coati_error *err);
/* The writer of the next file. */
int coati_record_output_next(struct record_output *o, struct coati_writer **ret,
			     struct coati_error *err);
/* Its beginning is written: give it its name. */
int coati_record_output_publish(struct record_output *o, struct coati_error *err);
void coati_record_output_fini(struct record_output *o);
