/* SPDX-License-Identifier: MIT */
/*
 * Parcels that wait to be sent, in order, one file each in a directory of their own, so that they
 * outlive the agent. The directory has a limit in bytes: over it the oldest parcels are dropped,
 * and what remains of each is a note with its sums, which is sent in its place.
 *
 * A parcel that was part of an attempt to send it is "tried": whether it has arrived must be asked
 * before it is sent again. Those of an earlier run of the agent count as tried.
 *
 * Without a directory, and while the disk is full, parcels wait in memory, up to a smaller limit.
 * Callers take turns; a lock file keeps other processes away.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/array.h"
#include "fleet/parcel.h"

#define SPOOL_BYTES  (UINT64_C(256) << 20)
#define SPOOL_MEMORY (UINT64_C(8) << 20) /* without a file */
#define SPOOL_MAX    (1u << 20)		 /* parcels */

struct spool_entry {
	uint64_t number, bytes;
	bool tried;
	bool dropped; /* it is a note */
	char *memory; /* instead of a file */
};

struct spool {
	int dir, lock; /* -1: in memory alone */
	uint64_t max_bytes, bytes, memory_bytes;
	uint64_t next_number;
	size_t busy; /* the first ones are being sent: they stay as they are */
	ARRAY(struct spool_entry) entries; /* the oldest first */
	uint64_t dropped_windows, damaged;
	int disk; /* 0, or why the last parcel is not on disk */
	/* Stacks or contexts were dropped: the encoder must send all of them again. */
	bool lost_names;
};

/* @path NULL: in memory alone. @max_bytes 0: the default. -EAGAIN: another agent uses it. */
int coati_spool_open(struct spool *s, const char *path, uint64_t max_bytes,
		     struct coati_error *err);
void coati_spool_close(struct spool *s);
/* Take a copy of the parcel. Negative: it is lost for good. */
int coati_spool_add(struct spool *s, const struct parcel *p);
/* Read parcel number @i from the oldest. -EBADMSG: it is damaged. */
int coati_spool_get(const struct spool *s, size_t i, struct parcel *ret);
/* The first @nr are being sent from now on. */
void coati_spool_begin(struct spool *s, size_t nr);
/* No more: the first @nr_sent of them have arrived, or are given up. */
void coati_spool_end(struct spool *s, size_t nr_sent);
