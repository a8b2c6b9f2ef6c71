/* SPDX-License-Identifier: MIT */
/*
 * The execution tracer and the flight recorder of libcoati-live: a program records what it does,
 * with timestamps, in a few bytes per event.
 *
 *	void serve(struct request *r)
 *	{
 *		struct coati_live_task task;
 *
 *		COATI_TASK_BEGIN(&task, "request", NULL);
 *		COATI_TASK_SCOPE(&task);		this thread works on it until the end of the
 *							block
 *		{
 *			COATI_REGION("parse");		until the end of the block
 *			...
 *		}
 *		COATI_LOG("http", "%s: %d bytes", r->path, r->size);	formatted if recorded
 *		coati_task_end(&task);
 *	}
 *
 * Nothing is written before a recorder is started (coati_recorder_start()); until then an event
 * costs the load of one word, the gate. After that an event is a few bytes in a buffer of the
 * thread: no lock, no atomic read-modify-write, no allocation and no system call, except when 16
 * KiB are full and at the first use in a thread or of a site. docs/formats/live.md describes the
 * bytes.
 *
 * All event functions may be called from signal handlers, and keep errno. An event that interrupts
 * another one of the same thread is written into a second buffer; an event that interrupts that one
 * is dropped and counted. A handler must not exit by longjmp().
 *
 * The child of a fork() records nothing until it starts its own recorder. If COATI_DISABLE is
 * defined before this header is included, the macros expand to nothing; the functions are not
 * affected.
 *
 * Limits: 65535 sites; 58 categories with their own bit (the others share one); texts of 8000 bytes
 * (longer ones are truncated and marked). Each generation starts with a snapshot of open regions up
 * to depth 128, and of at most 16384 open tasks and 4096 open resources.
 */
#ifndef COATI_TRACER_H
#define COATI_TRACER_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the gate ---- */

/* Not zero while a recorder runs, or regions are kept (coati_regions_keep()): a bit for each
 * enabled category, and some internal ones. It is the only thing that is tested inline. */
extern COATI_API uint64_t coati_tracer_gate;

/* Whether a recorder runs, or regions are kept. Test it before work that is only needed for an
 * event. */
#ifdef COATI_DISABLE
#define COATI_TRACING() 0
#else
#define COATI_TRACING() \
	__builtin_expect(__atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED) != 0, 0)
#endif

/* ---- sites ---- */

enum coati_site_kind {
	COATI_SITE_REGION = 1,
	COATI_SITE_TASK,
	COATI_SITE_LOG,
	COATI_SITE_COUNTER,
	COATI_SITE_GAUGE,
	COATI_SITE_FLOW,
	COATI_SITE_INSTANT,
};

#define COATI_SITE_STACK (1u << 0) /* record a stack with every event of the site */
#define COATI_SITE_LAZY	 (1u << 1) /* regions: written only when something is written inside */

/* A place in the program: declare it static, so that its texts are written only once. They are
 * copied at the first use, so a shared library that contains the site may be unloaded. The macros
 * fill it in. Frozen. */
struct coati_site {
	/* internal, as are id and mask: the encoded event of a region without its time; 0: not
	 * encoded */
	uint64_t quick;
	uint64_t mask; /* bit of its category; ~0 before the first use; 0: switched off */
	/* id: 0 before the first use; flags: COATI_SITE_STACK, COATI_SITE_LAZY */
	uint32_t id, flags;
	/* regions: written only when they last at least this long, or something is written
	 * inside */
	uint64_t min_ns;
	const char *name, *category, *file, *function;
	/* of COATI_SITE_INSTANT: "fd:i bytes:u ratio:d from:s addr:x", else NULL */
	const char *fields;
	uint32_t line, kind;
};

/* clang-format off */
#define COATI_SITE_FOR(function, kind, category, name, fields, flags, min_ns) \
	{ 0,	    ~UINT64_C(0), 0,	    flags,  min_ns,   name,     \
	  category, __FILE__,	  function, fields, __LINE__, kind }
/* Only inside a function; elsewhere use COATI_SITE_FOR(""), because there is no function name. */
#define COATI_SITE(kind, category, name, fields, flags, min_ns) \
	COATI_SITE_FOR(__func__, kind, category, name, fields, flags, min_ns)
/* clang-format on */

/* Disable or enable a site. Its open regions still end.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_site_switch(struct coati_site *site, int on);

/* ---- regions: what a thread does; they nest ---- */

/* All event functions: Hot.  Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API COATI_HOT COATI_SIGSAFE void coati_region_begin(struct coati_site *site);
/* End the innermost open region of this site; regions inside it end too (longjmp). The end of a
 * region that never began, or that began before the recorder, is ignored. */
COATI_API COATI_HOT COATI_SIGSAFE void coati_region_end(struct coati_site *site);
/* Track open regions even while no recorder runs (@on 1), or stop that (0, the default): a recorder
 * that starts, including an external one, then knows the open regions and when each began. Without
 * it, regions that began before the recorder are not known, because nothing is stored while no
 * recorder runs. Costs a call and a clock read for each region of the program. Not tracked are
 * regions that are open at this call, regions in signal handlers that interrupt the begin or end of
 * a region, and regions of threads that switch between fibers (<coati/fiber.h>). Off in the child
 * of a fork(). Returns 0 or a negative errno.  Thread: any.  Signal: not safe. */
COATI_API int coati_regions_keep(int on, struct coati_error *err);

/* Begin a region whose name is made at run time; pass the returned site to coati_region_end().
 * @name is copied at its first use (the first 127 bytes). A process can have 4096 different names;
 * further regions are called "(other names)", and a log event in each has its name.
 * COATI_REGION_NAMED() calls this while a recorder runs. */
COATI_API COATI_SIGSAFE struct coati_site *coati_region_begin_named(const char *name);

/* ---- tasks: units of work, which can cross threads ---- */

/* A task; to hand it to another thread, pass a copy. Frozen. */
struct coati_live_task {
	uint64_t id;	    /* unique in the process, even while no recorder runs */
	uint64_t recording; /* this and the following fields are internal */
	uint32_t slot, site;
};

/* Begin a task of the type @site->name. @parent NULL: the current task of the thread. It does not
 * become the current task: see coati_task_enter(). */
COATI_API COATI_SIGSAFE void coati_task_begin(struct coati_site *site,
					      const struct coati_live_task *parent,
					      struct coati_live_task *ret);
/* End a task, on any thread. Repeated calls are ignored. */
COATI_API COATI_SIGSAFE void coati_task_end(const struct coati_live_task *task);

/* The argument of coati_task_leave(). Frozen. */
struct coati_task_scope {
	uint64_t previous;
};

/* Make @task the current task of this thread (NULL: none) until coati_task_leave(); scopes nest.
 * Tracked even while no recorder runs. */
COATI_API COATI_SIGSAFE struct coati_task_scope coati_task_enter(
	const struct coati_live_task *task);
COATI_API COATI_SIGSAFE void coati_task_leave(const struct coati_task_scope *scope);

/* ---- single events ---- */

/* Log a text of any size, which need not be zero-terminated. */
COATI_API COATI_SIGSAFE void coati_log_text(struct coati_site *site, const char *text, size_t size);
/* Log a formatted text; one longer than 1023 bytes is truncated and marked.  Signal: not safe. */
COATI_API void coati_log(struct coati_site *site, const char *format, ...) COATI_PRINTF(2, 3);
COATI_API COATI_SIGSAFE void coati_counter(struct coati_site *site, int64_t value);
COATI_API COATI_SIGSAFE void coati_gauge(struct coati_site *site, double value);
/* @phase: 0 begin, 1 step, 2 end. Flow events with the same @id on different threads are shown
 * connected by arrows. */
COATI_API COATI_SIGSAFE void coati_flow(struct coati_site *site, uint64_t id, unsigned int phase);
/* One value for each of @site->fields: i int64_t, u and x uint64_t, d double, s const char *
 * (NULL: empty). At most 16. */
COATI_API COATI_SIGSAFE void coati_instant(struct coati_site *site, ...);

/* ---- resources: objects with declared states (connections, queues, coroutines) ---- */

/* A type of resource: declare it static. Frozen. */
struct coati_resource_type {
	const char *name;
	const char *const *states;
	/* for each state, the set of states that may follow, one bit per state; NULL: any */
	const uint64_t *next;
	uint32_t count; /* of states, at most 64 */
	uint32_t id;	/* 0 before the first use; internal */
};

/* A resource. Its fields are private to the library. Frozen. */
struct coati_resource {
	uint64_t id;
	struct coati_resource_type *type;
	uint64_t recording;
	uint32_t state, slot;
};

COATI_API COATI_SIGSAFE void coati_resource_begin(struct coati_resource_type *type,
						  const char *name, uint32_t state,
						  struct coati_resource *ret);
/* -EINVAL: the type does not allow this transition; the event is written anyway and marked by the
 * reader (COATI_TRACE_ILLEGAL). Calls for one resource must not run at the same time. */
COATI_API COATI_SIGSAFE int coati_resource_set(struct coati_resource *resource, uint32_t state,
					       const char *reason);
COATI_API COATI_SIGSAFE void coati_resource_end(struct coati_resource *resource);

/* ---- names ---- */

/* Set the displayed name of this thread, or of the process. The name of a thread is kept (its first
 * 63 bytes) and written for recorders that start later. The name of the process is an ordinary
 * event: a recorder that starts later, or has dropped the generation with the event, does not know
 * it. To set the name that the kernel knows, use pthread_setname_np(). */
COATI_API COATI_SIGSAFE void coati_thread_name(const char *name);
COATI_API COATI_SIGSAFE void coati_process_name(const char *name);

/* ---- macros: a static site, and a call only while a recorder runs ---- */

#define COATI_TRACER_JOIN_(a, b) a##b
#define COATI_TRACER_NAME_(a, b) COATI_TRACER_JOIN_(a, b)

static inline void coati_region_leave_(struct coati_site **site)
{
	if (__builtin_expect(*site != NULL, 0))
		coati_region_end(*site);
}

#ifdef COATI_DISABLE
#define COATI_REGION_SITE_(category, name, flags, min_ns) struct coati_site
#define COATI_TASK_BEGIN(task, type, parent)		  ((void)((task)->id = 0, (task)->slot = 0))
#define COATI_TASK_SCOPE(task)				  ((void)(task))
#define COATI_EVENT_(kind, category, name, fields, call)  ((void)0)
#define COATI_REGION_BEGIN_(category, name)		  ((void)0)
#else
#define COATI_REGION_SITE_(category, name, flags, min_ns)                                          \
	static struct coati_site COATI_TRACER_NAME_(coati_site_, __LINE__) =                       \
		COATI_SITE(COATI_SITE_REGION, category, name, NULL, flags, min_ns);                \
	__attribute__((cleanup(coati_region_leave_), unused)) struct coati_site *                  \
	COATI_TRACER_NAME_(coati_region_, __LINE__) =                                              \
		COATI_TRACING() ? (coati_region_begin(&COATI_TRACER_NAME_(coati_site_, __LINE__)), \
				   &COATI_TRACER_NAME_(coati_site_, __LINE__))                     \
				: NULL
#define COATI_TASK_BEGIN(task, type, parent)                               \
	do {                                                               \
		static struct coati_site coati_site_ =                     \
			COATI_SITE(COATI_SITE_TASK, "", type, NULL, 0, 0); \
		coati_task_begin(&coati_site_, parent, task);              \
	} while (0)
#define COATI_TASK_SCOPE(task)                                                     \
	__attribute__((cleanup(coati_task_leave), unused)) struct coati_task_scope \
	COATI_TRACER_NAME_(coati_task_scope_, __LINE__) = coati_task_enter(task)
#define COATI_EVENT_(kind, category, name, fields, call)                \
	do {                                                            \
		static struct coati_site coati_site_ =                  \
			COATI_SITE(kind, category, name, fields, 0, 0); \
		if (COATI_TRACING())                                    \
			call;                                           \
	} while (0)
#endif

/* A region until the end of the block, however it is left. At most one per source line. @name and
 * @category are string literals. */
#ifdef COATI_DISABLE
#define COATI_REGION(name)		((void)0)
#define COATI_REGION_IN(category, name) ((void)0)
#define COATI_REGION_LAZY(name, min_ns) ((void)0)
#define COATI_REGION_STACK(name)	((void)0)
#define COATI_REGION_NAMED(name)	((void)(name))
#else
#define COATI_REGION(name)		COATI_REGION_SITE_("", name, 0, 0)
#define COATI_REGION_IN(category, name) COATI_REGION_SITE_(category, name, 0, 0)
/* Written only when it lasts at least @min_ns (0: duration does not matter), or something is
 * written inside. */
#define COATI_REGION_LAZY(name, min_ns) COATI_REGION_SITE_("", name, COATI_SITE_LAZY, min_ns)
#define COATI_REGION_STACK(name)	COATI_REGION_SITE_("", name, COATI_SITE_STACK, 0)
/* @name is any text, such as "level 7". The site is looked up by the text, which costs some ten
 * nanoseconds. */
#define COATI_REGION_NAMED(name)                                                  \
	__attribute__((cleanup(coati_region_leave_), unused)) struct coati_site * \
	COATI_TRACER_NAME_(coati_region_, __LINE__) =                             \
		COATI_TRACING() ? coati_region_begin_named(name) : NULL
#endif

#define COATI_LOG(category, ...) \
	COATI_EVENT_(COATI_SITE_LOG, category, "", NULL, coati_log(&coati_site_, __VA_ARGS__))
#define COATI_COUNTER(name, value) \
	COATI_EVENT_(COATI_SITE_COUNTER, "", name, NULL, coati_counter(&coati_site_, value))
#define COATI_GAUGE(name, value) \
	COATI_EVENT_(COATI_SITE_GAUGE, "", name, NULL, coati_gauge(&coati_site_, value))
/* COATI_EVENT("accept", "fd:i from:s", (int64_t)fd, name): each value must have exactly the type of
 * its letter. */
#define COATI_EVENT(name, fields, ...) \
	COATI_EVENT_(COATI_SITE_INSTANT, "", name, fields, coati_instant(&coati_site_, __VA_ARGS__))
/* Without fields. */
#define COATI_INSTANT(name) \
	COATI_EVENT_(COATI_SITE_INSTANT, "", name, NULL, coati_instant(&coati_site_))
#define COATI_FLOW_BEGIN(name, id) \
	COATI_EVENT_(COATI_SITE_FLOW, "", name, NULL, coati_flow(&coati_site_, id, 0))
#define COATI_FLOW_STEP(name, id) \
	COATI_EVENT_(COATI_SITE_FLOW, "", name, NULL, coati_flow(&coati_site_, id, 1))
#define COATI_FLOW_END(name, id) \
	COATI_EVENT_(COATI_SITE_FLOW, "", name, NULL, coati_flow(&coati_site_, id, 2))

/* ---- recorders ---- */

/* What happens when a recorder has reached its memory limit. Each recorder has its own policy:
 * events that one drops are still available to the others. */
enum coati_recorder_policy {
	COATI_DROP_OLDEST = 0, /* drop the oldest generation */
	/* Drop new events until there is space. If other recorders run, it holds copies in ordinary
	 * memory of at most @bytes, so that it does not block the space of the others. */
	COATI_DROP_NEWEST,
	/* For streams: the writing thread waits. In a signal handler that interrupted an event it
	 * does not wait, and the event is lost. */
	COATI_BLOCK,
};

#define COATI_RECORDER_STACKS (1u << 0) /* record a stack with every region, task and log event */
/* add the samples of <coati/sampler.h> to the stream: the event live:cpu of coati report and
 * export */
#define COATI_RECORDER_SAMPLES (1u << 1)
#define COATI_RECORDER_LABELS  (1u << 2) /* record label changes */

struct coati_recorder_opts {
	uint64_t size; /* sizeof(struct coati_recorder_opts) */
	/* events are written here, generation by generation, in the pipe format of perf.data; 0 or
	 * -1: they stay in memory (flight recorder) */
	int fd;
	uint32_t flags; /* COATI_RECORDER_* */
	enum coati_recorder_policy policy;
	/* memory limit, including all overhead; 0: 16 MiB. The first recorder of a process
	 * determines the memory of all recorders */
	uint64_t bytes;
	/* flight recorder: drop generations older than this; 0: keep as many as fit */
	uint64_t window_ns;
	/* duration of a generation; 0: 1 s. The shortest of all recorders applies */
	uint64_t generation_ns;
	const char *categories; /* "http,db": only these; "-noise": all but these; NULL: all */
	/* of the file that holds the memory; NULL: /dev/shm/coati-UID, or a replacement (enum
	 * coati_recorder_place); "": no file name, the memory disappears with the process */
	const char *directory;
	/* with fd: end the stream when its reader accepts no byte for this long. 0: no limit while
	 * the recorder runs, and 5 s in coati_recorder_stop() */
	uint64_t patience_ns;
	/* Limits for the files that crashed processes left in the directory, including the memory
	 * of this recorder: the oldest files are removed when it starts. 0: the environment
	 * variables COATI_KEEP_FILES, COATI_KEEP_BYTES and COATI_KEEP_AGE (64, 256M, 7d), else 64
	 * files, 256 MiB and any age. Never more than half of the file system. */
	uint64_t keep_files, keep_bytes, keep_ns;
};

/* Where the memory of the recorders is. */
enum coati_recorder_place {
	COATI_PLACE_USUAL = 0, /* /dev/shm/coati-UID */
	COATI_PLACE_NAMED,     /* in the directory of the options */
	/* The usual directory belongs to another user, or cannot be created:
	 * $XDG_RUNTIME_DIR/coati, */
	COATI_PLACE_RUNTIME,
	COATI_PLACE_RANDOM, /* /dev/shm/coati-UID-NUMBER, */
	COATI_PLACE_MEMORY, /* or memory without a file name, which disappears with the process */
};

struct coati_recorder;

/* Start a recorder. Any number may run at the same time. Starts one thread for all of them, and one
 * more for each recorder that writes to a descriptor, with all signals blocked. If the reader of a
 * descriptor stops reading, other recorders and snapshots are not delayed; with COATI_BLOCK threads
 * wait for it. -EINVAL; -ENOMEM; -ENOSPC: /dev/shm is full; -EEXIST, -EACCES: the directory belongs
 * to another user; -EAGAIN: cannot start a thread.  Thread: any.  Signal: not safe. */
COATI_API int coati_recorder_start(const struct coati_recorder_opts *opts,
				   struct coati_recorder **ret, struct coati_error *err);
/* Write everything that the recorder holds to @fd, in the pipe format of perf.data, which every
 * coati command reads. Writers are not stopped. All events emitted before this call are
 * included. */
COATI_API int coati_recorder_snapshot(struct coati_recorder *rec, int fd, struct coati_error *err);

struct coati_recorder_stats {
	uint64_t size;	 /* sizeof(struct coati_recorder_stats) */
	uint64_t events; /* in closed batches since the memory was created */
	/* events that this recorder has lost since its start, because the memory was full or its
	 * reader did not receive them */
	uint64_t dropped;
	uint64_t bytes;		       /* of the memory */
	uint64_t generations;	       /* begun so far */
	uint64_t batches;	       /* closed so far */
	uint64_t sites, sites_refused; /* refused: no space for their texts */
	/* open tasks and resources over the limit of those that are repeated */
	uint64_t tasks_unlisted;
	uint64_t stuck; /* threads that stayed inside an event for over a second */
	/* Snapshots of this recorder by a condition or a signal: files written, files that could
	 * not be written, and the error of the last of these: 0 or a negative errno. */
	uint64_t snapshots, snapshots_failed;
	int64_t snapshot_error;
	uint64_t place; /* enum coati_recorder_place */
	/* files of crashed processes that this process removed (keep_files) */
	uint64_t removed_files, removed_bytes;
};

/* 0; -EINVAL: ret->size is not set.  Thread: any. */
COATI_API int coati_recorder_stats(const struct coati_recorder *rec,
				   struct coati_recorder_stats *ret);
/* Write a snapshot automatically when a task was slow. */
struct coati_recorder_condition {
	uint64_t size;		 /* sizeof(struct coati_recorder_condition) */
	const char *task_type;	 /* at most 127 bytes */
	uint64_t slower_than_ns; /* slower than this, or */
	/* slower than this multiple of the 99th percentile; takes effect after a hundred tasks */
	double times_p99;
	/* file name, with %p process ID, %t time, %n program, %c sequence number, %{VARIABLE};
	 * without %c the number is appended from the second file on */
	const char *file;
	uint32_t at_most; /* maximum number of files; 0: 10 */
	uint32_t reserved;
	uint64_t pause_ns; /* minimum time between two files; 0: 10 s */
};
/* A thread of the recorders writes the file at once, with the suffix ".part" until it is complete.
 * If that fails (the disk is full), no file is left, and the next slow task after the pause tries
 * again; coati_recorder_stats() reports the failure, and coati_recorder_stop() returns the first
 * error. At most 8 conditions and signals together. -EINVAL, -ENOSPC, -ENOMEM.  Thread: any.
 * Signal: not safe. */
COATI_API int coati_recorder_when(struct coati_recorder *rec,
				  const struct coati_recorder_condition *when,
				  struct coati_error *err);
/* Write a snapshot whenever the signal arrives. -EBUSY: the program has a handler for it. Stopping
 * the recorder restores the signal. */
COATI_API int coati_recorder_on_signal(struct coati_recorder *rec, int signal, const char *file,
				       struct coati_error *err);

/* Stop the recorder, write the remaining events and free it. *@rec becomes NULL; NULL is fine.
 * Returns the first error of writing to fd; -ETIMEDOUT: its reader accepted nothing for too long
 * (patience_ns). */
COATI_API int coati_recorder_stop(struct coati_recorder **rec, struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
