/* SPDX-License-Identifier: MIT */
/*
 * The reader of live events that is fed batch by batch: <coati/trace.h> reads a file with it.
 *
 * Batches may come in any order within a generation, and next() may be called after every feed():
 * it gives what is certain by then, which is everything up to the last but one complete generation
 * of every process that goes on, and everything of those that have ended (LIVE_BATCH_LAST). A
 * generation is complete with its end mark, with the second generation after it, or at the end of
 * its process or of the input. Memory is bounded by two generations of each process and a limit;
 * over it, events are given out before their generation is complete, and counted.
 *
 * Nothing is trusted. A batch that is malformed is counted with its position and left out; one that
 * is malformed from some event on gives the events before. The same batches in the same order give
 * the same events. One object, one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/trace.h>

struct coati_live_reader;

int coati_live_reader_new(const struct coati_trace_opts *opts, struct coati_live_reader **ret,
			  struct coati_error *err);

void coati_live_reader_free(struct coati_live_reader **t);

/* One batch, copied. @where: its place in the input, for messages. 0, also when it is malformed
 * (that is counted); -ENOMEM; -E2BIG: the names of a process are over our limits, or twice
 * max_bytes wait because next() was not called. Hot. */
int coati_live_reader_feed(struct coati_live_reader *t, const void *bytes, size_t size,
			   uint64_t where, struct coati_error *err);

/* Nothing more will come: next() gives all the rest. */
int coati_live_reader_finish(struct coati_live_reader *t);

/* 1 and an event, 0: nothing is certain until more is fed; -ENOMEM, -E2BIG. In order of time, those
 * of one instant by process, thread and slot; what breaks the order has the flag LATE.  Hot. */
int coati_live_reader_next(struct coati_live_reader *t, const struct coati_trace_event **ret);

/* The same for those who read a lot: how many, and the events that next() would give one by one.
 * All of them live until the next call on the trace.  Hot. */
int coati_live_reader_take(struct coati_live_reader *t,
			   const struct coati_trace_event *const **ret);

/* What a process said about itself, from its last generation. Texts live as long as the trace. */
struct coati_live_process {
	uint32_t pid, uid;
	uint64_t start_ticks;
	uint8_t boot_id[16];
	struct coati_trace_text comm, executable, name;
	uint64_t clock_source, clock_error_ns, realtime_ns, period_ns;
	uint64_t pair_ns; /* when it was realtime_ns */
	uint32_t nr_open_tasks;
	uint32_t reserved;
};

/* By position, in the order in which they came: 0, -ENOENT past the last. */
int coati_live_reader_process(const struct coati_live_reader *t, uint32_t i,
			      struct coati_live_process *ret);

/* What is open behind the last event that was given out. */
struct coati_live_opened {
	uint32_t pid, tid; /* of a task: of the thread that began it, 0 not known */
	uint32_t slot, depth;
	const struct coati_trace_site *site; /* or NULL */
	uint64_t id, parent;		     /* of tasks */
	uint64_t began_ns;
};

/* Regions by pid, tid, slot and depth; tasks by pid and id. 0, -ENOMEM. *ret lives until the next
 * call on the trace. */
int coati_live_reader_open_regions(struct coati_live_reader *t,
				   const struct coati_live_opened **ret, uint32_t *ret_nr);

int coati_live_reader_open_tasks(struct coati_live_reader *t, const struct coati_live_opened **ret,
				 uint32_t *ret_nr);

void coati_live_reader_get_quality(const struct coati_live_reader *t,
				   struct coati_trace_quality *ret);

/* The first thing that made no sense, with its position; code 0: there was none. */
const struct coati_error *coati_live_reader_damage(const struct coati_live_reader *t);

/* As coati_trace_field_next(). */
int coati_live_reader_field_next(const struct coati_live_reader *t,
				 const struct coati_trace_event *e, struct coati_trace_pos *pos,
				 struct coati_trace_field *ret);

/* As coati_trace_event_format(). */
size_t coati_live_reader_format(const struct coati_live_reader *t,
				const struct coati_trace_event *e, char *buf, size_t cap);
