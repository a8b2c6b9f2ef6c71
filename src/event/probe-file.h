/* SPDX-License-Identifier: MIT */
/* From the name of a program or library, as typed, to the path of its file. */
#pragma once

#include <limits.h>

#include <coati/error.h>

/*
 * Absolute and without links into @buf (PATH_MAX bytes).
 *
 * A name with a slash is a path. Any other is looked up, libraries ("libNAME..." or with ".so")
 * before programs, or programs first: libraries in LD_LIBRARY_PATH, then in the usual directories
 * of this CPU below /usr/local/lib, /lib and /usr/lib; programs in PATH. A library may be named
 * without version ("libc"): the shortest NAME.so* that is there is taken, of equally short ones the
 * highest version. Only 64-bit files of this CPU count, as for the loader. Unlike the loader,
 * neither its cache nor the run paths inside of programs are read: what lies elsewhere needs its
 * path.
 *
 * -ENOENT: nothing found, the text says where it was looked for.
 */
int coati_probe_file_find(const char *name, char *buf, struct coati_error *err);
