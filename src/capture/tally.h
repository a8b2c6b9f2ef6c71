/* SPDX-License-Identifier: MIT */
/*
 * What went by. In: the bytes of a ring, on their way into the recording. Out: numbers for the
 * account at the end, the files that were mapped, who lives, and whether a snapshot is due. Headers
 * only; the few records that matter are decoded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>
#include <coati/ring.h>

#include "base/array.h"
#include "capture/images.h"
#include "capture/tasks.h"
#include "capture/coverage.h"

#define TALLY_RECORD_MAX 65536

/* Process and thread. */
struct tally_waker {
	uint32_t ids[2];
};

struct tally {
	uint64_t records, samples;
	uint64_t lost;	       /* records, as LOST records say */
	uint64_t lost_samples; /* by the hardware, as LOST_SAMPLES records say */
	uint64_t off_samples;  /* of those of @off */
	uint64_t switches;     /* threads that left a CPU */
	uint64_t exits;	       /* threads that ended */
	uint64_t throttled;
	uint64_t first_time, last_time; /* of samples; 0: none yet */
	uint64_t damaged_bytes;
	uint64_t unassigned;		   /* samples whose id is none of @own */
	struct coati_sample_format format; /* the identity that all records have */
	struct images images;
	struct tasks tasks;
	const struct map *when; /* ids of events that ask for a snapshot, NULL: none */
	bool when_seen;
	const struct map *off;	   /* ids of events that tell of switches and wakeups, NULL: none */
	const struct map *own;	   /* ids of all events, NULL: not looked at */
	struct coverage *coverage; /* adds the samples up; NULL: not wanted */
	/* ids of events that report wakeups by any thread, NULL: none; the wakers, each thread once
	 * and in order; how many of them have been named */
	const struct map *wakes;
	struct map waker_index;
	ARRAY(struct tally_waker) wakers;
	size_t nr_named;
	int failed;	 /* -ENOMEM */
	uint8_t *joined; /* room for a record that wraps */
};

/* @side: attributes of the side-band event. */
int coati_capture_tally_init(struct tally *t, const struct coati_attr *side, bool remember_tasks);
void coati_capture_tally_fini(struct tally *t);
/* All records of two spans that are one stream.  Hot: a few nanoseconds a record. */
void coati_capture_tally_walk(struct tally *t, struct coati_span first, struct coati_span second);
/* How many were lost, when the events themselves counted @counted lost samples. LOST records count
 * the same ones, and records of other kinds beside; what the hardware lost neither of them has. */
uint64_t coati_capture_tally_lost(const struct tally *t, uint64_t counted);
