/* SPDX-License-Identifier: MIT */
/*
 * Twins: two events that count the same software event (page faults, context switches ...). Since
 * about Linux 6.3 the kernel prepares such a sample once and writes it for all of them, with the id
 * of the one that was opened last: to which event it belongs cannot be seen any more. Twins in one
 * capture are refused where the kernel is like that. Events of another recorder are twins too, and
 * their ids come in our rings: in files with several events no reader, perf included, knows what to
 * do with such samples. So events that can have twins have rings of their own, each kind in a lane:
 * the ring tells which event a sample is of, and its id is put right before it is written. Where
 * that cannot be known (short switches in lane 0) they are counted.
 */
#pragma once

#include "capture/capture.h"

/* Whether an event of @cap can have a twin somewhere. */
bool coati_capture_may_have_twins(const struct coati_capture *cap);
/* -EINVAL: two of its events are twins, and the kernel confuses them. */
int coati_capture_check_twins(const struct coati_capture *cap, struct coati_error *err);
/* Before events are opened: which need lanes of their own. */
int coati_twins_plan(struct coati_capture *cap, struct coati_error *err);
/* Event @event of the set @which is open and has this id. */
void coati_twins_note(struct coati_capture *cap, int which, uint32_t event, uint64_t id);
/* @record, or a copy of it with the id put right, from a ring of @lane.  Lives: until the next
 * call. */
const uint8_t *coati_twins_claim(struct coati_capture *cap, uint8_t lane, const uint8_t *record);
/* The same for all that a ring holds: the spans become those of a copy, because the kernel lets
 * nobody write into a ring. */
int coati_twins_claim_spans(struct coati_capture *cap, uint8_t lane, struct coati_span *first,
			    struct coati_span *second);
