/* SPDX-License-Identifier: MIT */
/*
 * An untrusted file, copied as far as it is read. A descriptor comes in; its bytes go out at their
 * offsets, each piece read when it is first wanted. A mapping of the file itself would do, but
 * the owner of the file could truncate it meanwhile and kill us with SIGBUS; a copy does
 * not change either, so that what was checked stays checked. Behind the last byte is a page of
 * zeros.
 *
 * What may be read of one file in all has a ceiling: a huge sparse file costs what its headers
 * claim, and never more than that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/elf.h"

#define COPY_FILE_MAX (UINT64_C(16) << 30) /* size of a file that is looked at at all */
#define COPY_READ_MAX (UINT64_C(1) << 30)  /* what is read of it */

struct copy {
	int fd; /* -1: all bytes are there */
	uint8_t *bytes;
	size_t size, map_size; /* map_size 0: the bytes are of the heap */
	uint64_t *have;	       /* a bit for each piece */
	uint64_t read_bytes;
	bool short_of; /* something wanted was over the ceiling, or the file had shrunk */
	struct elf elf;
};

/* Takes over @fd on success alone. The headers of the ELF file are read and checked: -EBADMSG,
 * -EOPNOTSUPP, -E2BIG, -ENOMEM. @name is for the sentence. */
int coati_copy_open(struct copy *c, int fd, const char *name, struct coati_error *err);
/* The same over memory of base/alloc.h, which it takes over on success, and which ends in a zero
 * byte behind @size. */
int coati_copy_take(struct copy *c, void *bytes, size_t size, const char *name,
		    struct coati_error *err);
/* A zeroed or closed one is fine. */
void coati_copy_close(struct copy *c);

/* @size bytes at @offset; NULL when they are not all in the file, or over the ceiling. Live until
 * close. */
const uint8_t *coati_copy_bytes(struct copy *c, uint64_t offset, uint64_t size);
/* The bytes of a section, NULL (and 0 bytes) when there are none. */
const uint8_t *coati_copy_section(struct copy *c, const struct elf_section *s, size_t *ret_size);
