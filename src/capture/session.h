/* SPDX-License-Identifier: MIT */
/*
 * Capturing into a writer of the caller's own: what `coati record` needs besides <coati/capture.h>.
 */
#pragma once

#include <stdint.h>

#include <coati/capture.h>

#include "record/batch.h"
#include "recording/writer.h"

/* Recordings have the event coati/live, for coati_writer_batch(). */
#define COATI_CAPTURE_LIVE (UINT64_C(1) << 10)

/* Keep each file with code open from its first mapping on, so that coati_capture_images() can
 * symbolize the recording even if the file is deleted or replaced meanwhile. Always done when
 * stacks are unwound while recording. */
#define COATI_CAPTURE_HOLD (UINT64_C(1) << 14)

/* Clocks take no samples of CPUs that are idle: the periods of all samples add up to the CPU time
 * that was used. */
#define COATI_CAPTURE_NO_IDLE (UINT64_C(1) << 15)

/* For captures that never end: at most 24 MiB of unwind tables in the kernel and 8 MiB here. Tables
 * that were not used for longest are given up, and loaded again when they are needed. */
#define COATI_CAPTURE_FEW_TABLES (UINT64_C(1) << 16)

/* With LIVE, where stacks are walked in the kernel: record the labels of threads as they are at
 * each sample. */
#define COATI_CAPTURE_LABELS (UINT64_C(1) << 17)

/* With LABELS: not those of programs with the tracer, whose live events come with
 * coati_capture_batch(). */
#define COATI_CAPTURE_LABELS_UNTRACED (UINT64_C(1) << 18)

enum coati_off_cpu_part {
	/* with which threads leave a CPU: refused where the kernel may not be looked at */
	COATI_OFF_CPU_STACKS,
	COATI_OFF_CPU_WAKES, /* when threads are woken: needs tracepoints with their payload */
	COATI_OFF_CPU_IRQS,  /* interrupts, with COATI_CAPTURE_IRQ: likewise */
};

struct coati_images;

#define COATI_LABEL_SETS_MAX 65536u /* different ones in one recording */

/* The labels that were read with samples, in all recordings. */
struct coati_label_counts {
	uint64_t samples; /* with labels */
	uint64_t changes; /* of the labels of a thread */
	uint64_t sets;	  /* different ones, in the last recording */
	/* samples whose labels were dropped: the names of their keys are not known; there were more
	 * sets or threads than are recorded; they could not be read */
	uint64_t unnamed, over, unread;
};
void coati_capture_get_labels(const struct coati_capture *cap, struct coati_label_counts *ret);

/* COATI_DROP_* (event/event.h) of what was left out of event @event of the list. */
uint32_t coati_capture_event_dropped(const struct coati_capture *cap, uint32_t event);

/* Its attributes as opened; NULL when it is not open. */
const struct coati_attr *coati_capture_event_attr(const struct coati_capture *cap, uint32_t event);

/* OFF_CPU: why a part is not in the recording, or NULL. */
const struct coati_error *coati_capture_off_cpu_error(const struct coati_capture *cap,
						      enum coati_off_cpu_part part);

/* Short names of the reasons in walk_ends ("end", "unknown" ...); NULL behind the last. */
const char *coati_walk_end_name(uint32_t end);
/* STACKS_BPF: why stacks are not walked in the kernel, or NULL: they are, or were not meant to
 * be. */
const struct coati_error *coati_capture_bpf_error(const struct coati_capture *cap);
/* Can stacks be walked in the kernel here? Loads the walker and gives it up. 0, or a negative errno
 * and what is missing. */
int coati_capture_probe_bpf(struct coati_error *err);

/* Begin a recording: *writer (fresh, nothing added to it) becomes the capture's, and NULL. Events,
 * what is known of the machine and what runs already are written. Between coati_capture_finish()
 * and the next begin the rings hold what comes. */
int coati_capture_begin(struct coati_capture *cap, struct coati_writer **writer,
			struct coati_error *err);

/* A batch of coati into the recording that is open (LIVE). The writer's error. */
int coati_capture_batch(struct coati_capture *cap, const struct coati_batch *batch);

/* Write what the rings hold, so that a reader of the recording gets, in order, every record from
 * before this call. Otherwise it gets the records of a round when the next one is written. */
int coati_capture_settle(struct coati_capture *cap);

/* OVERWRITE: write what the overwritable rings hold now and was not written before. */
int coati_capture_snapshot(struct coati_capture *cap, struct coati_error *err);

/* The images of the recording. With COATI_CAPTURE_HOLD, or when stacks are unwound while
 * recording, they hold files that no path leads to any more: deleted, replaced, or of a
 * container that ended. Use them to symbolize the recording, and do it before the capture is
 * closed. */
struct coati_images *coati_capture_images(const struct coati_capture *cap);

/* A process that runs, into a recording that the caller writes by himself: the names of its threads
 * and its mappings with build ids, time 0, as records of the event @attr (with
 * COATI_ATTR_SAMPLE_ID_ALL) and one of its ids. A process that is gone is no error; the writer's
 * are. */
int coati_capture_process(struct coati_writer *w, const struct coati_attr *attr, uint64_t id,
			  int32_t pid, struct coati_error *err);

/* Called by coati_capture_finish() of a recording to which all records are written, before its end
 * is written: the last chance to add batches. What it returns below 0 is the capture's error, but
 * the recording is ended. */
typedef int (*coati_capture_end_fn)(void *ctx, struct coati_writer *writer);
void coati_capture_before_end(struct coati_capture *cap, coati_capture_end_fn fn, void *ctx);
