/* SPDX-License-Identifier: MIT */
/* What a capture consists of: see <coati/capture.h>. */
#pragma once

#include <stdbool.h>

#include <coati/capture.h>

#include "capture/drain-stacks.h"
#include "capture/filter.h"
#include "capture/notice.h"
#include "capture/off-cpu.h"
#include "capture/rings.h"
#include "capture/scope.h"
#include "capture/steal.h"
#include "capture/tally.h"
#include "capture/coverage.h"
#include "capture/session.h"
#include "capture/walks.h"
#include "recording/writer.h"

/* The sets of a capture, in the order in which their events stand in a recording. */
enum capture_set {
	SET_EVENTS,   /* what was asked for */
	SET_WHEN,     /* what asks for a snapshot */
	SET_OFF,      /* stacks with which threads leave a CPU, */
	SET_OFF_FAST, /* and when there are many of them */
	SET_WAKE,     /* who is woken */
	SET_IRQ,      /* interrupts */
	SET_SIDE,     /* the side-band event */
	NR_SETS,
};

struct capture_set_state {
	const struct coati_event_list *list;
	struct coati_event_list *own_list; /* NULL: the list is the caller's */
	struct coati_attr *attrs;	   /* one for each event: to be opened, then as opened */
	struct coati_set *set;
	bool *unwinds;	/* one for each event: its stacks are walked here; NULL: none is */
	uint64_t *lost; /* of each entry, as of the end of the last recording */
};

#define TWINS_LANES 16

/* See twins.h. Of each lane of rings: an id of the only event in it that can have a twin. */
struct twins {
	uint8_t *lanes; /* of each event of SET_EVENTS, NULL: one lane is enough */
	uint32_t nr_lanes;
	const struct coati_attr *attrs[TWINS_LANES];
	uint64_t ids[TWINS_LANES];
	bool several[TWINS_LANES]; /* events that can have one */
	/* of the event of short switches, in lane 0 beside that with copies; 0: none */
	uint64_t fast_id;
	/* an event of context switches is in lane 0, perhaps with copies of stacks, perhaps both */
	bool has_switches;
	ARRAY(uint64_t) last_times; /* by ring of the reader: see twins_ring */
	uint8_t *copy;		    /* of what a ring holds, with ids and times put right */
	size_t room;
	uint8_t record[65536];
};

struct coati_capture {
	struct coati_capture_opts opts; /* pids, tids and texts are copies */
	struct capture_set_state sets[NR_SETS];
	struct rings rings;
	struct notice notice;
	struct tally tally;
	struct coverage coverage; /* of SET_EVENTS */
	uint32_t lead_index; /* number of the event in a recording that coverage_lead() names */
	struct coati_images *images; /* files that were mapped, for stacks and names */
	struct drain_stacks *drain;  /* NULL: no event is to be unwound */
	enum coati_scope scope;	     /* whose events are opened */
	struct filter filter;	     /* of records, with SCOPE_CPUS */
	struct walks *walks;	     /* NULL: stacks are not walked in the kernel */
	struct coati_error no_bpf;   /* why not; code 0: they are, or were not meant to be */
	bool is_auto;		     /* how stacks are taken was left to us */
	struct map when_ids, off_ids, own_ids, wake_ids;
	struct map sift_ids; /* of samples that have to be looked at, whose they are: filter.h */
	struct twins twins;
	struct off_cpu off;
	coati_capture_end_fn before_end; /* or NULL */
	void *before_end_ctx;
	struct coati_writer *writer; /* of the recording that is open */
	uint32_t parts;		     /* recordings begun */
	int64_t deadline_ns;
	uint64_t begin_ns, end_ns; /* of the recording; 0: at the exec, not yet */
	struct steal_log steal;	   /* what the host takes while the recording is made */
	uint64_t drained_ns;	   /* when the rings were read last */
	uint64_t side_id;
	uint64_t rounds, wakeups, snapshots, overwritten, synthesized;
	uint64_t lost;	       /* by the events' own count, of finished recordings */
	uint64_t exits_before; /* threads that ended before this recording began */
	uint64_t bytes;	       /* of the last recording */
	uint64_t cpu_ns;       /* of this process, when the last recording was finished */
	uint64_t dropped;      /* lost: samples that could not be written again */
	bool lost_exact;
	bool tasks;	 /* threads are watched, not the machine */
	bool has_kernel; /* some event samples in the kernel */
	bool started;
};

/* Write everything that the rings hold and mark the round. */
int coati_capture_drain(struct coati_capture *cap);
/* The labels of threads that are known by now. @all: nothing more comes for this recording. */
int coati_capture_settle_labels(struct coati_capture *cap, bool all);
/* The losses that the events count themselves, since the last call: as records, and added up. */
int coati_capture_balance(struct coati_capture *cap);

/* ring-bytes.c */
#define CAPTURE_COPIES_FEW 32 /* of stacks, that a ring buffer must have room for */
/* The CPUs whose context switches are recorded; NULL: all. */
const char *coati_capture_switch_cpus(const struct coati_capture_opts *o);
/* The size of each ring buffer, unless that much memory cannot be locked. */
uint64_t coati_capture_ring_bytes(const struct coati_capture *cap);
/* How much of each stack is copied for unwinding while recording. */
uint32_t coati_capture_copy_bytes(const struct coati_capture *cap);
