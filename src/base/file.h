/* SPDX-License-Identifier: MIT */
/*
 * Small files of the kernel (sysfs, procfs, tracefs) and files of other people. Everything is read
 * through a ceiling; nothing is opened without O_CLOEXEC.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strbuf.h"

/* Read the whole of @path (relative to @dirfd, or AT_FDCWD) behind what @s holds. -E2BIG when the
 * file is longer than the room left in @s; after any error @s holds what it held before. */
int coati_file_read(int dirfd, const char *path, struct strbuf *s);
/* The same from where the descriptor stands, which stays open. */
int coati_file_read_fd(int fd, struct strbuf *s);
/* The first line without its newline, into a caller's buffer; a line that does not fit is -E2BIG,
 * one with a zero byte -EBADMSG. */
int coati_file_read_line(int dirfd, const char *path, char *buf, size_t size);
/* A file whose first line is one number, decimal or 0x; -EINVAL and -ERANGE as in base/parse.h. */
int coati_file_read_u64(int dirfd, const char *path, uint64_t *ret);
int coati_file_read_i64(int dirfd, const char *path, int64_t *ret);
/* Write all, across EINTR and short writes. */
int coati_write_all(int fd, const void *bytes, size_t size);
/* Have room for @nr open files, as far as the hard limit allows: the soft one is raised when it is
 * lower. */
void coati_file_want(uint64_t nr);
/* Lock the file for as long as this open file description lasts, whatever process shares it;
 * -EAGAIN: it is locked already. */
int coati_file_lock(int fd);
/* Whether another opening has it locked. Takes no lock itself, so that it does not disturb a
 * process that is about to lock the file. */
bool coati_file_is_locked(int fd);
/* Read exactly @size bytes at @offset; -ENODATA when the file ends first. */
int coati_pread_all(int fd, void *bytes, size_t size, uint64_t offset);
