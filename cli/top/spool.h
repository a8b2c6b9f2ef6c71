/* SPDX-License-Identifier: MIT */
/*
 * The recording behind the screen: what the capture wrote in the last minutes, as streams in
 * memory, one after the other and each complete in itself. The oldest goes when there are too many
 * bytes. Out: a recording of some seconds as an ordinary file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/capture.h>

#include "base/array.h"

struct top_part {
	int fd;			   /* of a memfd */
	uint64_t begin_ns, end_ns; /* end: UINT64_MAX while it is written */
	uint64_t bytes;
};

struct top_spool {
	ARRAY(struct top_part) parts; /* the last one is being written */
	uint64_t max_bytes;
	bool is_plain; /* not compressed: this build cannot */
};

void coati_top_spool_init(struct top_spool *s, uint64_t max_bytes);
void coati_top_spool_fini(struct top_spool *s);
/* End the part that is written, if any, and begin a new one. *ret_fd reads it from its start; the
 * caller closes it. */
int coati_top_spool_begin(struct top_spool *s, struct coati_capture *cap, int *ret_fd,
			  struct coati_error *err);
/* End it: nothing more will be written. */
int coati_top_spool_end(struct top_spool *s, struct coati_capture *cap, struct coati_error *err);
/* Is it time for a new part? */
bool coati_top_spool_is_due(struct top_spool *s, uint64_t now_ns);
/* Drop parts that ended before this. */
void coati_top_spool_forget(struct top_spool *s, uint64_t before_ns);
/* Drop the oldest until there are few enough bytes. */
void coati_top_spool_trim(struct top_spool *s);
uint64_t coati_top_spool_bytes(const struct top_spool *s);
/* From when on everything is there; UINT64_MAX: nothing is. */
uint64_t coati_top_spool_since(const struct top_spool *s);

struct top_save {
	const char *path;
	uint64_t from_ns, to_ns;    /* samples of this time, to_ns is not in it */
	bool whole;		    /* all threads of some processes were recorded */
	struct coati_capture **cap; /* for the names */
	uint64_t samples;	    /* out: written */
	char name[256];		    /* out: of the file */
};
/* -ERANGE: what is asked for is not there any more. */
int coati_top_spool_save(const struct top_spool *s, struct top_save *save, struct coati_error *err);
