/* SPDX-License-Identifier: MIT */
/*
 * What simpleperf, the profiler of Android, adds to perf.data: names of events, and the symbols of
 * the files that samples are in, because the files stay on the device. Sections in, names out; what
 * is damaged ends the walk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

/* Feature sections of its own. */
#define SIMPLEPERF_FILE	     128 /* files with their symbols, as plain fields */
#define SIMPLEPERF_META_INFO 129 /* keys and values, each terminated */
#define SIMPLEPERF_FILE2     132 /* as SIMPLEPERF_FILE, as protocol buffers */

enum simpleperf_kind {
	SIMPLEPERF_KERNEL = 0,
	SIMPLEPERF_MODULE,
	SIMPLEPERF_ELF,
	SIMPLEPERF_DEX, /* addresses are offsets in the file */
};

struct simpleperf_symbol {
	uint64_t vaddr;
	uint32_t size;
	const char *name; /* not terminated */
	size_t name_size;
};

struct simpleperf_file {
	const char *path; /* not terminated */
	size_t path_size;
	uint32_t kind;
	uint64_t min_vaddr, min_offset; /* of its code, in addresses and in the file */
	bool has_offset;		/* min_offset is known */
	struct cursor symbols;		/* walk them with coati_simpleperf_symbol() */
	uint32_t nr_symbols;		/* SIMPLEPERF_FILE: that are left */
	bool is_proto;
};

/* The next file of the section behind @c. 1, 0 at the end, -EBADMSG. */
int coati_simpleperf_file(struct cursor *c, bool is_proto, struct simpleperf_file *ret);
/* The next symbol of a file. 1, 0 at the end, -EBADMSG. */
int coati_simpleperf_symbol(struct simpleperf_file *f, struct simpleperf_symbol *ret);
/* The name of the event of that type and config out of the section META_INFO, its length in
 * *ret_len; NULL: it is not there. */
const char *coati_simpleperf_event(const uint8_t *bytes, size_t size, uint32_t type,
				   uint64_t config, size_t *ret_len);
