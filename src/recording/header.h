/* SPDX-License-Identifier: MIT */
/* The fixed header of a perf.data file, and what it points to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "recording/model.h"

#define HEADER_FILE_BYTES 104
#define HEADER_PIPE_BYTES 16

struct file_section {
	uint64_t offset, size;
};

struct file_header {
	bool is_pipe, swap;
	uint64_t attr_size;
	struct file_section attrs, data;
	uint64_t features[4];
};

/* From the first bytes of a file: 16 are enough for a pipe, else all HEADER_FILE_BYTES. -ENODATA:
 * more are needed. */
int coati_header_parse(const uint8_t *bytes, size_t size, struct file_header *ret,
		       struct coati_error *err);
/* A file with its header. */
struct header_file {
	int fd;
	uint64_t size;
	const struct file_header *head;
};

/* Read events and feature sections of the file into @m. Damage in a section
 * costs that section alone; @damage tells of them. */
int coati_header_read(const struct header_file *file, struct model *m, struct damage *damage,
		      struct coati_error *err);
