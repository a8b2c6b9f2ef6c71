/* SPDX-License-Identifier: MIT */
/*
 * Is a file that was opened what its reader says that it is? By its first bytes, its name and its
 * owner. Each returns 0, or negative with a sentence that names the file as @shown.
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

/* An ELF file with code or debug data: no core file, which has the memory of a process in it. */
int coati_check_image(int fd, const char *shown, struct coati_error *err);
/* A perf map by its name, or a jitdump by its first bytes. */
int coati_check_jit(int fd, const char *shown, struct coati_error *err);
/* Text with the name of a source file, or a header that every user may read. */
int coati_check_source(int fd, const char *shown, struct coati_error *err);
/* None of another user that only the rights of root open. */
int coati_check_owner(int fd, const char *shown, struct coati_error *err);
/* A file of /proc or /sys that readers need: a name comes in, nothing is opened. */
bool coati_is_system_file(const char *path, bool with_maps);
/* A number and nothing else between the two texts. */
bool coati_is_numbered(const char *name, const char *start, const char *end);
