/* SPDX-License-Identifier: MIT */
/*
 * Tables that pprof and OTLP have in common: strings, mappings, functions, and locations with one
 * line for each inlined function. Everything is numbered once, from 1 on, as it is first met:
 * string 0 is "", all other tables have nothing at 0. What frames of a stack a filter hides is
 * missing from its location, too: such a location is another one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "format/format.h"

struct dictionary_mapping {
	uint32_t image;
	uint32_t file, build_id; /* strings; the build id in hexadecimal, 0: not known */
	uint64_t start, end, offset;
};

struct dictionary_function {
	uint32_t name, symbol, file; /* strings */
	uint32_t line;
};

struct dictionary_line {
	uint32_t function;
	uint32_t line, column;
};

struct dictionary_location {
	uint32_t mapping;
	uint32_t first_line, nr_lines; /* innermost first */
	uint32_t is_kernel;
	uint64_t address;
};

struct dictionary {
	const struct format_input *in;
	ARRAY(const char *) strings;
	ARRAY(struct dictionary_mapping) mappings; /* [0] is number 1, and so on */
	ARRAY(struct dictionary_function) functions;
	ARRAY(struct dictionary_line) lines;
	ARRAY(struct dictionary_location) locations;
	struct map string_index, mapping_index, function_index, partial_index;
	uint32_t *of_frame; /* by frame: its location in the profile */
	/* by location of the profile: its number with all of its frames; 0: not met */
	uint32_t *whole;
	uint32_t *room; /* for the numbers of one stack */
	uint32_t nr_room;
	struct arena arena;
	int failed; /* sticky: -ENOMEM, -E2BIG */
};

/* What is in the view of @in; the mapping of the main program is number 1. -ENOMEM. */
int coati_dictionary_init(struct dictionary *d, const struct format_input *in);
void coati_dictionary_fini(struct dictionary *d);
/* The number of a text, which must outlive the dictionary. */
uint32_t coati_dictionary_string(struct dictionary *d, const char *text);
/* The same for one that does not. */
uint32_t coati_dictionary_copy(struct dictionary *d, const char *text);
/* The locations of a stack, innermost first: d->room[0..nr), nr is returned. No allocation for what
 * was met before. Hot. */
uint32_t coati_dictionary_stack(struct dictionary *d, const uint32_t *frames, uint32_t nr);
