/* SPDX-License-Identifier: MIT */
/* Tracks of a Perfetto trace that is read back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "readback/tally.h"

struct perfetto_tracks;
/* NULL: no memory. */
struct perfetto_tracks *coati_perfetto_tracks_new(void);
void coati_perfetto_tracks_free(struct perfetto_tracks *t);
/* A descriptor. -ENOMEM; -EBADMSG: its parent (0: none) was not defined. */
int coati_perfetto_tracks_add(struct perfetto_tracks *t, uint64_t uuid, uint64_t parent,
			      bool is_counter);
/* An event. -EBADMSG: its track was not defined, is of another kind, goes back in time, or a slice
 * ends that has not begun. */
int coati_perfetto_tracks_event(struct perfetto_tracks *t, uint64_t uuid, uint64_t type,
				uint64_t time);
/* A switch on a CPU from a thread to another: -EBADMSG when it is not who was switched to before,
 * or time goes back. @from negative: a wakeup. */
int coati_perfetto_tracks_switch(struct perfetto_tracks *t, uint64_t cpu, int64_t from, int64_t to,
				 uint64_t time);
/* The sums; -EBADMSG: a slice has no end. */
int coati_perfetto_tracks_end(struct perfetto_tracks *t, struct tally *tally);
