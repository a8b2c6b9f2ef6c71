/* SPDX-License-Identifier: MIT */
/*
 * Stacks that are walked in the kernel (bpf/walker.h), in a capture. In: the records of the walker,
 * which come right before the samples that they belong to, and its requests for address spaces.
 * Out: the user part of each sample, and descriptions of address spaces for the walker
 * (describe.h).
 *
 * The walker writes through two events of each CPU: one into the ring buffer of the samples, so
 * that both lie side by side in the order in which they were made, and one for requests
 * (describer.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/event.h>
#include <coati/record.h>

#include "base/array.h"
#include "base/map.h"
#include "bpf/walker.h"
#include "capture/describer.h"
#include "capture/rings.h"

/* A report that waits for its sample. */
struct walk_report {
	uint32_t tid;
	uint32_t size; /* 0: none */
	uint8_t *bytes;
};

struct walks {
	struct walker *walker;
	struct coati_attr attr;
	struct coati_sample_format format;
	struct coati_set *stacks, *needs;
	struct map ids;			   /* of the events of stacks */
	uint64_t known_id;		   /* of an event that the recording has */
	uint8_t loss[128];		   /* a record with another id */
	ARRAY(struct walk_report) reports; /* by CPU */
	struct describer describer;
	struct thread_labels *labels; /* NULL: they are not wanted */
	uint64_t missing;	      /* samples without a report: there was no room for it */
	uint64_t dropped;	      /* coati_walks_dropped() so far */
	/* see struct coati_capture_stats */
	uint64_t checked, checked_over, checked_part, wrong;
};

/* What the walker says of one sample. */
struct walked {
	uint64_t family; /* of its address space */
	enum walker_end end;
	uint32_t flags;
	uint32_t nr_frames, nr_chain;
	const uint64_t *frames;
	const uint64_t *chain; /* by frame pointers, without the first address; nr_chain of them */
	const uint64_t *regs;  /* WALKER_REGS of them, in DWARF's numbers; NULL: no copy */
	const uint8_t *stack;
	uint64_t stack_addr;
	uint32_t stack_bytes;
	uint32_t label_bytes;
	const uint8_t *labels; /* entries, label_bytes of them; NULL: none */
};

int coati_walks_new(const struct walker_opts *opts, struct walks **ret, struct coati_error *err);
void coati_walks_free(struct walks **walks);
/* Open its events: @list has one dummy event. */
int coati_walks_open(struct walks *ws, const struct coati_event_list *list,
		     const struct coati_attr *side, const char *cpus, struct coati_error *err);
/* Before the rings are closed. */
void coati_walks_close(struct walks *ws);
/* Connect the events of stacks to the rings of the samples, and enable them. */
int coati_walks_connect(struct walks *ws, struct rings *rings, struct coati_error *err);
/* Reports that found no room since the last call, as the kernel counted them; 0 where it does
 * not. */
uint64_t coati_walks_dropped(struct walks *ws);
/* Read the labels of threads; @but_traced: not those of programs with the tracer. Between listen()
 * and the start of the describer. -ENOMEM. */
int coati_walks_read_labels(struct walks *ws, bool but_traced);
/* Let the walker ask. */
int coati_walks_listen(struct walks *ws, const char *procfs, struct coati_error *err);

/* The process has ended at that time. */
void coati_walks_forget(struct walks *ws, int32_t pid, uint64_t time);
/* A record on its way: true when it is the walker's, and only the walker needs it. */
bool coati_walks_take(struct walks *ws, const uint8_t *record);
/* The kernel counts records that found no room, and writes the count in the name of the event that
 * finds room again. That may be the walker's, which the recording does not have: then the record as
 * of one that it has. */
const uint8_t *coati_walks_known(struct walks *ws, const uint8_t *record);
/* Is it a request of the walker? Whose, and which. */
bool coati_walks_need(const uint8_t *record, int32_t *ret_pid, struct walker_need *ret);
/* The report that belongs to a sample; false: there is none. Lives until the next call of take. */
bool coati_walks_match(struct walks *ws, const struct coati_record *sample, struct walked *ret);
