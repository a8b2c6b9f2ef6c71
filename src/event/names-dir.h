/* SPDX-License-Identifier: MIT */
/*
 * The names in a directory of sysfs or tracefs, sorted. No file is opened or looked at: the
 * kernel's directory entries say which are directories.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"

#define DIR_NAMES_MAX 65536

struct dir_names {
	/* in the arena, sorted by byte value; never "." or ".." or a name that starts with a dot */
	const char **v;
	size_t len;
};

enum dir_kind {
	DIR_FILES,   /* plain files */
	DIR_FOLDERS, /* directories, and links to anything */
};

/* Names of directory @path (relative to @dirfd). -E2BIG above DIR_NAMES_MAX. */
int coati_dir_names(int dirfd, const char *path, enum dir_kind kind, struct arena *arena,
		    struct dir_names *ret);
