/* SPDX-License-Identifier: MIT */
/*
 * Capture: sample events of a command, of processes or of the whole machine into a recording.
 *
 *	coati_child_start(argv, NULL, &child, &err);
 *	pid = coati_child_pid(child);
 *	struct coati_capture_opts o = { .size = sizeof(o), .flags = COATI_CAPTURE_ON_EXEC,
 *					.pids = &pid, .nr_pids = 1 };
 *	coati_capture_open(list, &o, &cap, &err);
 *	coati_capture_record(cap, "coati.data", &err);
 *	coati_child_exec(child, &err);
 *	while ((r = coati_capture_wait(cap)) > 0)
 *		;
 *	coati_capture_stop(cap, &err);
 *	coati_capture_finish(cap, &err);
 *	coati_capture_close(&cap);
 *
 * Records go from the kernel's ring buffers to the file as they are, except for samples whose
 * stacks are unwound on the way (COATI_STACKS_TABLE). What runs already when a recording begins
 * (threads, mappings, the kernel and its modules) is written first, with time 0, so that samples
 * can be symbolized.
 *
 * A capture is used by one thread at a time, unless a function says otherwise. No function but
 * coati_capture_wake() may be called from a signal handler. coati-capture(3) has an example.
 */
#ifndef COATI_CAPTURE_H
#define COATI_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/event.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How call stacks are recorded, unless an event overrides it (call-graph= term). */
enum coati_stacks {
	/* BPF where it is possible. Otherwise TABLE for events that are sampled at a rate, and FP
	 * for events that are sampled at every occurrence and where ring buffers are small. BPF and
	 * TABLE continue by frame pointers where the tables end before the root. */
	COATI_STACKS_AUTO = 0,
	COATI_STACKS_NONE,
	COATI_STACKS_FP,    /* by the kernel, from frame pointers */
	COATI_STACKS_DWARF, /* registers and a copy of the stack, for a reader to unwind */
	COATI_STACKS_LBR,   /* by the CPU's branch records */
	/* registers and a copy of the stack, unwound while recording: the file has call chains */
	COATI_STACKS_TABLE,
	/* walked in the kernel by a BPF program with the same unwind tables: the recording has call
	 * chains. Falls back to TABLE where that is not possible.
	 */
	COATI_STACKS_BPF,
};

/* coati_capture_opts.flags */
/* pids has one process that waits for its exec (coati_child_start()): sample from there on. */
#define COATI_CAPTURE_ON_EXEC (UINT64_C(1) << 0)
/* Do not follow new threads and child processes. */
#define COATI_CAPTURE_NO_INHERIT (UINT64_C(1) << 1)
/* Record user space only where kernel samples are refused. */
#define COATI_CAPTURE_USER_OK (UINT64_C(1) << 2)
/* Write a record at each context switch. */
#define COATI_CAPTURE_SWITCHES (UINT64_C(1) << 3)
/* Write namespaces, also of processes that run already. */
#define COATI_CAPTURE_NAMESPACES (UINT64_C(1) << 4)
/* Write the cgroup of each sample and the names of the cgroups. */
#define COATI_CAPTURE_CGROUPS (UINT64_C(1) << 5)
/* Write data addresses in all samples, and mappings of data. */
#define COATI_CAPTURE_DATA (UINT64_C(1) << 6)
/* Use ring buffers that keep the newest samples: they are written by coati_capture_finish(), and
 * when an event of `when` happens. */
#define COATI_CAPTURE_OVERWRITE (UINT64_C(1) << 7)
/* There will be several recordings, one after the other: remember processes that are still
 * running. */
#define COATI_CAPTURE_PARTS (UINT64_C(1) << 8)
/* With ON_EXEC: do not sample before coati_capture_start(). */
#define COATI_CAPTURE_DELAY (UINT64_C(1) << 9)
/* SWITCHES, and where kernel samples are allowed the events "off-cpu" (the stack with which a
 * thread leaves a CPU) and "off-cpu-waking" (which thread is woken). Not with OVERWRITE. */
#define COATI_CAPTURE_OFF_CPU (UINT64_C(1) << 11)
/* With OFF_CPU: also the stack of the thread that wakes another. */
#define COATI_CAPTURE_WAKE_STACKS (UINT64_C(1) << 12)
/* With OFF_CPU: begin and end of interrupts. */
#define COATI_CAPTURE_IRQ (UINT64_C(1) << 13)

struct coati_capture_opts {
	uint64_t size;	/* sizeof(struct coati_capture_opts) */
	uint64_t flags; /* COATI_CAPTURE_* */
	/* The target, as in struct coati_set_opts. */
	const int32_t *pids;
	uint64_t nr_pids;
	const int32_t *tids;
	uint64_t nr_tids;
	const char *cpus;
	const char *cgroup;
	/* Samples per second, for clocks and hardware events without a period or rate of their own;
	 * 0: 1000. Tracepoints, probes, breakpoints and rare software events are sampled at every
	 * occurrence. */
	uint64_t freq_hz;
	uint64_t period; /* one sample per this many events, for all events; overrides freq_hz */
	enum coati_stacks stacks;
	/* DWARF and TABLE: bytes of stack to copy. 0: 8192 with DWARF; with TABLE 8192 to 65528,
	 * depending on the size of the ring buffers */
	uint32_t stack_bytes;
	uint32_t max_stack; /* frames; 0: the kernel's default, and 512 in user space with TABLE */
	/* BPF: check every Nth stack of each CPU against the unwind data; 0: none */
	uint32_t verify;
	/* of one ring buffer; 0: depends on the number of CPUs and the mlock limit */
	uint64_t ring_bytes;
	uint64_t wakeup_bytes; /* write when a ring buffer holds this many; 0: a quarter of it */
	/* With OVERWRITE: write the ring buffers when one of these events happened more than
	 * when_count times, counted per CPU, and per thread where threads are the target. */
	const struct coati_event_list *when;
	uint64_t when_count;
	const char *procfs, *tracefs; /* NULL: the usual places */
	int64_t argc;		      /* the command line that the recording names; 0: none */
	const char *const *argv;
	uint64_t max_bytes; /* stop with -EFBIG before the file grows beyond this; 0: no limit */
	int32_t zstd_level; /* compress records: 1 to 19; 0: do not */
	uint32_t reserved_2;
	/* ON_EXEC with BPF: the program that will be executed, as execvp() takes it. Its unwind
	 * tables and those of its libraries are built before the exec. NULL: they are built when it
	 * runs. */
	const char *program;
};

struct coati_capture;

/* Open the events of @list and a ring buffer for each CPU. Nothing is sampled before
 * coati_capture_start() or, with ON_EXEC, before the exec. Events that this machine does not have
 * are left out, see coati_capture_event_error(); -ENOENT when none is left. The list must outlive
 * the capture, @opts need not. */
COATI_API int coati_capture_open(const struct coati_event_list *list,
				 const struct coati_capture_opts *opts, struct coati_capture **ret,
				 struct coati_error *err);
/* Why event number @event of the list is not open, or NULL. Lives as long as the capture. */
COATI_API const struct coati_error *coati_capture_event_error(const struct coati_capture *cap,
							      uint32_t event);
/* A recording that was not finished is readable up to the last write. *cap becomes NULL; NULL is
 * fine. */
COATI_API void coati_capture_close(struct coati_capture **cap);

/* Begin a recording: create the file @path (mode 0600, replaced when it exists; "-": a stream on
 * standard output) and write the events, a description of the machine and the processes that are
 * already running. Between coati_capture_finish() and the next call, new records stay in the ring
 * buffers. -EINVAL: a recording is open. */
COATI_API int coati_capture_record(struct coati_capture *cap, const char *path,
				   struct coati_error *err);
/* Start or stop sampling. */
COATI_API int coati_capture_start(struct coati_capture *cap, struct coati_error *err);
COATI_API int coati_capture_stop(struct coati_capture *cap, struct coati_error *err);

/* Wait until there is data, at most a second, and write all of it.
 *   1           data was written
 *   0           all targets have ended, and all data is written
 *   -ETIMEDOUT  the deadline has passed; data was written as well
 *   -EINTR      coati_capture_wake() was called, or a signal handler ran; data was written as well
 *   others      -ENOSPC, -EFBIG ...: writing failed. Later calls return the same error; data
 *               written before is readable */
COATI_API int coati_capture_wait(struct coati_capture *cap);
/* CLOCK_MONOTONIC nanoseconds; -1: none. */
COATI_API int coati_capture_set_deadline(struct coati_capture *cap, int64_t deadline_ns);
/* End a wait.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_capture_wake(struct coati_capture *cap);

/* End the recording: write what is in the ring buffers, the losses and the build IDs, and close the
 * file. Returns the first error of writing, if any. */
COATI_API int coati_capture_finish(struct coati_capture *cap, struct coati_error *err);

/* Sums over all recordings of the capture, except `bytes`. */
struct coati_capture_stats {
	uint64_t size; /* sizeof(struct coati_capture_stats) */
	/* written; samples of context switches and wakeups (OFF_CPU) are not counted */
	uint64_t records, samples;
	uint64_t lost;	     /* records that did not fit into a ring buffer */
	uint64_t lost_exact; /* 1: by the kernel's own count; 0: from LOST records only */
	uint64_t throttled;  /* how often the kernel reduced the sampling rate */
	uint64_t bytes;	     /* of the open recording, or the last one */
	uint64_t first_time, last_time;
	uint64_t wakeups, rounds;
	/* OVERWRITE: writes, and writes before which samples were overwritten */
	uint64_t snapshots, overwritten;
	uint64_t damaged_bytes;	       /* in ring buffers, skipped */
	uint64_t nr_rings, ring_bytes; /* as opened */
	uint64_t synthesized;	       /* records that describe processes already running */
	/* Stacks that were unwound while recording, by how they ended: the index is enum
	 * coati_unwind_end of <coati/unwind.h>, 0 is complete. */
	uint64_t stack_ends[8];
	uint64_t stack_guesses; /* with a guessed frame */
	uint64_t stack_none;	/* samples without a user stack: kernel threads */
	uint64_t switches;	/* SWITCHES: how often a thread left a CPU */
	/* OFF_CPU, AUTO: how often switches were too frequent to copy stacks, so that frame
	 * pointers were used */
	uint64_t switches_fast;
	uint64_t switch_stack_ends[8]; /* as stack_ends, of threads that left a CPU */
	uint64_t cpu_ns; /* CPU time of this process at the end of the last recording; 0: none */
	/* Samples with the ID of an event that is not in this capture. Since about Linux 6.3 the
	 * kernel puts the ID of the newest event into the samples of all that count the same
	 * software event, also those of other recorders. Where only one event of this capture can
	 * be meant, the sample is assigned to it; the others are counted here, and readers omit
	 * them. */
	uint64_t unassigned;
	uint64_t files_held, files_over; /* code files kept open, and files over the limit */
	/* How much of the CPU time was sampled: for the first clock, or else the first hardware
	 * event at a rate, the sum of the periods of its samples, and its count in all threads. The
	 * count is known when a recording is finished; 0: not known. */
	uint64_t sampled, counted;
	uint64_t sampled_period; /* what one sample stands for, on average; 0: not known */
	uint32_t sampled_event;	 /* its number in the list; UINT32_MAX: none */
	uint32_t sampled_time;	 /* 1: it is a clock, and both values are ns */
	/* 1: the clock takes samples in user space, in the kernel or outside of idle loops only,
	 * but counts everywhere */
	uint32_t sampled_part;
	uint32_t reserved;
	uint64_t exits; /* threads that ended, where single threads are the target */
	/* Stacks that frame pointers continued where the tables ended: not in stack_ends, because
	 * the names of their last frames decide whether they are complete. */
	uint64_t stack_pointers;
	/* STACKS_BPF: stacks (of samples and of switches) that were walked in the kernel, and their
	 * frames; stacks that were sent as a copy for the reader to finish; samples whose stack did
	 * not fit into a ring buffer; time that the walker took in the kernel and the number of its
	 * runs, known where kernel.bpf_stats_enabled is 1. */
	uint64_t walks, walk_frames, walk_copies, walks_lost, walk_ns, walk_runs;
	/* Results of coati_capture_opts.verify: stacks compared completely, compared as far as the
	 * copy or the unwind data goes, and found different. */
	uint64_t walks_checked, walks_checked_part, walks_wrong;
	uint64_t walk_ends[16]; /* why they ended in the kernel, by an internal reason number */
	/* Compared completely, too, but for frames in code that has no unwind data: their callers
	 * were found by frame pointer or guessed, in both walks alike. */
	uint64_t walks_checked_over;
};
/* 0; -EINVAL: ret->size is not set. */
COATI_API int coati_capture_get_stats(const struct coati_capture *cap,
				      struct coati_capture_stats *ret);

#ifdef __cplusplus
}
#endif
#endif
