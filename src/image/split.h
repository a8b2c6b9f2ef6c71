/* SPDX-License-Identifier: MIT */
/*
 * Debug data that lies beside the file: the .dwo of a unit, a .dwp with all of them, the file that
 * dwz shares between several. Their names come out of a foreign file, so that only regular files
 * are opened, links are not followed, and what is found must carry the very id that was asked for.
 */
#pragma once

#include <stdbool.h>

#include "image/lines-file.h"
#include "image/lines-unit.h"
#include "image/lines.h"

struct split {
	const struct lines_input *in;
	struct dwarf_file *package; /* the .dwp */
	bool is_package_tried;
	struct dwarf_file *single; /* the .dwo of the last unit that was asked for */
};

/* The split unit of @skeleton; lives until the next call. -ENOENT: it is not there; -EBADMSG: it is
 * damaged; -ENOMEM. */
int coati_split_get(struct split *s, const struct scope *skeleton, struct scope *ret,
		    struct coati_error *err);
void coati_split_fini(struct split *s);

/* Open what dwz shared and hang it into @f. 0 also when there is nothing to open; -ENOENT: it is
 * wanted and not there. */
int coati_split_open_alt(struct dwarf_file *f, const struct lines_input *in,
			 struct coati_error *err);

/* -ENOENT for everything but a regular file that is no link. */
int coati_split_open_file(const char *path);
