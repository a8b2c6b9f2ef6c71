/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with an input: it is cut or damaged, records were lost or came late. Every reader
 * reports it beside its data; with --strict it is a failure, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"

struct coati_profile;
struct coati_timeline_info;

struct faults {
	bool is_cut;		  /* it ends before its end, or is still being written */
	bool is_stopped;	  /* the reading was, by Ctrl-C */
	uint64_t damaged;	  /* records and parts that are malformed */
	uint64_t lost, late;	  /* records */
	uint64_t over_limits;	  /* left out because of a limit of coati */
	uint64_t no_event;	  /* samples of an event that is not in the file */
	uint64_t live_lost;	  /* live events that programs had no room for */
	uint64_t batches_missing; /* of live events: overwritten before they were read */
	uint64_t batches_damaged;
};

/* Of all recordings that a profile has read. */
void coati_faults_of_profile(const struct coati_profile *p, struct faults *ret);
/* The same for a timeline, which finds more that comes late. */
void coati_faults_of_timeline(const struct coati_profile *p, const struct coati_timeline_info *info,
			      struct faults *ret);

/* Those of a further input. */
void coati_faults_add(struct faults *sum, const struct faults *f);

/* EXIT_DONE, or EXIT_FAILED and one sentence that has all of it. */
int coati_faults_judge(const struct faults *f, const char *input);

#define OPT_STRICT(type)                    \
	OPT_FLAG(0, "strict", type, strict, \
		 "fail if the input is truncated, damaged, lossy or late")
