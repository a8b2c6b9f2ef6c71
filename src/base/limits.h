/* SPDX-License-Identifier: MIT */
/*
 * How much a reader keeps of a file that it does not trust. Each limit is a number that every file
 * may reach, and more for a larger file: a recording of a build with a million processes is read
 * whole, and a small file that claims a million is not. An environment variable replaces each of
 * them.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

enum limit {
	LIMIT_UNPACK =
		0, /* bytes that come out of each compressed byte: not by the size of the file */
	LIMIT_THREADS,
	LIMIT_PROCESSES, /* that started, and programs that were executed */
	LIMIT_MAPPINGS,
	LIMIT_IMAGES,	 /* files, JITs and other code with addresses that were asked for */
	LIMIT_NAMES,	 /* bytes of names of threads, files and cgroups */
	LIMIT_STACKS,	 /* bytes of stacks and of what was counted on them */
	LIMIT_NODES,	 /* of a tree of calls */
	LIMIT_EVENTS,	 /* of a timeline, of each kind */
	LIMIT_RECORDERS, /* files in a directory of flight recorders */
	LIMITS,
};

struct limits {
	uint64_t set[LIMITS]; /* by the environment; 0: it is not */
};

/* -EINVAL: a variable is not a number. */
int coati_limits_read(struct limits *ret, struct coati_error *err);
/* The limit of who has read so many bytes of files. */
uint64_t coati_limit(const struct limits *l, enum limit which, uint64_t input_bytes);
/* Of a file that was read anyway: limit, its name, times that it was in the way, its
 * variable. */
#define LIMIT_NOTE                                                                                 \
	"more than %llu %s: others were left out %llu times; %s=NUMBER in the environment raises " \
	"the limit"
/* -E2BIG, with a sentence on the limit that was reached and how to raise it. */
int coati_limit_fail(struct coati_error *err, enum limit which, uint64_t limit);
/* "threads", and the variable that sets it. */
const char *coati_limit_name(enum limit which);
const char *coati_limit_variable(enum limit which);
