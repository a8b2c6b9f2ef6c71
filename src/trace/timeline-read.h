/* SPDX-License-Identifier: MIT */
/* A recording on its way into a timeline: what is known while it is read, and forgotten
 * afterwards. */
#pragma once

#include "base/strbuf.h"
#include "live-read/check.h"
#include "live-read/reader.h"
#include "trace/backlog.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

#include <coati/recording.h>

struct coati_live_reader;

/* What the samples of an event of the file tell. */
enum load_kind {
	LOAD_UNKNOWN = 0,
	LOAD_NOTHING,
	LOAD_LIVE,
	LOAD_OFF, /* where a thread leaves its CPU, right before its switch record */
	LOAD_WAKE,
	LOAD_SWITCH,
	LOAD_SYSCALL,
	LOAD_SYSRET,
	LOAD_FAULT,
	LOAD_SAMPLE,
	LOAD_IRQ_ENTRY,
	LOAD_IRQ_EXIT,
};
/* As the kind of an event that waits for its stack: none of a timeline's. */
#define LOAD_OFF_KIND ((enum coati_timeline_kind)1000)

struct load_event {
	enum load_kind kind;
	uint64_t config;
	uint64_t irq; /* kind of interrupt, above its number */
	struct coati_tracepoint *tracepoint;
	int fields[3]; /* negative: there is none */
};

struct load {
	struct coati_timeline *timeline;
	ARRAY(struct load_event) events; /* by event of the file */
	uint32_t nr_seen;		 /* events that were looked at */
	struct map stacks;		 /* of a thread: with which it is about to leave */
	/* of a thread: hardware interrupts that are being served, one in the other */
	struct map irqs;
	struct coati_timeline_event pending;
	uint64_t begin, end; /* as the recorder says; 0: it does not */
	uint64_t lost, lost_samples;
	uint64_t lost_reports;		 /* of the walker */
	bool counts_lost;		 /* coati_reading_counts_lost() */
	uint64_t nr_items;		 /* records so far */
	struct coati_live_reader *trace; /* of live events; NULL: none so far */
	struct coati_trace_check *check; /* of the same */
	struct strbuf text;		 /* while there is one */
	struct backlog backlog;		 /* SUMMARY: batches that wait */
	struct fold *fold;		 /* of them, or NULL */
	bool looked, begun, at_exec, has_switches;
	bool has_samples; /* the kernel took some */
	bool no_memory;
	bool whole; /* all threads of some processes are watched */
};

/* timeline-events.c */
enum load_kind coati_load_kind(const struct coati_recording_event *e);
/* NULL: no memory, or no such event. */
struct load_event *coati_load_event(struct load *l, const struct coati_recording *r, uint32_t at);
/* Field number @field of those that a tracepoint of its kind is asked for; false: it has none. */
bool coati_load_field(const struct load_event *v, int field, const struct coati_payload *payload,
		      int64_t *ret);
/* Is it an interrupt of hardware? Those of software may be served on behalf of the thread: what it
 * sends to itself wakes the reader there. */
bool coati_load_is_hard(const struct load_event *v);
/* timeline-names.c: when all is read. */
void coati_load_name_stacks(struct coati_timeline *t);
void coati_load_name_threads(struct coati_timeline *t);
/* timeline-recorder.c: before the first record. */
int coati_load_recorder(struct load *l, const struct coati_recording *r);
/* timeline-load.c */
/* A batch of coati; and when all of them were seen. */
int coati_load_live(struct load *l, const struct coati_recording_item *item,
		    const struct coati_record *rec);
int coati_load_live_end(struct load *l);
void coati_load_live_fini(struct load *l);
/* All live events that come out of the reader now; -ENOMEM; FOLD_GIVE_UP. */
int coati_load_feed(struct load *l, const struct backlog_batch *b);
/* fold-load.c: SUMMARY: the end of the timeline, and live events after the kernel's part. */
int coati_load_fold(struct load *l, struct coati_error *err);
