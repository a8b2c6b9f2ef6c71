/* SPDX-License-Identifier: MIT */
/*
 * Lines and inline frames of one file with DWARF (2 to 5): sorted addresses in, chains of source
 * frames out, in one pass over each compilation unit that holds one of them. Our own reader: it
 * looks at the entries that hold code and steps over all others, follows split units (.dwo, .dwp)
 * and shared data (dwz) under our rules for foreign paths, and takes memory through base/alloc.h
 * alone. Calls from several threads do not meet. Every loop has an end that the file cannot move.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#define LINES_DEPTH_MAX 64 /* inline frames at one address */

/* One frame of an address, innermost first. Strings live during the callback alone. */
struct lines_frame {
	/* linkage name where there is one, else the plain name; NULL: not known */
	const char *function;
	const char *file; /* joined with its directory; NULL: not known */
	uint32_t line, column, decl_line;
	bool is_inline; /* inlined into the next */
	uint64_t low,
		/* the range of the function or of the inlined piece that holds the address; 0, 0:
		 * not known */
		high;
};

/* Address number @i of the input has these frames; addresses that no unit covers are not called.
 * Non-zero ends the pass with that value. */
typedef int (*lines_fn)(void *ctx, size_t i, const struct lines_frame *frames, uint32_t nr);

/* What was read, and what could not be. */
struct lines_tally {
	uint32_t nr_units;	   /* walked */
	uint32_t nr_damaged;	   /* of these, not to their end */
	uint32_t nr_split_missing; /* whose .dwo was not found: lines, but no inline frames */
	/* 1: the file that dwz shared was not found, some names are missing */
	uint32_t nr_alt_missing;
	char why[200]; /* the first of these as a sentence, "": nothing to say */
};

struct lines_input {
	/* of the file with .debug_info (or with .dwo, .gnu_debugaltlink ... that leads to it);
	 * stays the caller's */
	int fd;
	const char *path; /* of that file, for split DWARF and the alternate file; may be NULL */
	const char *debug_dirs; /* for these, list with ':' */
	const char *root; /* the alternate file and @debug_dirs lie below it; NULL or "": here */
	const uint64_t *vaddrs; /* sorted, without doubles */
	size_t nr;
	bool want_lines,
		/* without inlines: the function that was called, the line of the innermost */
		want_inlines;
	struct lines_tally *tally; /* filled in when not NULL */
};

/* 0; -ENOENT: no DWARF in it; -EBADMSG: it is damaged (what could be read was delivered);
 * -EOPNOTSUPP: not linked, 32-bit, or compressed in a way that this machine cannot undo; -EINVAL:
 * not a regular file; -E2BIG: over the ceilings of image/copy.h; -ENOMEM. */
int coati_lines_resolve(const struct lines_input *in, lines_fn fn, void *ctx,
			struct coati_error *err);
