/* SPDX-License-Identifier: MIT */
/*
 * Compressed sections of ELF files: the bytes of a section come in, what they were before comes
 * out. Both ways of writing them are known: sections with SHF_COMPRESSED, and the older ".zdebug_"
 * sections of GNU tools. The libraries are loaded when the first such section is met.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

/* A section as it lies in the file. */
struct inflate_input {
	const uint8_t *bytes;
	size_t size;
	bool is_flagged; /* SHF_COMPRESSED; else it is compressed when it begins with "ZLIB" */
	bool swap;	 /* the file has the other byte order */
	uint64_t max;	 /* bytes that may come out */
};

/* 1: *ret (memory of base/alloc.h) holds *ret_size bytes; 0: the section is not compressed.
 * -EBADMSG: damaged, or more than max bytes would come out; -EOPNOTSUPP: the library or the format
 * is not known here; -ENOMEM. */
int coati_inflate_section(const struct inflate_input *in, uint8_t **ret, size_t *ret_size,
			  struct coati_error *err);
