/* SPDX-License-Identifier: MIT */
/*
 * A file that gets its name when it is whole: until then the one that had the name before stays as
 * it is, also when this process is killed. Links are replaced, never followed. What is no file (a
 * FIFO, a device) is written to as it is, and so is what the kernel links to (/dev/stdout).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <coati/error.h>

struct new_file {
	int fd;
	bool is_file; /* else it is written to in place */
	char path[4096];
	char part[4096]; /* that it has until then; "": none */
};

/* With the mode of a file whose name was not typed: what is not a regular file is refused, since
 * another user may have put it there, and never written to. */
#define NEW_FILE_NOT_TYPED 0100000u

/* Whether @path is a link that neither this user nor root has made. */
bool coati_is_link_of_another(const char *path);
/* Whether @path is another name of something that is open, as /dev/stdout and /proc/self/fd/1. */
bool coati_is_open_file(const char *path);
/* The directory that @path lies in, with a slash behind it, or "." */
void coati_folder_of(const char *path, char *buf, size_t size);

/* Write to @path with this mode; the descriptor can be read, too, when it is a file. */
int coati_new_file_open(struct new_file *f, const char *path, mode_t mode, struct coati_error *err);
/* Close it; @whole: under its name, else nothing of it stays. */
int coati_new_file_end(struct new_file *f, bool whole, struct coati_error *err);
