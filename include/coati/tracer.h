/* SPDX-License-Identifier: MIT */
/*
 * The execution tracer and the flight recorder of libcoati-live: what a program says about itself,
 * with the time, in a few bytes an event.
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
 * costs the load of one word, the gate. After that it is a few bytes in memory of the thread's own:
 * no lock, no atomic read-modify-write, no allocation and no system call, but when 16 KiB are full
 * and at the first use of a thread or of a site. docs/formats/live.md describes the bytes.
 *
 * All event functions may be called from signal handlers, and keep errno. One that interrupts
 * another of the same thread writes into a second buffer; one that interrupts that is left out and
 * counted. A handler must not leave by longjmp().
 *
 * A child after fork() records nothing until it starts a recorder of its own. Defining
 * COATI_DISABLE before this header is included makes the macros vanish; functions stay what they
 * are.
 *
 * Limits: 65535 sites, 58 categories with a bit of their own (the others share one); texts of 8000
 * bytes (longer ones are cut, and it is said so); regions deeper than 128 are written, but not
 * repeated in a new generation; 16384 open tasks and 4096 open resources are repeated.
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

/* Not zero while somebody records, or regions are kept (coati_regions_keep()): a bit for each
 * category that is wanted, and some of the library's. The one thing that is tested inline. */
extern COATI_API uint64_t coati_tracer_gate;

/* Whether somebody records, or regions are kept: before work that only serves an event. */
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

#define COATI_SITE_STACK (1u << 0) /* every event of it with its stack */
#define COATI_SITE_LAZY	 (1u << 1) /* regions: written only when something is written inside */

/* A place in the program: static, so that its texts are written once. The library copies them at
 * the first use, so that the library that holds the site may be unloaded. The macros fill it in.
 * Frozen. */
struct coati_site {
	/* the library's, as are id and mask: the event of a region but for its time; 0: the long
	 * way */
	uint64_t quick;
	uint64_t mask; /* bit of its category; ~0 before the first use; 0: switched off */
	/* id: 0 before the first use; flags: COATI_SITE_STACK, COATI_SITE_LAZY */
	uint32_t id, flags;
	/* regions: written only when they last so long, or something is written inside */
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
/* In a function; outside of one COATI_SITE_FOR(""), as there is no name. */
#define COATI_SITE(kind, category, name, fields, flags, min_ns) \
	COATI_SITE_FOR(__func__, kind, category, name, fields, flags, min_ns)
/* clang-format on */

/* Switch a site off, or on again. Its open regions still end.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_site_switch(struct coati_site *site, int on);

/* ---- regions: what a thread does; they nest ---- */

/* All event functions: Hot.  Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API COATI_HOT COATI_SIGSAFE void coati_region_begin(struct coati_site *site);
/* Ends the innermost open one with this site; those inside it end too (longjmp). One that never
 * began, or began before the recorder, is ignored. */
COATI_API COATI_HOT COATI_SIGSAFE void coati_region_end(struct coati_site *site);
/* Keep the stacks of open regions also while nobody records (@on 1), or no longer (0, the
 * default): a recorder that starts, also one from outside, then knows the regions that are open
 * and when each of them began. Without it a region that began before the recorder is not known:
 * nothing is stored while nobody records. Costs a call and a clock read for each region of the
 * program. Regions that are open at this call, and those in signal handlers that interrupt a
 * region's begin or end, are not known; nor are those of threads that switch between fibers
 * (<coati/fiber.h>), which are known only while somebody records. A child after fork() begins
 * with 0. 0, or a negative errno.  Thread: any.  Signal: not safe. */
COATI_API int coati_regions_keep(int on, struct coati_error *err);

/* Begin a region whose name is made at run time; the site that it returns is for
 * coati_region_end(). @name is copied at its first use (127 bytes of it). There is room for 4096
 * different names in a process; the regions of further ones are called "(other names)", and each
 * has its name as a log line. COATI_REGION_NAMED() calls it while somebody records. */
COATI_API COATI_SIGSAFE struct coati_site *coati_region_begin_named(const char *name);

/* ---- tasks: what is to be done; they cross threads ---- */

/* A task; copy it to hand the task to another thread. Frozen. */
struct coati_live_task {
	uint64_t id;	    /* unique in the process, also when nobody records */
	uint64_t recording; /* the rest is the library's */
	uint32_t slot, site;
};

/* Begin a task of the type @site->name. @parent NULL: the task that the thread works on. Does not
 * make the thread work on it. */
COATI_API COATI_SIGSAFE void coati_task_begin(struct coati_site *site,
					      const struct coati_live_task *parent,
					      struct coati_live_task *ret);
/* On any thread; may be repeated, the first counts. */
COATI_API COATI_SIGSAFE void coati_task_end(const struct coati_live_task *task);

/* What coati_task_leave() needs. Frozen. */
struct coati_task_scope {
	uint64_t previous;
};

/* This thread works on @task (NULL: on none) until coati_task_leave(); scopes nest. Kept also
 * while nobody records. */
COATI_API COATI_SIGSAFE struct coati_task_scope coati_task_enter(
	const struct coati_live_task *task);
COATI_API COATI_SIGSAFE void coati_task_leave(const struct coati_task_scope *scope);

/* ---- single events ---- */

/* @text needs no zero at its end; any size. */
COATI_API COATI_SIGSAFE void coati_log_text(struct coati_site *site, const char *text, size_t size);
/* Formats into a buffer of 1024 bytes: a longer text is cut, and it is said so.  Signal: not
 * safe. */
COATI_API void coati_log(struct coati_site *site, const char *format, ...) COATI_PRINTF(2, 3);
COATI_API COATI_SIGSAFE void coati_counter(struct coati_site *site, int64_t value);
COATI_API COATI_SIGSAFE void coati_gauge(struct coati_site *site, double value);
/* @phase: 0 begin, 1 step, 2 end. Arrows between what happens on different threads for the same
 * @id. */
COATI_API COATI_SIGSAFE void coati_flow(struct coati_site *site, uint64_t id, unsigned int phase);
/* One value for each of @site->fields: i int64_t, u and x uint64_t, d double, s const char *
 * (NULL: empty). At most 16. */
COATI_API COATI_SIGSAFE void coati_instant(struct coati_site *site, ...);

/* ---- resources: things with declared states (connections, queues, coroutines) ---- */

/* A type of resource: static. Frozen. */
struct coati_resource_type {
	const char *name;
	const char *const *states;
	/* set of the states that may follow each, one bit a state; NULL: any */
	const uint64_t *next;
	uint32_t count; /* of states, at most 64 */
	uint32_t id;	/* 0 before the first use; the library's */
};

/* A resource. Fields are the library's. Frozen. */
struct coati_resource {
	uint64_t id;
	struct coati_resource_type *type;
	uint64_t recording; /* the library's */
	uint32_t state, slot;
};

COATI_API COATI_SIGSAFE void coati_resource_begin(struct coati_resource_type *type,
						  const char *name, uint32_t state,
						  struct coati_resource *ret);
/* -EINVAL when the type does not allow it: written all the same, and found by the validator.
 * Calls for one resource must not run at the same time. */
COATI_API COATI_SIGSAFE int coati_resource_set(struct coati_resource *resource, uint32_t state,
					       const char *reason);
COATI_API COATI_SIGSAFE void coati_resource_end(struct coati_resource *resource);

/* ---- names ---- */

/* As shown for this thread, and for the process. That of a thread is kept, and written for
 * recorders that start later (its first 63 bytes); that of the process is an event like all others,
 * which a recorder that starts later, or has dropped the generation in which it was written, does
 * not know. pthread_setname_np() is for the kernel's side. */
COATI_API COATI_SIGSAFE void coati_thread_name(const char *name);
COATI_API COATI_SIGSAFE void coati_process_name(const char *name);

/* ---- macros: a static site, and the call only while somebody records ---- */

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

/* A region until the end of the block, however that is left. One for each line at most. @name and
 * @category are literals. */
#ifdef COATI_DISABLE
#define COATI_REGION(name)		((void)0)
#define COATI_REGION_IN(category, name) ((void)0)
#define COATI_REGION_LAZY(name, min_ns) ((void)0)
#define COATI_REGION_STACK(name)	((void)0)
#define COATI_REGION_NAMED(name)	((void)(name))
#else
#define COATI_REGION(name)		COATI_REGION_SITE_("", name, 0, 0)
#define COATI_REGION_IN(category, name) COATI_REGION_SITE_(category, name, 0, 0)
/* Written only when it lasts @min_ns (0: never for that alone), or something is written inside. */
#define COATI_REGION_LAZY(name, min_ns) COATI_REGION_SITE_("", name, COATI_SITE_LAZY, min_ns)
#define COATI_REGION_STACK(name)	COATI_REGION_SITE_("", name, COATI_SITE_STACK, 0)
/* @name is any text, "level 7". Finds its site by the text: some ten nanoseconds more. */
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
/* COATI_EVENT("accept", "fd:i from:s", (int64_t)fd, name): each value of exactly the type that
 * its letter says. */
#define COATI_EVENT(name, fields, ...) \
	COATI_EVENT_(COATI_SITE_INSTANT, "", name, fields, coati_instant(&coati_site_, __VA_ARGS__))
/* Without any. */
#define COATI_INSTANT(name) \
	COATI_EVENT_(COATI_SITE_INSTANT, "", name, NULL, coati_instant(&coati_site_))
#define COATI_FLOW_BEGIN(name, id) \
	COATI_EVENT_(COATI_SITE_FLOW, "", name, NULL, coati_flow(&coati_site_, id, 0))
#define COATI_FLOW_STEP(name, id) \
	COATI_EVENT_(COATI_SITE_FLOW, "", name, NULL, coati_flow(&coati_site_, id, 1))
#define COATI_FLOW_END(name, id) \
	COATI_EVENT_(COATI_SITE_FLOW, "", name, NULL, coati_flow(&coati_site_, id, 2))

/* ---- recorders ---- */

/* What happens when a recorder holds as much as it may. Each one has its own policy: what one
 * leaves out is there for the others. */
enum coati_recorder_policy {
	COATI_DROP_OLDEST = 0, /* the oldest generation makes room */
	/* New events are left out until there is room. Beside other recorders it holds copies, in
	 * ordinary memory of at most @bytes, so that the others have the room that it does not
	 * give back. */
	COATI_DROP_NEWEST,
	/* A stream: the thread that writes waits; but in a handler that interrupted an event it
	 * does not, and the event is lost. */
	COATI_BLOCK,
};

#define COATI_RECORDER_STACKS (1u << 0) /* the stack with every region, task, log */
/* what <coati/sampler.h> samples meanwhile, in the same stream: the event live:cpu of coati report
 * and export */
#define COATI_RECORDER_SAMPLES (1u << 1)
#define COATI_RECORDER_LABELS  (1u << 2) /* changes of labels */

struct coati_recorder_opts {
	uint64_t size; /* of this struct, set by the caller */
	/* events are written here, generation by generation, as a perf.data for pipes; 0 or -1:
	 * they stay in memory (flight recorder) */
	int fd;
	uint32_t flags; /* COATI_RECORDER_* */
	enum coati_recorder_policy policy;
	uint64_t
		/* what it holds at most, all included; 0: 16 MiB. The first recorder of a process
		 * decides how much memory there is for all */
		bytes;
	uint64_t window_ns; /* flight: older generations are dropped; 0: as many as fit */
	/* how long a generation lasts; 0: 1 s. The shortest of all recorders counts */
	uint64_t generation_ns;
	const char *categories; /* "http,db" only these; "-noise" all but these; NULL: all */
	/* of the file that holds the memory; NULL: /dev/shm/coati-UID, or what can be had instead
	 * (coati_recorder_place); "": no name, gone with the process */
	const char *directory;
	/* fd: a reader that takes no byte for so long is given up; the stream ends there. 0: never
	 * while the recorder runs, and 5 s in coati_recorder_stop() */
	uint64_t patience_ns;
	/* What files of recorders whose process died without an end may take in the folder, this
	 * one's memory included: the oldest are removed when it starts. 0: as the environment says
	 * (COATI_KEEP_FILES=64, COATI_KEEP_BYTES=256M, COATI_KEEP_AGE=7d), else 64 files, 256 MiB
	 * and any age. Never more than half of the file system. */
	uint64_t keep_files, keep_bytes, keep_ns;
};

/* Where the memory of the recorders is. */
enum coati_recorder_place {
	COATI_PLACE_USUAL = 0, /* /dev/shm/coati-UID */
	COATI_PLACE_NAMED,     /* in the directory of the options */
	/* The usual one is another user's, or cannot be made: $XDG_RUNTIME_DIR/coati, */
	COATI_PLACE_RUNTIME,
	COATI_PLACE_RANDOM, /* /dev/shm/coati-UID-NUMBER, */
	COATI_PLACE_MEMORY, /* or without a name: gone with the process */
};

struct coati_recorder;

/* Start a recorder. Any number may run at the same time. Starts one thread for all of them, and
 * one more for each that writes to a descriptor, with all signals blocked. A reader of a
 * descriptor that stops reading stalls no other recorder and no snapshot; under COATI_BLOCK
 * threads wait for it. -EINVAL, -ENOMEM, -ENOSPC (no room in /dev/shm), -EEXIST or -EACCES (the
 * directory is not ours), -EAGAIN (no thread). Thread: any.  Signal: not safe. */
COATI_API int coati_recorder_start(const struct coati_recorder_opts *opts,
				   struct coati_recorder **ret, struct coati_error *err);
/* Everything that the recorder holds, to @fd as a perf.data for pipes, which every coati command
 * reads, without stopping those that write: what was emitted before this call is in it. */
COATI_API int coati_recorder_snapshot(struct coati_recorder *rec, int fd, struct coati_error *err);

struct coati_recorder_stats {
	uint64_t size;	 /* of this struct, set by the caller: so much is written */
	uint64_t events; /* in closed batches since the memory was made */
	/* events that this recorder has lost since its start: there was no room for them, or its
	 * reader did not get them */
	uint64_t dropped;
	uint64_t bytes;		       /* of the memory */
	uint64_t generations;	       /* begun so far */
	uint64_t batches;	       /* closed so far */
	uint64_t sites, sites_refused; /* refused: no room for their texts */
	uint64_t tasks_unlisted; /* open tasks and resources that were too many to be repeated */
	uint64_t stuck;		 /* threads that did not leave an event for a second */
	/* Of this recorder, by a condition or a signal: files written, those that could not be,
	 * and why the last of them could not: 0 or a negative errno. */
	uint64_t snapshots, snapshots_failed;
	int64_t snapshot_error;
	uint64_t place;			       /* enum coati_recorder_place */
	uint64_t removed_files, removed_bytes; /* of the dead, by this process (keep_files) */
};

/* 0; -EINVAL: ret->size is not set.  Thread: any. */
COATI_API int coati_recorder_stats(const struct coati_recorder *rec,
				   struct coati_recorder_stats *ret);
/* Write a snapshot by itself when a task was slow. */
struct coati_recorder_condition {
	uint64_t size;		 /* of this struct, set by the caller */
	const char *task_type;	 /* name of the tasks; at most 127 bytes */
	uint64_t slower_than_ns; /* this long, or */
	/* so many times as long as all but one in a hundred; looks at them once there were a
	 * hundred */
	double times_p99;
	/* name, with %p process, %t time, %n program, %c number, %{VARIABLE}; from the second on
	 * the number is added where there is no %c */
	const char *file;
	uint32_t at_most; /* files; 0: 10 */
	uint32_t reserved;
	uint64_t pause_ns; /* between two; 0: 10 s */
};
/* A thread of the recorders writes it, at once, under another name (".part" behind it) until it
 * is whole. What it cannot write (the disk is full) leaves no file and is tried again the next
 * time, after the pause; coati_recorder_stats() tells of it meanwhile, and coati_recorder_stop()
 * returns the first error. At most 8 conditions and signals together. -EINVAL, -ENOSPC, -ENOMEM.
 * Thread: any.  Signal: not safe. */
COATI_API int coati_recorder_when(struct coati_recorder *rec,
				  const struct coati_recorder_condition *when,
				  struct coati_error *err);
/* The same whenever the signal comes. -EBUSY: the program has a handler for it. The end of the
 * recorder gives the signal back. */
COATI_API int coati_recorder_on_signal(struct coati_recorder *rec, int signal, const char *file,
				       struct coati_error *err);

/* Stop, write what is left, free. *@rec becomes NULL; NULL is fine. The first error of writing to
 * fd is reported here; -ETIMEDOUT: its reader took nothing for too long (patience_ns). */
COATI_API int coati_recorder_stop(struct coati_recorder **rec, struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
