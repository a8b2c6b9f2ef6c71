/* SPDX-License-Identifier: MIT */
/*
 * A CPU profiler inside the program. Part of libcoati-live, which needs only libc.
 *
 *	coati_sampler_start(NULL, &err);
 *	work();
 *	int fd = open("cpu.pb.gz", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
 *	coati_sampler_stop(fd, NULL, &err);
 *
 * At a fixed interval of CPU time, a signal handler on each thread walks the stack and writes it
 * into a profile buffer (<coati/profbuf.h>). A thread of the library, which sleeps otherwise,
 * merges equal stacks. Stopping writes a file that `go tool pprof` reads: samples and CPU
 * nanoseconds by stack, with the thread and its labels (<coati/live.h>) as labels, mappings with
 * build IDs, function names on request, and comments that name the engine, its known errors and the
 * number of missing samples.
 *
 * Stacks are unwound with tables that are built at the start from the unwind data of all loaded
 * files (some milliseconds per megabyte of code; kept for the next start). Libraries that are
 * loaded later are found within a quarter of a second. Code without unwind data is unwound by frame
 * pointers. Programs linked with -static need -Wl,--eh-frame-hdr: without that index their unwind
 * data is not found.
 *
 * All threads are sampled: those that run at the start, and those that they start later. After
 * fork() sampling continues only in the parent; the child is not sampled and may start its own
 * sampler. If the parent had other threads, the lock of the dynamic loader may be held forever in
 * the child; the child then uses the unwind tables of the parent.
 *
 * Signals: COATI_SAMPLER_PERF uses SIGTRAP, timers use SIGPROF. If the program had a handler for it
 * before the start, that handler is called for all signals that are not from the sampler. The
 * handler of the sampler stays installed after the end, because a signal may still be pending. It
 * runs on the alternate stack where a thread has one, keeps errno, takes no lock and allocates
 * nothing.
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
	 * A perf event on every thread, inherited by the threads that it starts. Keeps the
	 * requested rate. Needs Linux 5.19 and permission to open events on the process itself.
	 *
	 * The kernel starts each thread with a full period. So the event misses the CPU time after
	 * the last sample of a thread, and threads that use less than a period in total. When that
	 * is more than 5 % of the CPU time, a timer over the whole process runs in addition, with
	 * the same signal, and its samples stand for the time that the events missed (Linux 6.4;
	 * the same for THREADS). The kernel checks this timer at its tick. Time that threads spend
	 * exiting, inside the kernel, is in no sample. A tick during an exit is delivered to
	 * another thread, and may interrupt a system call there that is not restarted: see
	 * COATI_SAMPLER_WALL. This affects only programs with many short-lived threads.
	 */
	COATI_SAMPLER_PERF,
	/* One timer over the CPU time of the process. The kernel checks it only at its tick (100 to
	 * 1000 times a second) and charges the thread that runs then: threads that do the same work
	 * get different shares. Works everywhere. */
	COATI_SAMPLER_TIMER,
	/* A timer on every thread: over its CPU time, which the kernel checks only at its tick, so
	 * that the tick limits the rate (each sample then has more weight); or over wall time, at
	 * any rate. New threads are looked for every 10 ms, or less often if there are many; what
	 * they do before that is not sampled. Tried after PERF and before TIMER. */
	COATI_SAMPLER_THREADS,
};

/* The clock that triggers samples. */
enum coati_sampler_clock {
	/* CPU time of each thread: only running threads are sampled. */
	COATI_SAMPLER_CPU = 0,
	/* Wall time: every thread is sampled, including while it waits, and is woken for every
	 * sample. The kernel restarts most interrupted system calls; those that it never restarts,
	 * such as nanosleep(), poll(), epoll_wait(), select(), sem_timedwait() and reads of sockets
	 * with a timeout, fail with EINTR (see signal(7)): the program must handle that. */
	COATI_SAMPLER_WALL,
};

/* How stacks are unwound. */
enum coati_sampler_stacks {
	/* With unwind tables where they are available, and by frame pointers through other code. */
	COATI_SAMPLER_STACKS_AUTO = 0,
	/* Only by frame pointers: the lowest cost per sample. Code without them
	 * (-fomit-frame-pointer) gives stacks of few frames. */
	COATI_SAMPLER_STACKS_POINTERS,
	/* Like AUTO, but an error when there is no table at all. */
	COATI_SAMPLER_STACKS_TABLES,
};

/* coati_sampler_opts.flags */
/* Add function names to the profile, from the symbol tables of the files that are mapped at the
 * end. Without it the profile has addresses, mappings and build IDs, from which a tool finds names
 * and lines later. */
#define COATI_SAMPLER_NAMES (UINT32_C(1) << 0)
/* The calling thread has its own descriptor table (unshare(2) with CLONE_FILES): the events are
 * opened there, so that a program that closes all descriptors does not close them, and the child of
 * a fork() does not inherit them. The same thread must stop the sampler. */
#define COATI_SAMPLER_OWN_FILES (UINT32_C(1) << 1)

/* Sample only the calling thread, not the threads that it starts. */
#define COATI_SAMPLER_THIS_THREAD (UINT32_C(1) << 2)

struct coati_sampler_opts {
	uint64_t size; /* sizeof(struct coati_sampler_opts) */
	/* Samples per second of CPU or wall time of a thread, 1 to 10000; 0: 100. */
	uint32_t rate_hz;
	/* UNKNOWN: the first engine that works. */
	enum coati_sampler_engine engine;
	/* Frames of a stack, at most 512; 0: 128. */
	uint32_t max_depth;
	uint32_t flags;
	enum coati_sampler_stacks stacks;
	enum coati_sampler_clock clock;
	/* Memory for unwind tables; 0: 64 MiB. Files whose table does not fit are unwound by frame
	 * pointers, and the profile reports how many. */
	uint64_t max_table_bytes;
};

struct coati_sampler_stats {
	uint64_t size; /* sizeof(struct coati_sampler_stats) */
	enum coati_sampler_engine engine;
	uint32_t threads; /* at the start */
	/* As requested; the period of each event is 0.5 to 2 % longer or shorter, to avoid sampling
	 * in lockstep with the program. */
	uint64_t period_ns;
	uint64_t samples; /* in the profile */
	/* CPU (or wall) time that the samples stand for: the sum of their periods. A late timer
	 * counts for several periods. */
	uint64_t cpu_ns;
	/* The buffers were full, or there were too many distinct stacks. */
	uint64_t lost;
	/* Samples whose stack is truncated: it could not be unwound to its end, or is deeper than
	 * max_depth. */
	uint64_t cut;
	uint64_t stacks; /* distinct ones */
	/* CPU time that the process (or the one thread) used meanwhile, without the sampler's own
	 * thread; 0: not known. The difference to cpu_ns was not sampled. */
	uint64_t total_ns;
	enum coati_sampler_stacks how; /* POINTERS or TABLES */
	uint32_t objects;	       /* loaded files that have an unwind table */
	uint64_t table_bytes;
	/* Part of cpu_ns: samples of the process timer, see COATI_SAMPLER_PERF. */
	uint64_t rest_ns;
	/* Samples of that timer that are not in the profile, because the event of the thread
	 * covered the same time later. */
	uint64_t replaced;
};

/* Start sampling. @opts may be NULL.
 *   -EBUSY                     it is running already
 *   -EOPNOTSUPP, -EACCES, ...  the requested engine is not available; the message says why
 * Starts a thread.  Thread: any.  Memory: some MiB and the unwind tables, kept until the process
 * ends. */
COATI_API int coati_sampler_start(const struct coati_sampler_opts *opts, struct coati_error *err);
/* Stop sampling, and write the profile to @fd (-1: do not write). *ret (may be NULL) is filled in
 * even when writing fails.
 *   -ESRCH   it is not running
 *   -EINVAL  ret->size is not set; sampling continues */
COATI_API int coati_sampler_stop(int fd, struct coati_sampler_stats *ret, struct coati_error *err);

/* For a program that calls exec() without a fork while it is sampled. A perf event that fires
 * inside exec() sends SIGTRAP to the new program, which has no handler for it and is killed; at
 * high rates nearly every time. To avoid that:
 *
 *	coati_sampler_before_exec();
 *	execv(path, argv);
 *	coati_sampler_exec_failed();		it goes on
 *
 * No thread is sampled between the two calls. Timers do not need these calls, because the kernel
 * drops their signals. Both do nothing where no sampler runs, which includes child processes:
 * posix_spawn(), system() and fork() followed by exec() are safe without them. To end a sampler
 * that COATI_PROFILE started, call coati_auto_finish() (<coati/auto.h>) instead. Thread: the one
 * that calls exec().  Signal: not safe. */
COATI_API void coati_sampler_before_exec(void);
COATI_API void coati_sampler_exec_failed(void);

/* Check whether files were loaded or unloaded since the unwind tables were built, and build the
 * missing tables, within the memory limit that was set last. For programs that call dlopen() while
 * they have a heap or lock profile (<coati/heap.h>, <coati/locks.h>), which have no thread that
 * checks for it. Returns 0 or -ENOMEM: existing tables stay.  Thread: any.  Signal: not safe, nor
 * inside an allocator.  Memory: allocates. */
COATI_API int coati_stacks_refresh(void);

#ifdef __cplusplus
}
#endif
#endif
