/* SPDX-License-Identifier: MIT */
/*
 * The line program of a unit: which source line each wanted address belongs to. The program is run
 * once, rows are not kept: sorted addresses are handed out as the rows pass by.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "image/lines-unit.h"

#define LINE_FILES_MAX (1u << 20)

struct line_row {
	uint32_t file, line, column;
	bool is_set;
};

struct line_file {
	const char *name;
	uint64_t dir;
	const char *path; /* joined, when it was asked for */
};

struct line_program {
	const struct scope *scope;
	uint16_t version;
	uint8_t address_size, offset_size;
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	const uint8_t *opcode_lengths;
	const char **dirs;
	struct line_file *files;
	size_t nr_dirs, nr_files, cap_files;
	struct cursor code;
	struct arena *arena;   /* of dirs, and of joined paths */
	bool is_out_of_memory; /* a path is missing for that reason */
};

/* Read the header at @scope->stmt_list. -ENOENT: the unit has none; -EBADMSG, -ENOMEM. */
int coati_line_program_init(struct line_program *p, const struct scope *scope, struct arena *arena);
void coati_line_program_fini(struct line_program *p);
/* Run it: @rows[i] for each sorted @vaddrs[i] that a row covers. Counts @work down. -EBADMSG: it is
 * damaged, the rows until then are set. */
int coati_line_program_run(struct line_program *p, const uint64_t *vaddrs, size_t nr,
			   uint64_t *work, struct line_row *rows);
/* The path of a file number, joined with its directory; NULL when there is none, or
 * is_out_of_memory. */
const char *coati_line_program_file(struct line_program *p, uint64_t file);
