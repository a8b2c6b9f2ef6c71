/* SPDX-License-Identifier: MIT */
/*
 * Twins: two events that count the same software event (page faults, context switches ...). Since
 * about Linux 6.3 the kernel prepares such a sample once and writes it for all of them, with the id
 * of the one that was opened last: to which event it belongs cannot be seen any more. Twins in one
 * capture are refused where the kernel is like that. Events of another recorder are twins too, and
 * their ids come in our rings: in files with several events no reader, perf included, knows what to
 * do with such samples. So events that can have twins have rings of their own, each kind in a lane:
 * the ring tells which event a sample is of, and its id is put right before it is written.
 *
 * Lane 0 has two events of context switches, with copies of stacks and without, which take turns.
 * There the time decides: while the one with copies takes samples alone it is that one, else the
 * other one, whose fields are the first ones of both. Ids of these two are not believed at other
 * times either: while they change over, the kernel confuses them, too.
 *
 * The time of such a sample may be another recorder's as well, by another clock. In lane 0 it is
 * kept between those of the records around it in the ring, so that it stays in front of the switch
 * that it belongs to.
 *
 * Another recorder shows in records of kernel symbols and BPF programs, too: the kernel makes them
 * longer than they are, and the id and the time would be read from what lay in the ring before.
 * Their trailers are moved to the end.
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
/* A ring of a lane, and the last time in it that is known to be right; NULL: times are left alone
 * (the ring is read backward). */
struct twins_ring {
	uint8_t lane;
	uint64_t *last_time;
};
/* Ring @i of the reader.  Lives: until the next call. */
struct twins_ring coati_twins_ring(struct coati_capture *cap, uint32_t i);
/* The same, times and trailers, for all that a ring holds: the spans become those of a copy,
 * because the kernel does not allow writing into a ring. -ENOMEM. */
int coati_twins_claim_spans(struct coati_capture *cap, struct twins_ring ring,
			    struct coati_span *first, struct coati_span *second);
