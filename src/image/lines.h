/* SPDX-License-Identifier: MIT */
/*
 * Lines and inline frames of one file with DWARF: sorted addresses in, chains of source frames out, in one pass over each compilation unit
 * that holds one of them. libdw's low-level walk (never dwarf_getscopes), one Dwarf handle of its own for each call, so that calls from
 * several threads do not meet. libdw is loaded when first needed; without it -EOPNOTSUPP.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#define LINES_DEPTH_MAX 64 /* inline frames at one address */

/* One frame of an address, innermost first. Strings live during the callback alone. */
struct lines_frame {
	const char *
		function; /* linkage name where there is one, else the plain name; NULL: not known */
	const char *file; /* joined with its directory; NULL: not known */
	uint32_t line, column, decl_line;
	bool is_inline; /* inlined into the next */
	uint64_t low,
		high; /* the range of the function or of the inlined piece that holds the address; 0, 0: not known */
};

/* Address number @i of the input has these frames; addresses that no unit covers are not called. Non-zero ends the pass with that value. */
typedef int (*lines_fn)(void *ctx, size_t i, const struct lines_frame *frames, uint32_t nr);

struct lines_input {
	int fd; /* of the file with .debug_info (or with .dwo, .gnu_debugaltlink ... that leads to it); stays the caller's */
	const char *path; /* of that file, for split DWARF and the alternate file; may be NULL */
	const char *debug_dirs; /* for these, list with ':' */
	const uint64_t *vaddrs; /* sorted, without doubles */
	size_t nr;
	bool want_lines, want_inlines;
};

/* 0; -ENOENT: no DWARF in it; -EBADMSG: it is damaged (what could be read was delivered); -EOPNOTSUPP; -ENOMEM. */
int coati_lines_resolve(const struct lines_input *in, lines_fn fn, void *ctx,
			struct coati_error *err);
