/* SPDX-License-Identifier: MIT */
/* see limits.h */
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/parse.h"

/*
 * Chosen by what real recordings have, packed as they are: a process that starts, runs a program
 * and ends takes some hundred bytes, one mapping of it ten or more. What a thing takes in memory
 * makes them limits on memory: 2.5 KB for a process, 1.5 KB for a thread, 240 bytes for a mapping,
 * 6 KB for an image, 80 bytes for a node, 50 bytes for an event. No kind alone takes more than 300
 * MB for a small file.
 */
static const struct {
	const char *name, *variable;
	uint64_t least;	     /* for a file of any size */
	uint64_t times, per; /* and so many more for so many bytes; per 0: no more */
} kinds[LIMITS] = {
	[LIMIT_UNPACK] = { "unpacked bytes", "COATI_UNPACK_MOST", 500, 0, 0 },
	[LIMIT_THREADS] = { "threads", "COATI_THREADS_MOST", UINT64_C(1) << 16, 1, 16 },
	[LIMIT_PROCESSES] = { "processes", "COATI_PROCESSES_MOST", UINT64_C(1) << 16, 1, 16 },
	[LIMIT_MAPPINGS] = { "mappings", "COATI_MAPPINGS_MOST", UINT64_C(1) << 18, 1, 4 },
	[LIMIT_IMAGES] = { "mapped files", "COATI_IMAGES_MOST", UINT64_C(1) << 14, 1, 128 },
	[LIMIT_NAMES] = { "bytes of names", "COATI_NAMES_MOST", UINT64_C(64) << 20, 16, 1 },
	[LIMIT_STACKS] = { "bytes of stacks", "COATI_STACKS_MOST", UINT64_C(256) << 20, 32, 1 },
	[LIMIT_NODES] = { "nodes of a tree", "COATI_NODES_MOST", UINT64_C(1) << 21, 1, 4 },
	[LIMIT_EVENTS] = { "events of a timeline", "COATI_EVENTS_MOST", UINT64_C(1) << 22, 1, 1 },
	[LIMIT_RECORDERS] = { "recorders in a directory", "COATI_RECORDERS_MOST", 65536, 0, 0 },
};

int coati_limits_read(struct limits *ret, struct coati_error *err)
{
	*ret = (struct limits){ 0 };
	for (int i = 0; i < LIMITS; i++) {
		const char *text = secure_getenv(kinds[i].variable);

		if (text && *text && coati_parse_u64(text, 1, UINT64_MAX, &ret->set[i]) < 0)
			return coati_fail(err, -EINVAL, "%s=%.40s: it must be a number, 1 or more",
					  kinds[i].variable, text);
	}
	return 0;
}

uint64_t coati_limit(const struct limits *l, enum limit which, uint64_t input_bytes)
{
	uint64_t more = 0, sum;

	if (l->set[which])
		return l->set[which];
	if (kinds[which].per &&
	    __builtin_mul_overflow(input_bytes / kinds[which].per, kinds[which].times, &more))
		return UINT64_MAX;
	return __builtin_add_overflow(kinds[which].least, more, &sum) ? UINT64_MAX : sum;
}

int coati_limit_fail(struct coati_error *err, enum limit which, uint64_t limit)
{
	return coati_fail(err, -E2BIG,
			  "more than %llu %s; %s=NUMBER in the environment raises the limit",
			  (unsigned long long)limit, kinds[which].name, kinds[which].variable);
}

const char *coati_limit_name(enum limit which)
{
	return kinds[which].name;
}

const char *coati_limit_variable(enum limit which)
{
	return kinds[which].variable;
}
