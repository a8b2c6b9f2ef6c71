/* SPDX-License-Identifier: MIT */
/*
 * Of a symbol table in a file, the functions near some addresses: for those who ask for a few
 * addresses of a file with millions of symbols. The table is read in pieces, and what is kept
 * depends on the number of addresses alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "image/symbols.h"

/* Tables of fewer bytes are read whole. */
#define SYMBOLS_NEAR_LEAST ((uint64_t)1 << 20)

/* Addresses in order, each once. */
struct symbols_near {
	uint64_t *v;
	size_t nr;
};

/* Where a symbol table is, and its strings (coati_symbols_strings_in()). */
struct symbols_table {
	int fd;
	uint64_t offset, size;
	int strings;
	uint32_t strings_size;
	uint16_t machine;
	bool swap;
};

/* As coati_symbols_add_table(); also -E2BIG when there is too much that only the whole table
 * tells. */
int coati_symbols_add_near(struct symbols *s, struct symbols_table *table,
			   const struct symbols_near *near);
/* Is the answer for @addr that of the whole table? @section_start: of the section that has it. */
bool coati_symbols_tells(const struct symbols *s, const struct symbols_near *near, uint64_t addr,
			 uint64_t section_start);
