/* SPDX-License-Identifier: MIT */
/* An event with its ring and the format of its records: what the kernel writes, decoded. */
#pragma once

#include <coati/event.h>
#include <coati/record.h>
#include <coati/ring.h>

struct tap {
	struct coati_event *ev;
	struct coati_ring *ring;
	struct coati_sample_format fmt;
	uint64_t id;
};

/* Fails the test when the event or its ring cannot be opened. */
void tap_open(struct tap *t, const struct coati_attr *attr, struct coati_target target,
	      uint64_t data_bytes);
void tap_close(struct tap *t);
/* The next record as it lies in the ring: 1, or 0 when there is none. */
int tap_raw(struct tap *t, struct coati_raw *ret);
/* The next record, decoded. Checks of each that its views lie inside and that it is encoded to the
 * same bytes. */
int tap_next(struct tap *t, struct coati_record *ret);
/* The next record of that type; fails the test when there is none. Others are passed over. */
void tap_find(struct tap *t, uint32_t type, struct coati_record *ret);
