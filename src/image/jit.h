/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time in one process: functions with the time from which they are there. In: a
 * perf map (no times: what is written last wins) or a jitdump file (each function with its time,
 * moved or overwritten later). Out: the function at an address at a time.
 *
 * The files are untrusted: see jit-file.h for how they are opened. Malformed entries are skipped
 * and counted; entries above a limit are dropped and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/ranges.h"

#define JIT_FUNCTIONS_MAX ((size_t)1 << 22)
#define JIT_NAME_MAX	  4096 /* longer names are cut */
#define JIT_TEXT_MAX	  ((size_t)1 << 30)
#define JIT_LINES_MAX	  ((size_t)1 << 22)

struct jit_line {
	uint64_t addr;
	const char *file;
	uint32_t line;
	uint32_t discriminator;
};

struct jit_function {
	const char *name; /* lives as long as the jit */
	uint64_t start, size;
	uint32_t first_line, nr_lines; /* of jitdump's debug info, by address */
};

struct jit_stats {
	uint64_t functions;
	uint64_t malformed; /* lines or records that are none */
	uint64_t over;	    /* left out: a ceiling was reached */
	uint64_t moves, closes, unwinding, debug;
};

struct jit {
	struct arena arena;
	struct map names;   /* strings in the arena */
	struct map by_code; /* jitdump's number of a function to its latest place */
	struct ranges ranges;
	ARRAY(struct jit_function) functions;
	ARRAY(struct jit_line) lines;
	struct jit_stats stats;
};

void coati_jit_init(struct jit *j);
void coati_jit_fini(struct jit *j);

/* A function at [start, start + size) from @time on. 0 when it was added, or left out and counted;
 * -ENOMEM. */
int coati_jit_add(struct jit *j, uint64_t start, uint64_t size, const char *name, uint64_t time);
/* Nothing is there from @time on. -ENOMEM. */
int coati_jit_remove(struct jit *j, uint64_t start, uint64_t size, uint64_t time);
/* The function that covers @addr at @time (0: at the end): NULL when there is none. Lives: until
 * the next add. *ret_since: from when that is so, 0: since ever. */
const struct jit_function *coati_jit_find(struct jit *j, uint64_t addr, uint64_t time,
					  uint64_t *ret_since);
/* The line of @addr in @f: NULL when it is unknown. */
const struct jit_line *coati_jit_line(const struct jit *j, const struct jit_function *f,
				      uint64_t addr);

/* The bytes of a perf map: "START SIZE name" lines, numbers hexadecimal with or without 0x. -ENOMEM
 * alone. */
int coati_perf_map_parse(struct jit *j, const char *text, size_t size);
/* The bytes of a jitdump file, version 1, of either byte order. What was read before a damage
 * stays. -EBADMSG: not a jitdump file, or one that stops making sense; -ENODATA: it ends in
 * mid-record (the process died, or still writes), -ENOMEM. */
int coati_jitdump_parse(struct jit *j, const void *bytes, size_t size, struct coati_error *err);

/* The same from files: @path as jit-file.h takes it. */
struct jit_source;
int coati_perf_map_read(struct jit *j, const struct jit_source *from, struct coati_error *err);
int coati_jitdump_read(struct jit *j, const struct jit_source *from, struct coati_error *err);

struct coati_images;
/* Is there a perf map of that process, be it one that may not be read? */
bool coati_image_has_perf_map(struct coati_images *images, int32_t pid);
