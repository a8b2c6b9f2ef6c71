/* SPDX-License-Identifier: MIT */
/*
 * Sums to compare: weight per thread (its number, its process' and its name) and per function (its
 * name, of innermost frames). One is made from the profile, one by reading the file; they must be
 * the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "format/live-counts.h"

struct tally_sum {
	const char *name;
	uint64_t weight;
};

struct tally_table {
	ARRAY(struct tally_sum) sums; /* as they came */
	struct map index;
};

struct tally {
	struct tally_table threads, functions;
	uint64_t weight;
	uint64_t samples; /* their number, where the format has it */
	bool has_samples;
	struct live_counts live;
	bool has_live; /* they are counted */
	struct arena arena;
	struct strbuf key;
	int failed; /* sticky: -ENOMEM, -E2BIG */
};

void coati_tally_init(struct tally *t);
void coati_tally_fini(struct tally *t);
/* A weight that counts for this thread and function. Saturates as all sums of a profile. */
void coati_tally_add(struct tally *t, uint32_t thread, uint32_t function, uint64_t weight);
/* Numbers for them; the same text is the same number. */
uint32_t coati_tally_thread(struct tally *t, int64_t pid, int64_t tid, const char *name);
uint32_t coati_tally_function(struct tally *t, const char *name);
/* -EBADMSG: the first difference between what should be there and what is. */
int coati_tally_compare(const struct tally *wanted, const struct tally *found,
			struct coati_error *err);
