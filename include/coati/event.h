/* SPDX-License-Identifier: MIT */
/*
 * Events: parse event names into attributes, open an event, a group, or a set of events on many
 * targets, and read the counts.
 *
 *	struct coati_event_list *list = NULL;
 *	coati_event_list_new(NULL, &list, &err);
 *	coati_event_list_add(list, "page-faults,{task-clock,context-switches}", &err);
 *	const struct coati_event_desc *d = coati_event_list_get(list, 0);
 *	struct coati_event *ev = NULL;
 *	coati_event_open(&d->attr, &COATI_SELF, NULL, &ev, &err);
 *	coati_event_measure(ev, work, ctx, &count, &err);
 *	coati_event_close(&ev);
 *	coati_event_list_free(list);
 *
 * Unless a function says otherwise: one object is used by one thread at a time, functions may
 * allocate memory, and none may be called from a signal handler. A NULL event (closing sets the
 * pointer to NULL) gives -EINVAL; an event whose descriptor was closed by other code gives -EBADF.
 * coati-event(3) has an example.
 */
#ifndef COATI_EVENT_H
#define COATI_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names ---------------------------------------------------------------------------------- */

enum coati_event_kind {
	COATI_EVENT_UNKNOWN = 0,
	COATI_EVENT_HARDWARE,
	COATI_EVENT_SOFTWARE,
	COATI_EVENT_CACHE,
	COATI_EVENT_RAW,
	COATI_EVENT_PMU, /* a dynamic PMU of sysfs */
	COATI_EVENT_TRACEPOINT,
	COATI_EVENT_BREAKPOINT,
	COATI_EVENT_KPROBE,
	COATI_EVENT_UPROBE,
	COATI_EVENT_USDT,
	COATI_EVENT_TOOL, /* duration_time, user_time, system_time: not opened, but measured */
};

/* coati_event_desc.flags */
#define COATI_DESC_LEADER (UINT32_C(1) << 0) /* first of its group */
/* :W, the group may be split when the kernel cannot schedule it */
#define COATI_DESC_WEAK (UINT32_C(1) << 1)
/* :S, only the leader samples, and each sample has the counts of the group */
#define COATI_DESC_SAMPLE_READ (UINT32_C(1) << 2)
/* one of u, k, h was given: never fall back to user space only */
#define COATI_DESC_MODIFIED   (UINT32_C(1) << 3)
#define COATI_DESC_PERIOD     (UINT32_C(1) << 4) /* a period= term */
#define COATI_DESC_FREQ	      (UINT32_C(1) << 5) /* a freq= term */
#define COATI_DESC_INHERIT    (UINT32_C(1) << 6) /* an inherit term */
#define COATI_DESC_NO_INHERIT (UINT32_C(1) << 7)
#define COATI_DESC_OVERWRITE  (UINT32_C(1) << 8)
#define COATI_DESC_PERCORE    (UINT32_C(1) << 9)
#define COATI_DESC_PER_PKG    (UINT32_C(1) << 10) /* sysfs: one count per package */
/* sysfs: a level, not a count; intervals are not differences */
#define COATI_DESC_SNAPSHOT    (UINT32_C(1) << 11)
#define COATI_DESC_TIME	       (UINT32_C(1) << 12) /* time=1 */
#define COATI_DESC_NO_TIME     (UINT32_C(1) << 13) /* time=0 */
#define COATI_DESC_MAX_PRECISE (UINT32_C(1) << 14) /* :P, as precise as the PMU can */
#define COATI_DESC_BPF_COUNTER (UINT32_C(1) << 15) /* :b */
/* another location of the previous event (USDT, numbered PMUs): add up the counts */
#define COATI_DESC_MORE		(UINT32_C(1) << 16)
#define COATI_DESC_NO_OVERWRITE (UINT32_C(1) << 17)
/* cpus says which CPUs have such cores: the event can be opened on threads, too */
#define COATI_DESC_CORE (UINT32_C(1) << 18)

/* attr.type and attr.config of COATI_EVENT_TOOL; the kernel does not know that type. */
#define COATI_TYPE_TOOL	    UINT32_MAX
#define COATI_TOOL_DURATION 1 /* wall-clock time, in ns */
#define COATI_TOOL_USER	    2 /* time of the child in user space, in ns */
#define COATI_TOOL_SYSTEM   3 /* time of the child in the kernel, in ns */

/* call-graph= term */
enum coati_callgraph {
	COATI_CALLGRAPH_UNSET = 0,
	COATI_CALLGRAPH_NO,
	COATI_CALLGRAPH_FP,
	COATI_CALLGRAPH_DWARF,
	COATI_CALLGRAPH_LBR,
};

/* One event of a list, as requested. Allocated by the library; the strings, and what attr.config1
 * points to for probes, live as long as the list. */
struct coati_event_desc {
	const char *name; /* the name= term, or as typed with its modifiers */
	enum coati_event_kind kind;
	uint32_t flags; /* COATI_DESC_* */
	/* type, config*, bp_*, exclusions, precise, pinned, exclusive, period, aux action */
	struct coati_attr attr;
	int32_t group;		/* number of the group in the list; -1: not in a group */
	const char *group_name; /* "name:{...}", otherwise "" */
	const char *unit;	/* "" or for example "Joules" */
	/* the displayed value is count scale; 1.0 unless the PMU has a scale */
	double scale;
	/* "" or the list of CPUs (cpumask of the PMU, cpu= term) on which the event must be opened,
	 * for all threads. With COATI_DESC_CORE it may be opened on threads too. */
	const char *cpus;
	const char *filter; /* "" or the tracepoint or address filter to set after opening */
	enum coati_callgraph callgraph;
	uint32_t stack_size;	/* stack-size= term; 0: not given */
	uint32_t max_stack;	/* max-stack= term; 0: not given */
	const char *tracepoint; /* tracepoints: "system:name" whatever name= says, otherwise "" */
	const char *probe;	/* probes: "path:symbol+0x10", otherwise "" */
	/* nr= term: stop the event after this many occurrences; 0: not given */
	uint64_t max_events;
	const char *metric_id; /* metric-id= term, otherwise "" */
	/* "" or a sentence for the user about what differs from the request */
	const char *note;
};

struct coati_event_list;

struct coati_event_list_opts {
	uint64_t size;	     /* sizeof(struct coati_event_list_opts) */
	const char *sysfs;   /* NULL: "/sys" */
	const char *tracefs; /* NULL: where it is mounted below /sys/kernel */
	const char *procfs;  /* NULL: "/proc" */
	uint64_t flags;	     /* none yet: 0 */
};

/* Make an empty list. @opts may be NULL. */
COATI_API int coati_event_list_new(const struct coati_event_list_opts *opts,
				   struct coati_event_list **ret, struct coati_error *err);
/* Parse @text and append the events that it names: coati-events(7) has the grammar. On failure the
 * list is as before, and err->column is the position in @text, in bytes from 1. -EINVAL: wrong
 * syntax; -ENOENT: an unknown name, the message suggests the nearest one; -EOPNOTSUPP: not
 * available here; -ERANGE: a number that does not fit; -E2BIG: over 65536 characters, 16384 events
 * a list or 256 a group. */
COATI_API int coati_event_list_add(struct coati_event_list *list, const char *text,
				   struct coati_error *err);
/* Set a filter for the tracepoints and probes of the last coati_event_list_add(); a second one is
 * joined with &&. The fields are checked against the format of each tracepoint; err->column is the
 * position in @filter. On failure the filters are as before. -EINVAL: wrong syntax, or no
 * tracepoint and no probe to filter; -ENOENT: an unknown field; -E2BIG: over 4095 characters. */
COATI_API int coati_event_list_filter(struct coati_event_list *list, const char *filter,
				      struct coati_error *err);
/* Event number @i; NULL past the end. Lives until the next add, or as long as the list. */
COATI_API const struct coati_event_desc *coati_event_list_get(const struct coati_event_list *list,
							      uint32_t i);
/* NULL is fine. */
COATI_API void coati_event_list_free(struct coati_event_list *list);

/* ---- opening -------------------------------------------------------------------------------- */

/* The target of an event: a thread on any or one CPU, everything on a CPU, or a cgroup on a CPU.
 * Frozen. */
struct coati_target {
	int32_t pid; /* 0: the calling thread; >0: that thread; -1: all (cpu must be given) */
	int32_t cpu; /* -1: any */
	/* -1: none; or a cgroup's directory: cpu must be given, pid is ignored */
	int32_t cgroup_fd;
};

/* The address of these may be taken: it is valid until the end of the statement, in C until the end
 * of the block. */
#define COATI_SELF COATI_ON(0, -1)
#ifdef __cplusplus
#define COATI_ON(p, c) (static_cast<const coati_target &>(coati_target{ (p), (c), -1 }))
#else
#define COATI_ON(p, c) ((struct coati_target){ (p), (c), -1 })
#endif

/* coati_event_opts.flags */
/* Drop attributes that an older kernel does not know; coati_event_attr() returns those in use. */
#define COATI_EVENT_NEGOTIATE (UINT32_C(1) << 0)
/* Count user space only when counting the kernel is refused. */
#define COATI_EVENT_USER_OK (UINT32_C(1) << 1)
/* Map the counter, so that coati_event_read_fast() needs no system call where the kernel and the
 * CPU allow that. Not for an event whose ring buffer is read. */
#define COATI_EVENT_FAST (UINT32_C(1) << 2)

struct coati_event_opts {
	uint64_t size;		   /* sizeof(struct coati_event_opts) */
	struct coati_event *group; /* leader of the group to join, or NULL */
	const char *label;	   /* for counts and messages; NULL: the usual name of the event */
	uint32_t flags;		   /* COATI_EVENT_* */
	uint32_t open_flags;	   /* more COATI_OPEN_*; CLOEXEC is always set */
};

struct coati_event;

/* Open one event. @attr is copied and used as it is: the event counts at once unless
 * COATI_ATTR_DISABLED is set. @opts may be NULL. The descriptor is close-on-exec and non-blocking.
 * The error names the event and the reason; for a missing permission also the setting and the
 * command to change it. */
COATI_API int coati_event_open(const struct coati_attr *attr, const struct coati_target *target,
			       const struct coati_event_opts *opts, struct coati_event **ret,
			       struct coati_error *err);
/* *ev becomes NULL; NULL is fine. When a group leader is closed, the other members stay open and
 * count on their own (kernel behavior). */
COATI_API void coati_event_close(struct coati_event **ev);

/* The descriptor, which stays the event's; or a negative errno. */
COATI_API int coati_event_fd(const struct coati_event *ev);
/* The kernel's ID of the event, the same as in counts and in samples. */
COATI_API int coati_event_id(const struct coati_event *ev, uint64_t *ret);
/* The attributes as opened, after negotiation. Lives as long as the event. */
COATI_API const struct coati_attr *coati_event_attr(const struct coati_event *ev);

/* ---- counting ------------------------------------------------------------------------------- */

/* A count. Frozen. */
struct coati_count {
	uint64_t value;
	uint64_t enabled_ns, running_ns; /* 0 unless the read format has them */
	uint64_t id, lost;		 /* likewise */
	const char *label;		 /* lives as long as the event */
};

/* The value as if the event had run all the time that it was enabled: value * enabled / running,
 * rounded to the nearest. The value itself when the times are equal or unknown, 0 when it never
 * ran. Exact in 128 bits; saturates.  Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API uint64_t coati_count_scaled(const struct coati_count *count);

/* Read the count with a system call. -EIO: a pinned event that has no counter; -EINVAL: the event
 * has COATI_READ_GROUP. */
COATI_API int coati_event_read(struct coati_event *ev, struct coati_count *ret);
/* Read the count without a system call where that is possible (COATI_EVENT_FAST, and the thread
 * that opened the event), otherwise as coati_event_read(). *ret_fast, which may be NULL, becomes 1
 * when the system call was avoided. */
COATI_API int coati_event_read_fast(struct coati_event *ev, struct coati_count *ret, int *ret_fast);

/* The count and times of exactly one call of fn(ctx), whatever was counted before. Software and
 * hardware events are read, @fn is called, and they are read again; they are started when they do
 * not run, and left running, which is cheaper than starting and stopping them around each call.
 * Tracepoints, breakpoints and probes, which calls of the library itself might hit, are started and
 * stopped around @fn and left stopped. */
COATI_API int coati_event_measure(struct coati_event *ev, void (*fn)(void *ctx), void *ctx,
				  struct coati_count *ret, struct coati_error *err);

/* ---- control -------------------------------------------------------------------------------- */

/* Enabling or disabling a leader applies to its whole group, except to members that were disabled
 * individually; coati_group_enable() starts these too. A member counts while it and its leader are
 * enabled. */
COATI_API int coati_event_enable(struct coati_event *ev);
COATI_API int coati_event_disable(struct coati_event *ev);
/* Send the records of @ev into the ring buffer of @target; NULL: back to its own. */
COATI_API int coati_event_set_output(struct coati_event *ev, struct coati_event *target,
				     struct coati_error *err);
/* Attach a loaded BPF program by its descriptor. */
COATI_API int coati_event_set_bpf(struct coati_event *ev, int prog_fd, struct coati_error *err);
/* Set a tracepoint or address filter. A tracepoint takes one filter in its life: -EEXIST for a
 * second one. "" removes an address filter. */
COATI_API int coati_event_set_filter(struct coati_event *ev, const char *filter,
				     struct coati_error *err);

/* ---- groups --------------------------------------------------------------------------------- */

/* Events that the kernel schedules together, so that their counts are of the same time. They are
 * opened stopped, and started in one step. The group owns its events: the leader first, the others
 * in the order in which they were added.
 *
 * Members may belong to different PMUs, {page-faults,task-clock} for example. On Linux 6.12 and
 * later such a member counts nothing when PERF_EVENT_IOC_DISABLE and then PERF_EVENT_IOC_ENABLE
 * were sent with PERF_IOC_FLAG_GROUP, although its times are complete. The functions here never do
 * that; a program that sends its own requests to the descriptors must send them to the leader
 * alone. */
struct coati_group;

COATI_API int coati_group_new(struct coati_group **ret);
/* Add an event before opening. @attr is copied; the read format and COATI_ATTR_DISABLED are set by
 * the group. A failure is kept: coati_group_open() reports the first one. */
COATI_API int coati_group_add(struct coati_group *g, const struct coati_attr *attr,
			      const char *label);
/* @flags: COATI_EVENT_*. */
COATI_API int coati_group_open(struct coati_group *g, const struct coati_target *target,
			       uint32_t flags, struct coati_error *err);
COATI_API int coati_group_enable(struct coati_group *g);
COATI_API int coati_group_disable(struct coati_group *g);
/* Read all members at once, in order. At most @max counts are stored; *ret_nr is how many there
 * are. */
COATI_API int coati_group_read(struct coati_group *g, struct coati_count *ret, uint32_t max,
			       uint32_t *ret_nr);
/* The counts of one call of fn(ctx): the group is started and stopped around it, and left stopped.
 * At most @max counts are stored. Returns how many there are, or a negative errno. */
COATI_API int coati_group_measure(struct coati_group *g, void (*fn)(void *ctx), void *ctx,
				  struct coati_count *ret, uint32_t max);
/* *g becomes NULL; NULL is fine. */
COATI_API void coati_group_close(struct coati_group **g);

/* ---- sets: a list of events on many targets -------------------------------------------------- */

/* coati_set_opts.flags */
#define COATI_SET_INHERIT (UINT64_C(1) << 0) /* follow new threads and children of the targets */
/* Start when the target calls exec: for coati_child_start(). */
#define COATI_SET_ENABLE_ON_EXEC (UINT64_C(1) << 1)
/* COATI_EVENT_USER_OK for events without u, k, h */
#define COATI_SET_USER_OK   (UINT64_C(1) << 2)
#define COATI_SET_NEGOTIATE (UINT64_C(1) << 3) /* COATI_EVENT_NEGOTIATE */
/* Open threads on each CPU separately: only then can inherited events be mapped. */
#define COATI_SET_PER_CPU (UINT64_C(1) << 4)

struct coati_set_opts {
	uint64_t size;	     /* sizeof(struct coati_set_opts) */
	uint64_t flags;	     /* COATI_SET_* */
	const int32_t *pids; /* processes: all of their threads are opened */
	uint64_t nr_pids;
	const int32_t *tids; /* single threads */
	uint64_t nr_tids;
	/* "0-3,8": everything on these CPUs; with pids or tids: those threads while they run there.
	 * NULL without pids and tids: everything on all online CPUs. */
	const char *cpus;
	/* everything on the CPUs, within this cgroup: a path below the cgroup mount, or absolute */
	const char *cgroup;
	/* NULL: events are counted. Otherwise one for each event of the list, for sampling: it is
	 * opened as it is, except for COATI_ATTR_DISABLED, inheritance, start at exec and the group
	 * bit of the read format, which the set decides. */
	const struct coati_attr *attrs;
};

struct coati_set;

/* One open event of a set. Frozen. */
struct coati_set_entry {
	uint32_t event;		    /* index in the list */
	int32_t tid;		    /* -1: all threads */
	int32_t cpu;		    /* -1: any */
	struct coati_event *handle; /* owned by the set */
};

/* Open every event of @list on every target, groups as groups, all stopped. The list must outlive
 * the set, @opts need not. Periods, frequencies and precision of the list are ignored for counting;
 * times, ID and losses are always read. Filters of the list are set.
 *
 * An event that the kernel does not have (-ENOENT, -EOPNOTSUPP, -ENODEV), or that counts whole CPUs
 * while a program is the target, does not fail the call: see coati_set_event_error(). A refusal
 * (-EACCES, -EPERM) and any other error does. A weak group (:W) that the kernel refuses is opened
 * event by event. Threads that start or end meanwhile are followed. When descriptors run out, the
 * soft limit of this process is raised towards the hard one. */
COATI_API int coati_set_open(const struct coati_event_list *list, const struct coati_set_opts *opts,
			     struct coati_set **ret, struct coati_error *err);
/* Start and stop all. */
COATI_API int coati_set_enable(struct coati_set *set, struct coati_error *err);
COATI_API int coati_set_disable(struct coati_set *set, struct coati_error *err);
/* Entry number @i, from 0; -EINVAL past the last. */
COATI_API int coati_set_entry(const struct coati_set *set, uint32_t i, struct coati_set_entry *ret);
/* Read entry @i. The members of a group come from one read: reading the entry of the leader, which
 * is the first, reads all, and the others give what was read with it. -EIO: a pinned event that has
 * no counter. */
COATI_API int coati_set_read(struct coati_set *set, uint32_t i, struct coati_count *ret);
/* Why event number @event of the list is not open on any target; NULL when it is open, or is a tool
 * event. Lives as long as the set. */
COATI_API const struct coati_error *coati_set_event_error(const struct coati_set *set,
							  uint32_t event);
/* *set becomes NULL; NULL is fine. */
COATI_API void coati_set_close(struct coati_set **set);

#ifdef __cplusplus
}
#endif
#endif
