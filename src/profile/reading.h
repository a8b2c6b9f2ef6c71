/* SPDX-License-Identifier: MIT */
/* One recording on its way into a profile: what is known while it is being read, and forgotten afterwards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/chain.h"
#include "profile/profile.h"

#define READING_TASKS 1024 /* a power of two */
#define READING_WORDS 8192 /* more than a record can hold */

/* A thread that was seen lately. */
struct task {
	int32_t pid, tid;
	uint32_t epoch; /* right only while nothing was told about tasks; 0: empty */
	uint32_t thread;
	uint64_t space;
	bool passes;
};

/* What to do with the samples of one event of the file. */
struct plan {
	uint32_t event; /* of the profile */
	bool is_known, is_live, passes;
	bool has_period, has_chain, unwinds;
	uint64_t fixed_weight; /* without a period */
	uint32_t max_stack;
};

struct reading {
	struct coati_profile *profile;
	struct coati_recording *recording;
	struct coati_processes *processes;
	uint32_t file;
	enum coati_machine machine;
	ARRAY(struct plan) plans; /* by event of the file */
	struct chains chains;
	struct task tasks[READING_TASKS];
	uint32_t task_epoch;   /* changes with every record about tasks and mappings */
	uint32_t kernel_epoch; /* changes with every record about the kernel's code */
	uint64_t start, end;   /* time of the first sample and, where it is needed, of the last */
	uint64_t from, to;     /* what the filter lets through */
	uint64_t cgroup;       /* the last one, and its labels */
	uint32_t cgroup_labels;
	ARRAY(uint8_t) image_kinds;	   /* by image, plus 1; 0: not asked yet */
	uint64_t *words;		   /* READING_WORDS, twice */
	uint32_t *locations;		   /* max_frames */
	struct coati_unwind_frame *frames; /* max_frames */
};

/* One sample into the profile. 0; -ENOMEM. What is over a ceiling or makes no sense is counted. */
int coati_reading_sample(struct reading *r, const struct coati_recording_item *item);
/* The stack of a chain.  -ENOMEM, -E2BIG. *ret_era as in struct chain. */
int coati_reading_stack(struct reading *r, const struct chain_key *key, uint64_t time,
			uint32_t *ret_stack, uint32_t *ret_era);
/* The user part from registers and stack copy behind the kernel part of the chain: fills key->words (r->words), nr and mode.
 * false: there is nothing to walk. */
bool coati_reading_walk(struct reading *r, const struct coati_record *rec, uint64_t time,
			struct chain_key *key);
/* In which span of time code that changes is the same for us: never 0. */
static inline uint32_t reading_era(uint64_t time)
{
	return (uint32_t)(time >> 30) + 1;
}
