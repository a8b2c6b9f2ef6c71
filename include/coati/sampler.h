/* SPDX-License-Identifier: MIT */
/*
 * A CPU profiler inside the program: part of libcoati-live, which needs libc alone.
 *
 *	coati_sampler_start(NULL, &err);
 *	work();
 *	int fd = open("cpu.pb.gz", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
 *	coati_sampler_stop(fd, NULL, &err);
 *
 * Every so many nanoseconds of CPU time of each thread a signal handler on that thread walks its
 * stack and puts it into a profile buffer (<coati/profbuf.h>); a thread of ours, which sleeps
 * otherwise, folds equal stacks together. The end writes a file that `go tool pprof` reads: samples
 * and CPU nanoseconds by stack, with the thread and the labels that it had (<coati/live.h>) as
 * labels, mappings with their build ids, names when asked for, and comments that say which engine
 * took them, what is known to be wrong with it, and how many samples are missing.
 *
 * Stacks are followed by tables made at the start from the unwind data of everything that is loaded
 * (some milliseconds for each million bytes of code; kept for the next start). What is loaded later
 * is found within a quarter of a second. Code that has no unwind data is followed by its frame
 * pointers. Programs linked with -static need -Wl,--eh-frame-hdr for it: without the index their
 * unwind data is not found.
 *
 * All threads are sampled: those that run at the start, and those that they start later. A program
 * that calls fork() goes on in the parent alone; the child is not sampled and may start a sampler
 * of its own. Where the parent had other threads, the loader may be locked for ever in the child;
 * there the tables are those of the parent.
 *
 * Signals: COATI_SAMPLER_PERF uses SIGTRAP, timers SIGPROF. A handler that the program had for it
 * before the start is called for all signals that are not ours. Our handler stays after the end,
 * because a signal may still be on its way. It runs on the alternate stack where a thread has one,
 * keeps errno, takes no lock and allocates nothing.
 */
#ifndef COATI_SAMPLER_H
#define COATI_SAMPLER_H

#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

enum coati_sampler_engine {
	COATI_SAMPLER_UNKNOWN = 0,
	/*
	 * A perf event on every thread, inherited by the threads that it starts. Keeps the rate.
	 * Needs Linux 5.19 and the right to open events on oneself.
	 *
	 * The kernel starts each thread with a whole period. So the event does not see what a
	 * thread uses after its last sample, nor threads that use less than a period in all. When
	 * that is more than 5 % of the CPU time, a timer over the whole process runs beside the
	 * events, with the same signal, and its samples stand for what the events did not see
	 * (Linux 6.4; the same for THREADS). The kernel looks at it at its tick. Time that threads
	 * spend ending, inside the kernel, is in no sample. A tick that falls into it goes to
	 * another thread, and may end a system call there that is not begun again: see
	 * COATI_SAMPLER_WALL. Only programs with many short threads have that.
	 */
	COATI_SAMPLER_PERF,
	/* One timer over the CPU time of the process. The kernel looks at it at its tick only (100
	 * to 1000 times a second), and whoever runs then is charged: threads that do the same get
	 * different shares. Works everywhere. */
	COATI_SAMPLER_TIMER,
	/* A timer on every thread: over its CPU time, which the kernel looks at at its tick only,
	 * so that no higher rate is to be had (each sample then counts for more); or over wall
	 * time, at any rate. Threads that come later are looked for, every 10 ms or less often
	 * where there are many: what they do before is not seen. Tried after PERF and before
	 * TIMER. */
	COATI_SAMPLER_THREADS,
};

/* What passes between samples. */
enum coati_sampler_clock {
	/* CPU time of each thread: what runs is seen. */
	COATI_SAMPLER_CPU = 0,
	/* Wall time: each thread at each time, also while it waits. Every thread is woken for every
	 * sample. System calls that the kernel can begin again are; those that it never does, such
	 * as nanosleep(), poll(), epoll_wait(), select(), sem_timedwait() and reads of sockets with
	 * a timeout, fail with EINTR, which signal(7) lists: the program must be ready for that. */
	COATI_SAMPLER_WALL,
};

/* How stacks are followed. */
enum coati_sampler_stacks {
	/* By tables where they can be had, and by frame pointers through code that has none. */
	COATI_SAMPLER_STACKS_AUTO = 0,
	/* By frame pointers alone: the least that a sample can cost. Code that keeps none
	 * (-fomit-frame-pointer) gives stacks of few frames. */
	COATI_SAMPLER_STACKS_POINTERS,
	/* As AUTO, and an error when there is no table at all. */
	COATI_SAMPLER_STACKS_TABLES,
};

/* coati_sampler_opts.flags */
/* Put the names of functions into the profile, from the symbol tables of the files that are mapped
 * at the end. Without it the profile has addresses, mappings and build ids, from which a tool finds
 * names and lines later. */
#define COATI_SAMPLER_NAMES (UINT32_C(1) << 0)
/* The calling thread has a table of descriptors of its own (unshare(2) with CLONE_FILES): the
 * events go there, out of the reach of a program that closes all descriptors, and are not there in
 * the child of a fork(). It, and no other, stops the sampler. */
#define COATI_SAMPLER_OWN_FILES (UINT32_C(1) << 1)

/* Sample the calling thread alone, and none that it starts. */
#define COATI_SAMPLER_THIS_THREAD (UINT32_C(1) << 2)

struct coati_sampler_opts {
	uint64_t size; /* of this struct, set by the caller */
	/* Samples for each second of CPU or wall time of a thread, 1 to 10000; 0: 100. */
	uint32_t rate_hz;
	/* UNKNOWN: the first that works. */
	enum coati_sampler_engine engine;
	/* Frames of a stack, at most 512; 0: 128. */
	uint32_t max_depth;
	uint32_t flags;
	enum coati_sampler_stacks stacks;
	enum coati_sampler_clock clock;
	/* Memory for tables; 0: 64 MiB. Objects whose table is over it are walked by frame
	 * pointers, and the profile says how many. */
	uint64_t max_table_bytes;
};

struct coati_sampler_stats {
	uint64_t size; /* of this struct, set by the caller: so much is written */
	enum coati_sampler_engine engine;
	uint32_t threads; /* that were there at the start */
	/* As asked for; that of each event is 0.5 to 2 % longer or shorter, so that it keeps step
	 * with nothing. */
	uint64_t period_ns;
	uint64_t samples; /* in the profile */
	/* CPU (or wall) time that they stand for: the sum of their periods. A timer that is late
	 * stands for several. */
	uint64_t cpu_ns;
	/* No room in the buffers, or too many stacks to remember. */
	uint64_t lost;
	/* Of samples: stacks that go on where they could not be followed, or are deeper than
	 * max_depth. */
	uint64_t cut;
	uint64_t stacks; /* different ones */
	/* CPU time that the process (or the one thread) used meanwhile; 0: not known; without the
	 * sampler's own thread: what is not in cpu_ns was not seen. */
	uint64_t total_ns;
	enum coati_sampler_stacks how; /* POINTERS or TABLES */
	uint32_t objects;	       /* that have a table */
	uint64_t table_bytes;
	/* Part of cpu_ns: what the timer over the process saw, see COATI_SAMPLER_PERF. */
	uint64_t rest_ns;
	/* Samples of that timer that are not in the profile: the thread's own event told of the
	 * same time later. */
	uint64_t replaced;
};

/* Start sampling. @opts may be NULL.
 *   -EBUSY       it runs already
 *   -EOPNOTSUPP, -EACCES, ... the engine that was asked for cannot be had; the text says why
 *   Thread: any. Memory: some MiB and the tables, kept until the end of the process; starts a
 *   thread. */
COATI_API int coati_sampler_start(const struct coati_sampler_opts *opts, struct coati_error *err);
/* Stop it, and write the profile to @fd (-1: nowhere). *ret (may be NULL) is filled in also when
 * writing fails.
 *   -ESRCH   it does not run
 *   -EINVAL  ret->size is not set; it runs on */
COATI_API int coati_sampler_stop(int fd, struct coati_sampler_stats *ret, struct coati_error *err);

/* For a program that replaces itself by exec() without a fork while it is sampled. A perf event
 * that fires inside exec() sends SIGTRAP to the new program, which has no handler for it and is
 * killed; at high rates nearly every time. So:
 *
 *	coati_sampler_before_exec();
 *	execv(path, argv);
 *	coati_sampler_exec_failed();		it goes on
 *
 * Between the two calls no thread is sampled. Timers need neither call, as the kernel drops their
 * signals. Both do nothing where no sampler runs, and in a child, which has none: posix_spawn(),
 * system() and fork() with exec() are safe by themselves. A sampler that COATI_PROFILE started is
 * ended by coati_auto_finish() (<coati/auto.h>) instead.
 * Thread: any, the one that calls exec().  Signal: not safe. */
COATI_API void coati_sampler_before_exec(void);
COATI_API void coati_sampler_exec_failed(void);

/* Look whether something was loaded or unloaded since the tables were made, and make those that are
 * missing; within the memory that was allowed last. For programs that call dlopen() while they have
 * a heap or lock profile (<coati/heap.h>, <coati/locks.h>), which have no thread that looks for it.
 * 0 or -ENOMEM: what was there stays. Thread: any.  Signal: not safe; not inside of an allocator.
 * Memory: allocates. */
COATI_API int coati_stacks_refresh(void);

#ifdef __cplusplus
}
#endif
#endif
