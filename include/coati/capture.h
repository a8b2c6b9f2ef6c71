/* SPDX-License-Identifier: MIT */
/*
 * Stations 1 to 3 run together: events on a command, on processes or on the machine, one ring a
 * CPU, and a recording into which everything flows as it lies in the rings, but for samples whose
 * stacks are unwound on the way (STACKS_TABLE).
 *
 *	coati_child_start(argv, NULL, &child, &err);
 *	pid = coati_child_pid(child);
 *	coati_capture_open(list, &(struct coati_capture_opts){ .size = sizeof(struct
 *	coati_capture_opts),
 *			   .flags = COATI_CAPTURE_ON_EXEC, .pids = &pid, .nr_pids = 1 }, &cap,
 *			   &err);
 *	coati_child_exec(child, &err);
 *	coati_writer_open("coati.data", NULL, &writer, &err);
 *	coati_capture_begin(cap, &writer, &err);
 *	while ((r = coati_capture_wait(cap)) > 0)
 *		;
 *	coati_capture_stop(cap, &err);
 *	coati_capture_finish(cap, &err);
 *	coati_capture_close(&cap);
 *
 * What runs already when a recording begins (threads, mappings, the kernel and its modules) is
 * written first, with time 0, so that samples find their names. What happens from then on comes
 * from the kernel through a side-band event that shares the rings with the samples, so that nothing
 * can get between them. One object, one thread at a time, unless said otherwise.
 */
#ifndef COATI_CAPTURE_H
#define COATI_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/event.h>
#include <coati/recording.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How call stacks are taken, unless an event says otherwise (call-graph= term). */
enum coati_stacks {
	/* TABLE for events that are taken at a rate, continued by the kernel's frame pointers where
	 * tables end before the root; FP for those that are taken every time, and where rings are
	 * small */
	COATI_STACKS_AUTO = 0,
	COATI_STACKS_NONE,
	COATI_STACKS_FP,    /* by the kernel, from frame pointers */
	COATI_STACKS_DWARF, /* registers and a copy of the stack, for a reader to unwind */
	COATI_STACKS_LBR,   /* by the CPU */
	/* registers and a copy of the stack, unwound here: the recording has call chains */
	COATI_STACKS_TABLE,
};

/* coati_capture_opts.flags */
/* pids has one process that is held before its exec: sample from there on */
#define COATI_CAPTURE_ON_EXEC (UINT64_C(1) << 0)
/* not the threads and children that are started */
#define COATI_CAPTURE_NO_INHERIT (UINT64_C(1) << 1)
/* user space only where the kernel part is refused */
#define COATI_CAPTURE_USER_OK	 (UINT64_C(1) << 2)
#define COATI_CAPTURE_SWITCHES	 (UINT64_C(1) << 3) /* a record at each context switch */
#define COATI_CAPTURE_NAMESPACES (UINT64_C(1) << 4) /* namespaces of those who run already, too */
#define COATI_CAPTURE_CGROUPS	 (UINT64_C(1) << 5) /* the cgroup of each sample, and their names */
/* data addresses in all samples, and mappings of data */
#define COATI_CAPTURE_DATA (UINT64_C(1) << 6)
/* rings that keep the newest samples until coati_capture_snapshot() */
#define COATI_CAPTURE_OVERWRITE (UINT64_C(1) << 7)
/* there will be several recordings, one after the other: remember who lives */
#define COATI_CAPTURE_PARTS (UINT64_C(1) << 8)
#define COATI_CAPTURE_DELAY (UINT64_C(1) << 9) /* with ON_EXEC: not before coati_capture_start() */
/* recordings have the event coati/live, for coati_writer_batch() */
#define COATI_CAPTURE_LIVE (UINT64_C(1) << 10)
/* SWITCHES, and where the kernel may be looked at the event COATI_OFF_CPU_EVENT: the stack with
 * which a thread leaves a CPU, every time; and COATI_OFF_CPU_WAKING: who is woken. Switches are of
 * all CPUs where threads are not watched by themselves, even when samples are of some, because a
 * thread may go on elsewhere. Not with OVERWRITE. */
#define COATI_CAPTURE_OFF_CPU (UINT64_C(1) << 11)
/* with OFF_CPU: who is woken, and the stack of who wakes him */
#define COATI_CAPTURE_WAKE_STACKS (UINT64_C(1) << 12)
/* with OFF_CPU: when interrupts begin and end that threads have to bear */
#define COATI_CAPTURE_IRQ (UINT64_C(1) << 13)

/* Keep each file with code open from its first mapping on, so that coati_capture_images() can
 * symbolize the recording even if the file is deleted or replaced meanwhile. Always done when
 * stacks are unwound while recording. */
#define COATI_CAPTURE_HOLD (UINT64_C(1) << 14)

struct coati_capture_opts {
	uint64_t size;
	uint64_t flags;
	/* Whom; as in struct coati_set_opts. */
	const int32_t *pids;
	uint64_t nr_pids;
	const int32_t *tids;
	uint64_t nr_tids;
	const char *cpus;
	const char *cgroup;
	/* How often, for events that do not say it themselves. Rates are for clocks and hardware
	 * events alone: tracepoints, probes, breakpoints and rare software events are taken every
	 * time. Both 0: 1000 a second. */
	uint64_t freq_hz;
	uint64_t period; /* every so many, for all; counts before freq_hz */
	enum coati_stacks stacks;
	/* DWARF, TABLE: of the copy; 0: 8192 with DWARF, what the rings have room for with TABLE,
	 * 8192 to 65528 */
	uint32_t stack_bytes;
	uint32_t max_stack; /* frames; 0: the kernel's default, and 512 in user space with TABLE */
	uint32_t reserved;
	uint64_t ring_bytes;   /* a ring; 0: by the number of CPUs and the mlock budget */
	uint64_t wakeup_bytes; /* write when so many have come into a ring; 0: a quarter of it */
	/* With OVERWRITE: a snapshot is taken by itself when one of these happens more than
	 * when_count times, counted on each CPU, and for each thread where threads are watched, by
	 * itself. */
	const struct coati_event_list *when;
	uint64_t when_count;
	const char *procfs, *tracefs; /* NULL: the usual places */
	/* Called by coati_capture_finish() of a recording to which all records are written, before
	 * its end is: the last chance to add batches. NULL: nobody is. What it returns below 0 is
	 * the capture's error, but the recording is ended. */
	int (*before_end)(void *ctx, struct coati_writer *writer);
	void *before_end_ctx;
	int64_t argc; /* the command line that the recording tells of, 0: none */
	const char *const *argv;
};

struct coati_capture_stats {
	/* written; samples of switches and wake-ups (OFF_CPU) are not counted */
	uint64_t records, samples;
	uint64_t lost;	     /* records that did not fit into a ring */
	uint64_t lost_exact; /* 1: by the kernel's own count; 0: only what records told */
	uint64_t throttled;  /* times that the kernel stopped an event because it fired too fast */
	uint64_t bytes;	     /* of the recording that is open, or was last */
	uint64_t first_time, last_time;
	uint64_t wakeups, rounds;
	/* snapshots, and those before which something was overwritten */
	uint64_t snapshots, overwritten;
	uint64_t damaged_bytes;	       /* in rings, skipped */
	uint64_t nr_rings, ring_bytes; /* as they are */
	uint64_t synthesized;	       /* records about what ran already */
	/* Stacks that were unwound here: why they ended (index: enum coati_unwind_end of
	 * <coati/unwind.h>; 0 is complete), how many have a guessed frame, and samples without a
	 * user stack (kernel threads). All 0: none was. */
	uint64_t stack_ends[8];
	uint64_t stack_guesses, stack_none;
	uint64_t switches; /* SWITCHES: times that a thread left a CPU */
	/* OFF_CPU, AUTO: times that there were too many to copy stacks, and frame pointers were
	 * used */
	uint64_t switches_fast;
	uint64_t switch_stack_ends[8]; /* as stack_ends, of threads that left a CPU */
	/* CPU time of this process when the last recording was finished, as it is written there. 0:
	 * none was */
	uint64_t cpu_ns;
	/* Samples with the id of an event that is not of this capture. Since about Linux 6.3 the
	 * kernel puts the id of the newest event into the samples of all that count the same
	 * software event (page faults, context switches ...), also those of other recorders: where
	 * one event of this capture alone can be meant, a file gives them to it. Here are those of
	 * which it cannot be known, or which went into a stream: readers leave them out. */
	uint64_t strangers;
	uint64_t files_held; /* files with code that are kept open (HOLD) */
	uint64_t files_over; /* not kept open, because there are too many */
	/* How much was seen. Of the first clock that is sampled, else of the first hardware event
	 * at a rate: the sum of the periods of its samples, and what it counted in all threads that
	 * were recorded, those that ended before their first sample too. The second is known when a
	 * recording is finished; 0: it is not known. */
	uint64_t sampled, counted;
	uint64_t sampled_period; /* what one sample stands for, on average; 0: not known */
	uint32_t sampled_event;	 /* its number in the list; UINT32_MAX: none */
	uint32_t sampled_time;	 /* 1: it is a clock, and both are ns */
	/* 1: it is a clock that takes samples in user space, in the kernel or outside of idle loops
	 * alone, but counts everywhere */
	uint32_t sampled_part;
	uint32_t reserved;
	/* Where threads are watched: those that ended, main threads of processes too. */
	uint64_t exits;
	/* Stacks that tables could not follow to their root, and frame pointers continued: they are
	 * not in stack_ends, because the names of their last frames tell whether they are complete.
	 */
	uint64_t stack_pointers;
};

enum coati_off_cpu_part {
	/* with which threads leave a CPU: refused where the kernel may not be looked at */
	COATI_OFF_CPU_STACKS,
	COATI_OFF_CPU_WAKES, /* when threads are woken: needs tracepoints with their payload */
	COATI_OFF_CPU_IRQS,  /* interrupts, with COATI_CAPTURE_IRQ: likewise */
};

struct coati_capture;
struct coati_images;

/* Open the events of @list and a ring for each CPU. Nothing is sampled before
 * coati_capture_start(), or before the exec with ON_EXEC. Events that this machine does not have
 * are left out as with coati_set_open(); -ENOENT when none is left. The list must outlive the
 * capture. */
COATI_API int coati_capture_open(const struct coati_event_list *list,
				 const struct coati_capture_opts *opts, struct coati_capture **ret,
				 struct coati_error *err);
/* Why event @event of the list is not open, or NULL; COATI_DROP_* of what was left out for it; its
 * attributes as opened, NULL when it is not. */
COATI_API const struct coati_error *coati_capture_event_error(const struct coati_capture *cap,
							      uint32_t event);
COATI_API uint32_t coati_capture_event_dropped(const struct coati_capture *cap, uint32_t event);
COATI_API const struct coati_attr *coati_capture_event_attr(const struct coati_capture *cap,
							    uint32_t event);
/* OFF_CPU: why a part is not in the recording, or NULL. */
COATI_API const struct coati_error *coati_capture_off_cpu_error(const struct coati_capture *cap,
								enum coati_off_cpu_part part);

/* Begin a recording: *writer (fresh, nothing added to it) becomes the capture's, and NULL. Events,
 * what is known of the machine and what runs already are written. Between coati_capture_finish()
 * and the next begin the rings hold what comes. */
COATI_API int coati_capture_begin(struct coati_capture *cap, struct coati_writer **writer,
				  struct coati_error *err);
/* Let the events sample, or stop them. */
COATI_API int coati_capture_start(struct coati_capture *cap, struct coati_error *err);
COATI_API int coati_capture_stop(struct coati_capture *cap, struct coati_error *err);

/* Wait until there is something, and write all that is in the rings; at least once a second.
 *   1           written
 *   0           all that was watched has ended, and everything is written
 *   -ETIMEDOUT  the deadline has passed (written, too)
 *   -EINTR      coati_capture_wake() was called, or a signal handler ran (written, too)
 *   else the writer's error: -ENOSPC, -EFBIG ...; it sticks, and what was written before is
 *   readable */
COATI_API int coati_capture_wait(struct coati_capture *cap);
/* CLOCK_MONOTONIC nanoseconds, -1: none. */
COATI_API int coati_capture_set_deadline(struct coati_capture *cap, int64_t deadline_ns);
/* Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_capture_wake(struct coati_capture *cap);

/* A batch of ours into the recording that is open (LIVE). The writer's error. */
COATI_API int coati_capture_batch(struct coati_capture *cap, const struct coati_batch *batch);

/* OVERWRITE: write what the overwritable rings hold now and was not written before. */
COATI_API int coati_capture_snapshot(struct coati_capture *cap, struct coati_error *err);

/* End the recording: what is in the rings, the account of losses, build ids; closed. With OVERWRITE
 * a last snapshot is taken before. The writer's first error, if any. */
COATI_API int coati_capture_finish(struct coati_capture *cap, struct coati_error *err);
/* Up to now; the recordings of one capture together, but for `bytes`. */
COATI_API void coati_capture_get_stats(const struct coati_capture *cap,
				       struct coati_capture_stats *ret);
/* The images of the recording. With COATI_CAPTURE_HOLD, or when stacks are unwound while
 * recording, they hold files that no path leads to any more: deleted, replaced, or of a
 * container that ended. Use them to symbolize the recording, and do it before the capture is
 * closed. */
COATI_API struct coati_images *coati_capture_images(const struct coati_capture *cap);
/* A process that runs, into a recording that the caller writes by himself: the names of its threads
 * and its mappings with build ids, time 0, as records of the event @attr (with
 * COATI_ATTR_SAMPLE_ID_ALL) and one of its ids. A process that is gone is no error; the writer's
 * are. */
COATI_API int coati_capture_process(struct coati_writer *w, const struct coati_attr *attr,
				    uint64_t id, int32_t pid, struct coati_error *err);
/* A recording that was not finished is left as it is: readable up to the last round. *cap becomes
 * NULL; NULL in it is fine. */
COATI_API void coati_capture_close(struct coati_capture **cap);

#ifdef __cplusplus
}
#endif
#endif
