/* SPDX-License-Identifier: MIT */
/*
 * Station 1 of the road: ask the kernel. From the name of an event to its attributes, from
 * attributes to an open event or group, from there to counts.
 *
 *	struct coati_event_list *list = NULL;
 *	coati_event_list_new(NULL, &list, &err);
 *	coati_event_list_add(list, "page-faults,{task-clock,context-switches}:S", &err);
 *	const struct coati_event_desc *d = coati_event_list_get(list, 0);
 *	struct coati_event *ev = NULL;
 *	coati_event_open(&d->attr, &COATI_SELF, NULL, &ev, &err);
 *	coati_event_measure(ev, work, ctx, &count, &err);
 *	coati_event_close(&ev);
 *	coati_event_list_free(list);
 *
 * Unless a function says otherwise: one object is used by one thread at a time, functions may
 * allocate, and none may be called from a signal handler. Every function checks the state of its
 * event: NULL (which is what closing leaves behind) is -EINVAL, an event whose descriptor was
 * closed behind our back is -EBADF.
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

/* ---- names ---- */

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
	/* duration_time, user_time, system_time: measured by the tool, never opened */
	COATI_EVENT_TOOL,
};

/* "hardware", "software", ... */
COATI_API const char *coati_event_kind_name(enum coati_event_kind kind);

/* coati_event_desc.flags */
#define COATI_DESC_LEADER (UINT32_C(1) << 0) /* first of its group */
/* :W, the group may be broken up when it cannot be scheduled */
#define COATI_DESC_WEAK (UINT32_C(1) << 1)
/* :S, only the leader samples, and reads the group */
#define COATI_DESC_SAMPLE_READ (UINT32_C(1) << 2)
/* some of u k h was given: never fall back to user only */
#define COATI_DESC_MODIFIED   (UINT32_C(1) << 3)
#define COATI_DESC_PERIOD     (UINT32_C(1) << 4) /* a period= term */
#define COATI_DESC_FREQ	      (UINT32_C(1) << 5) /* a freq= term */
#define COATI_DESC_INHERIT    (UINT32_C(1) << 6) /* an inherit term */
#define COATI_DESC_NO_INHERIT (UINT32_C(1) << 7)
#define COATI_DESC_OVERWRITE  (UINT32_C(1) << 8)
#define COATI_DESC_PERCORE    (UINT32_C(1) << 9)
#define COATI_DESC_PER_PKG    (UINT32_C(1) << 10) /* sysfs says: one count per package */
/* sysfs says: a level, not a count; intervals are not differences */
#define COATI_DESC_SNAPSHOT    (UINT32_C(1) << 11)
#define COATI_DESC_TIME	       (UINT32_C(1) << 12) /* time=1 */
#define COATI_DESC_NO_TIME     (UINT32_C(1) << 13) /* time=0 */
#define COATI_DESC_MAX_PRECISE (UINT32_C(1) << 14) /* :P, as precise as the PMU can */
#define COATI_DESC_BPF_COUNTER (UINT32_C(1) << 15) /* :b */
/* another place of the event before it (USDT, numbered PMUs): counts add up */
#define COATI_DESC_MORE		(UINT32_C(1) << 16)
#define COATI_DESC_NO_OVERWRITE (UINT32_C(1) << 17)
/* cpus only says which CPUs have such cores: threads can be watched too */
#define COATI_DESC_CORE (UINT32_C(1) << 18)

/* attr.type and attr.config of COATI_EVENT_TOOL; no kernel knows that type. */
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

/* One event as it was asked for. A value inside its list; the strings (and what attr.config1 points
 * to for probes) live as long as the list. */
struct coati_event_desc {
	const char *name; /* how it is shown: the name= term, else as typed with its modifiers */
	enum coati_event_kind kind;
	uint32_t flags; /* COATI_DESC_* */
	/* type, config*, bp_*, exclusions, precise, pinned, exclusive, period, aux action */
	struct coati_attr attr;
	int32_t group;		/* number of the group inside the list, -1 for a lone event */
	const char *group_name; /* "name:{...}", else "" */
	const char *unit;	/* "" or e.g. "Joules" */
	double scale;		/* 1.0 unless the PMU says otherwise: shown value = count * scale */
	/* "" or the CPU list (cpumask of the PMU, cpu= term) it must be opened on, system-wide.
	 * With COATI_DESC_CORE it may be opened on threads too, and on a CPU only when that is in
	 * the list. */
	const char *cpus;
	const char *filter; /* "" or the tracepoint or address filter to set after opening */
	enum coati_callgraph callgraph;
	uint32_t stack_size;	/* stack-size= term, 0 unset */
	uint32_t max_stack;	/* max-stack= term, 0 unset */
	const char *tracepoint; /* tracepoints: "system:name" whatever name= says, else "" */
	const char *probe;	/* probes: "path:symbol+0x10", else "" */
	uint64_t max_events;	/* nr= term: stop the event after so many, 0 unset */
	const char *metric_id;	/* metric-id= term, else "" */
	/* "" or a sentence about what is not exactly as asked for, to be shown to the user */
	const char *note;
};

struct coati_event_list;

struct coati_event_list_opts {
	uint64_t size;	   /* sizeof(struct coati_event_list_opts) */
	const char *sysfs; /* NULL: "/sys" */
	/* NULL: /sys/kernel/tracing or /sys/kernel/debug/tracing, whichever is mounted */
	const char *tracefs;
	const char *procfs; /* NULL: "/proc" */
	uint64_t flags;	    /* none yet; must be 0 */
};

/* An empty list. @opts may be NULL. */
COATI_API int coati_event_list_new(const struct coati_event_list_opts *opts,
				   struct coati_event_list **ret, struct coati_error *err);
/* Parse @text and append what it names; on failure the list is as before and err->column points
 * into @text (counted in bytes from 1). Grammar: coati-events(7). -EINVAL wrong syntax, -ENOENT an
 * unknown name (the text offers the nearest), -EOPNOTSUPP not to be had here, -ERANGE a number that
 * does not fit, -E2BIG over a limit: 65536 characters, 16384 events a list, 256 a group. */
COATI_API int coati_event_list_add(struct coati_event_list *list, const char *text,
				   struct coati_error *err);
/* Bind a filter to the tracepoints and probes of the last coati_event_list_add(); a second one is
 * joined with &&. It is parsed, and its fields are checked against the format of each tracepoint,
 * before the kernel sees it (the kernel takes one filter in the life of an event); err->column
 * points into @filter. On failure the filters are as before. -EINVAL when the last add brought
 * neither tracepoint nor probe, or wrong syntax; -ENOENT an unknown field (the text has the nearest
 * and the others); -E2BIG above 4095 characters. */
COATI_API int coati_event_list_filter(struct coati_event_list *list, const char *filter,
				      struct coati_error *err);
COATI_API uint32_t coati_event_list_count(const struct coati_event_list *list);
/* NULL past the end.  Lives: until the next add or the end of the list. */
COATI_API const struct coati_event_desc *coati_event_list_get(const struct coati_event_list *list,
							      uint32_t i);
/* NULL is fine. */
COATI_API void coati_event_list_free(struct coati_event_list *list);

/* The usual name of what @attr counts ("page-faults"), or NULL when it has none (tracepoints, raw,
 * PMUs). Thread: any. Memory: never allocates. */
COATI_API const char *coati_attr_name(const struct coati_attr *attr);

/* ---- the catalogue: what can be counted here ---- */

struct coati_event_field { /* of a tracepoint */
	const char *name;
	/* C declaration as the kernel prints it, "char comm[16]" without the name */
	const char *type;
	uint32_t offset, size;
	uint32_t is_signed;
};

struct coati_event_info {
	enum coati_event_kind kind;
	const char *name;	 /* what one types */
	const char *alias;	 /* "" or another spelling */
	const char *description; /* "" when nothing is known */
	const char *unit;
	int32_t available; /* 1 opens here, 0 does not, -1 not tried */
	/* tracepoints, when fields were asked for; those that all tracepoints have are left out */
	uint32_t nr_fields;
	const struct coati_event_field *fields;
};

struct coati_catalog;

struct coati_catalog_opts {
	uint64_t size;
	/* NULL: all; matches name or alias, or the system of a tracepoint; plain text matches as a
	 * part */
	const char *glob;
	uint32_t kinds;	 /* bit per enum coati_event_kind, 0: all */
	uint32_t fields; /* 1: read the formats of the tracepoints too (slower) */
	/* 1: try to open hardware, software and cache events, and look for the PMUs of probes, so
	 * that `available` is known */
	uint32_t probe;
	uint32_t reserved;
	const char *sysfs, *tracefs; /* as in coati_event_list_opts */
};

COATI_API int coati_catalog_open(const struct coati_catalog_opts *opts, struct coati_catalog **ret,
				 struct coati_error *err);
/* 1 and the next event, 0 at the end, negative on error, which ends the walk: later calls repeat
 * it. Lives: until the next call. */
COATI_API int coati_catalog_next(struct coati_catalog *cat, struct coati_event_info *ret);
/* Why kinds are missing from the catalogue ("tracefs is not mounted: ..."), one sentence per call;
 * NULL at the end. Complete once coati_catalog_next() has returned 0. */
COATI_API const char *coati_catalog_gap(const struct coati_catalog *cat, uint32_t i);
COATI_API void coati_catalog_close(struct coati_catalog *cat);

/* ---- opening ---- */

/* What an event watches: a thread on any or one CPU, or a CPU with all that runs on it, or a cgroup
 * there. */
struct coati_target {
	int32_t pid; /* 0 the calling thread, >0 that thread, -1 all (then cpu must be given) */
	int32_t cpu; /* -1 any */
	/* -1 none, else a directory of a cgroup (cpu must be given, pid is ignored) */
	int32_t cgroup_fd;
};

/* Their address may be taken: it is good until the end of the statement, in C until the end of the
 * block. */
#define COATI_SELF COATI_ON(0, -1)
#ifdef __cplusplus
#define COATI_ON(p, c) (static_cast<const coati_target &>(coati_target{ (p), (c), -1 }))
#else
#define COATI_ON(p, c) ((struct coati_target){ (p), (c), -1 })
#endif

/* What had to be left out so that the kernel would take the event. Where the kernel or a sysctl
 * names the cause, exactly that is changed: CONFIG34, SIG_DATA (attribute too long for this
 * kernel), MAX_STACK, FREQ, KERNEL. After an EINVAL without a cause the others are left out in this
 * order until it opens, and given back as far as possible. */
#define COATI_DROP_CLOEXEC    (UINT32_C(1) << 0) /* set by hand instead */
#define COATI_DROP_CONFIG34   (UINT32_C(1) << 1) /* config3, config4 */
#define COATI_DROP_SIG_DATA   (UINT32_C(1) << 2)
#define COATI_DROP_AUX	      (UINT32_C(1) << 3) /* aux_action, aux_sample_size */
#define COATI_DROP_DEFER      (UINT32_C(1) << 4)
#define COATI_DROP_LOST	      (UINT32_C(1) << 5) /* read format LOST */
#define COATI_DROP_BUILD_ID   (UINT32_C(1) << 6)
#define COATI_DROP_THREAD     (UINT32_C(1) << 7) /* inherit_thread */
#define COATI_DROP_TEXT_POKE  (UINT32_C(1) << 8)
#define COATI_DROP_CGROUP     (UINT32_C(1) << 9)  /* cgroup records and sample field */
#define COATI_DROP_PAGE_SIZE  (UINT32_C(1) << 10) /* data and code page size in samples */
#define COATI_DROP_WEIGHT     (UINT32_C(1) << 11) /* WEIGHT_STRUCT, replaced by WEIGHT */
#define COATI_DROP_BPF_EVENT  (UINT32_C(1) << 12) /* ksymbol, bpf_event */
#define COATI_DROP_NAMESPACES (UINT32_C(1) << 13)
#define COATI_DROP_CLOCKID    (UINT32_C(1) << 14)
#define COATI_DROP_GUEST      (UINT32_C(1) << 15) /* exclude_host, exclude_guest */
#define COATI_DROP_PRECISE    (UINT32_C(1) << 16) /* precise_ip lowered */
/* user space only: the kernel part is not allowed */
#define COATI_DROP_KERNEL    (UINT32_C(1) << 17)
#define COATI_DROP_MAX_STACK (UINT32_C(1) << 18) /* sample_max_stack lowered to the sysctl */
#define COATI_DROP_FREQ	     (UINT32_C(1) << 19) /* frequency lowered to the sysctl */
#define COATI_DROP_GROUP     (UINT32_C(1) << 20) /* a weak group (:W) was broken up: sets only */

/* coati_event_opts.flags */
/* leave out what an older kernel does not know, and say so */
#define COATI_EVENT_NEGOTIATE (UINT32_C(1) << 0)
/* fall back to user space only when the kernel part is refused */
#define COATI_EVENT_USER_OK (UINT32_C(1) << 1)

struct coati_event_opts {
	uint64_t size;
	struct coati_event *group; /* leader, or NULL: alone */
	const char *label;	   /* NULL: coati_attr_name(), else "" */
	uint32_t flags;		   /* COATI_EVENT_* */
	uint32_t open_flags;	   /* more COATI_OPEN_*; CLOEXEC is always asked for */
};

struct coati_event;

/* Open one event. @attr is copied; it is taken as it is (not disabled unless it says so). @opts may
 * be NULL. The descriptor is close-on-exec and non-blocking. Errors name the event, the reason, and
 * for a refusal the knob and the command that opens it. */
COATI_API int coati_event_open(const struct coati_attr *attr, const struct coati_target *target,
			       const struct coati_event_opts *opts, struct coati_event **ret,
			       struct coati_error *err);
/* Close, unmap and forget; *ev becomes NULL; NULL in it is fine. Followers of a closed leader stay
 * open and count on as lone events, as the kernel does it. */
COATI_API void coati_event_close(struct coati_event **ev);

COATI_API int coati_event_fd(const struct coati_event *ev);
/* The kernel's id, the same as in counts and in samples. */
COATI_API int coati_event_id(const struct coati_event *ev, uint64_t *ret);
COATI_API const char *coati_event_label(const struct coati_event *ev);
/* As opened, after negotiation. */
COATI_API const struct coati_attr *coati_event_attr(const struct coati_event *ev);
/* COATI_DROP_* bits of what negotiation left out. */
COATI_API uint32_t coati_event_dropped(const struct coati_event *ev);
/* "text_poke records, the kernel part" for @dropped into @buf; cut when it does not fit, always
 * terminated. Returns @buf. */
COATI_API const char *coati_dropped_format(uint32_t dropped, char *buf, size_t size);

/* ---- counting ---- */

struct coati_count {
	uint64_t value;
	uint64_t enabled_ns, running_ns; /* 0 unless the read format has them */
	uint64_t id, lost;		 /* likewise */
	const char *label;		 /* lives as long as the event */
};

/* The value as it would have been had the event run all the time it was enabled: value * enabled /
 * running, rounded to the nearest. The value itself when the times are equal or both unknown, 0
 * when it never ran (both times must be in the read format). Exact in 128 bits, saturates. Thread:
 * any. Signal: safe. Memory: never allocates. */
COATI_API uint64_t coati_count_scaled(const struct coati_count *count);

/* Read through the descriptor. -EIO: a pinned event that the kernel could not keep on the PMU (read
 * gave end of file). -EINVAL when the event has COATI_READ_GROUP. */
COATI_API int coati_event_read(struct coati_event *ev, struct coati_count *ret);
/* Read leader and followers at once, in the order in which they were opened; needs COATI_READ_GROUP
 * on the leader. At most @max entries are stored, *ret_nr is how many there are. Labels are matched
 * by id, so a closed follower does not shift them. */
COATI_API int coati_event_read_group(struct coati_event *leader, struct coati_count *ret,
				     uint32_t max, uint32_t *ret_nr);

/* Map the control page, so that coati_event_read_fast() can read the counter without a system call.
 * 0 also when the kernel offers no such access: then read_fast falls back to coati_event_read(). */
COATI_API int coati_event_map_counter(struct coati_event *ev, struct coati_error *err);
/* The fast read. *ret_fast (may be NULL) says whether the system call was avoided.  Hot. */
COATI_API int coati_event_read_fast(struct coati_event *ev, struct coati_count *ret, int *ret_fast);

/* The count and times of exactly one call of fn(ctx), whatever was counted before. Software and
 * hardware events are read, fn is called, and they are read again; they are started when they do
 * not run and left running, which is cheaper than starting and stopping them around each call.
 * Tracepoints, breakpoints and probes, which our own calls might hit, are started and stopped
 * around fn and left stopped. */
COATI_API int coati_event_measure(struct coati_event *ev, void (*fn)(void *ctx), void *ctx,
				  struct coati_count *ret, struct coati_error *err);

/* ---- control ---- */

/* One event. A leader takes its followers along, except those that were stopped alone:
 * coati_group_enable() starts these too. A follower counts while it and its leader are enabled. */
COATI_API int coati_event_enable(struct coati_event *ev);
COATI_API int coati_event_disable(struct coati_event *ev);
/* Sets the value to zero; the times run on. */
COATI_API int coati_event_reset(struct coati_event *ev);
/* Enable for @n more overflows (at least 1), then the kernel disables it. */
COATI_API int coati_event_refresh(struct coati_event *ev, uint32_t n);
/* New sampling period, or frequency for a frequency event. */
COATI_API int coati_event_set_period(struct coati_event *ev, uint64_t period);
/* Send the records of @ev into the ring of @target; NULL: back to its own. */
COATI_API int coati_event_set_output(struct coati_event *ev, struct coati_event *target,
				     struct coati_error *err);
/* Attach a loaded BPF program (its descriptor). */
COATI_API int coati_event_set_bpf(struct coati_event *ev, int prog_fd, struct coati_error *err);
/* Ids of the BPF programs attached to the tracepoint of @ev. *ret_ids is to be freed with
 * coati_ids_free(). */
COATI_API int coati_event_query_bpf(struct coati_event *ev, uint32_t **ret_ids, uint32_t *ret_nr,
				    struct coati_error *err);
COATI_API void coati_ids_free(uint32_t *ids);
/* Stop and resume writing into the ring. What happens in between counts as lost by the kernel. */
COATI_API int coati_event_pause(struct coati_event *ev);
COATI_API int coati_event_resume(struct coati_event *ev);
/* Tracepoint or address filter. A tracepoint takes one filter for its life (-EEXIST for a second
 * one, or for removing it); "" removes an address filter. */
COATI_API int coati_event_set_filter(struct coati_event *ev, const char *filter,
				     struct coati_error *err);
/* Change address, length and type of an open breakpoint. */
COATI_API int coati_event_modify(struct coati_event *ev, const struct coati_attr *attr,
				 struct coati_error *err);

/* What a SIGTRAP of an event with COATI_ATTR_SIGTRAP says. */
struct coati_sigtrap {
	uint64_t addr;	/* si_addr: data address of a breakpoint */
	uint64_t data;	/* attr.sig_data */
	uint32_t type;	/* attr.type */
	uint32_t flags; /* bit 0: asynchronous */
};
/* @siginfo is the siginfo_t of the handler. 1 when it came from an event, else 0.
 * Signal: safe.  Memory: never allocates. */
COATI_API COATI_SIGSAFE int coati_sigtrap_get(const void *siginfo, struct coati_sigtrap *ret);

/* ---- groups ---- */

/* Events that the kernel schedules together. Always opened stopped and started in one step. The
 * group owns its events: leader first, followers in the order they were added.
 *
 * Members may belong to different PMUs, {page-faults,task-clock} for example. On Linux 6.12 and
 * later such a member counts nothing when PERF_EVENT_IOC_DISABLE and then PERF_EVENT_IOC_ENABLE
 * were sent with PERF_IOC_FLAG_GROUP, although its times are complete. These functions, coati_set_*
 * and coati_event_* never do that; a program that sends its own orders to the descriptors must send
 * them to the leader alone. */
struct coati_group;

COATI_API int coati_group_new(struct coati_group **ret);
/* Add before opening. @attr is copied; read format and `disabled` are the group's business. A
 * failure sticks: coati_group_open() reports the first one. */
COATI_API int coati_group_add(struct coati_group *g, const struct coati_attr *attr,
			      const char *label);
COATI_API int coati_group_open(struct coati_group *g, const struct coati_target *target,
			       uint32_t flags, struct coati_error *err);
COATI_API uint32_t coati_group_count(const struct coati_group *g);
/* Member @i, owned by the group; NULL past the end or when not open. */
COATI_API struct coati_event *coati_group_event(const struct coati_group *g, uint32_t i);
/* Take member @i out and close it; the others count on. Not the leader (-EINVAL). */
COATI_API int coati_group_drop(struct coati_group *g, uint32_t i);
COATI_API int coati_group_enable(struct coati_group *g);
COATI_API int coati_group_disable(struct coati_group *g);
COATI_API int coati_group_reset(struct coati_group *g);
/* As coati_event_read_group(). */
COATI_API int coati_group_read(struct coati_group *g, struct coati_count *ret, uint32_t max,
			       uint32_t *ret_nr);
/* The same for all members over the same time: the group is started and stopped around fn in one
 * step each, and left stopped. */
COATI_API int coati_group_measure(struct coati_group *g, void (*fn)(void *ctx), void *ctx,
				  struct coati_count *ret, uint32_t max, uint32_t *ret_nr);
/* Followers first, leader last; *g becomes NULL; NULL in it is fine. */
COATI_API void coati_group_close(struct coati_group **g);

/* ---- sets: a list of events on many targets ---- */

/* coati_set_opts.flags */
#define COATI_SET_INHERIT (UINT64_C(1) << 0) /* threads and children of the targets too */
/* start when the target calls exec: for coati_child */
#define COATI_SET_ENABLE_ON_EXEC (UINT64_C(1) << 1)
/* COATI_EVENT_USER_OK for events without u, k or h */
#define COATI_SET_USER_OK   (UINT64_C(1) << 2)
#define COATI_SET_NEGOTIATE (UINT64_C(1) << 3)
/* threads on each CPU by itself: only so can inherited events be mapped */
#define COATI_SET_PER_CPU (UINT64_C(1) << 4)

struct coati_set_opts {
	uint64_t size;
	uint64_t flags;
	const int32_t *pids; /* processes, nr_pids of them: all their threads are opened */
	uint64_t nr_pids;
	const int32_t *tids; /* single threads */
	uint64_t nr_tids;
	/* "0-3,8": system-wide on these; with pids or tids: those threads while they run on these.
	 * NULL without pids and tids: system-wide on all that are online. */
	const char *cpus;
	/* system-wide, within this cgroup (path below the cgroup mount, or absolute) */
	const char *cgroup;
	/* NULL: events are counted. Else one for each event of the list, opened as it is but for
	 * `disabled`, inheritance, start at exec and the group bit of the read format, which are
	 * the set's business: for sampling. */
	const struct coati_attr *attrs;
};

struct coati_set;

/* One open event of a set; what could not be opened has no entry. */
struct coati_set_entry {
	uint32_t event;		    /* index in the list */
	int32_t tid;		    /* -1: system-wide */
	int32_t cpu;		    /* -1: any */
	struct coati_event *handle; /* owned by the set */
};

/* Open every event of @list on every target for counting, groups as groups, all stopped. The list
 * must outlive the set, @opts need not. Periods, frequencies and precision of the list have no
 * meaning here and are left out; the times, id and losses are always read. Filters of the list are
 * set.
 *
 * An event that the kernel does not have (-ENOENT, -EOPNOTSUPP, -ENODEV), or that counts for whole
 * CPUs and was asked for a program, does not fail the call: coati_set_event_error() tells. A
 * refusal (-EACCES, -EPERM) and any other error does. A weak group (:W) that the kernel does not
 * take is opened event by event (COATI_DROP_GROUP). Threads that start or end while the set is
 * opened are followed: the thread list is read again until it is stable. When descriptors run out,
 * the soft limit of this process is raised towards the hard one. */
COATI_API int coati_set_open(const struct coati_event_list *list, const struct coati_set_opts *opts,
			     struct coati_set **ret, struct coati_error *err);
/* Start and stop all. */
COATI_API int coati_set_enable(struct coati_set *set, struct coati_error *err);
COATI_API int coati_set_disable(struct coati_set *set, struct coati_error *err);
COATI_API uint32_t coati_set_count(const struct coati_set *set);
COATI_API int coati_set_entry(const struct coati_set *set, uint32_t i, struct coati_set_entry *ret);
/* Read entry @i. The members of a group come from one read of the kernel: reading the leader's
 * entry, which comes first, reads all, and the others give what was read with it. -EIO: a pinned
 * event without its counter. */
COATI_API int coati_set_read(struct coati_set *set, uint32_t i, struct coati_count *ret);
/* Why event @event of the list is open nowhere: NULL when it is open (or a tool event), or the
 * error. */
COATI_API const struct coati_error *coati_set_event_error(const struct coati_set *set,
							  uint32_t event);
/* COATI_DROP_* over all entries of event @event. */
COATI_API uint32_t coati_set_event_dropped(const struct coati_set *set, uint32_t event);
COATI_API void coati_set_close(struct coati_set **set);

#ifdef __cplusplus
}
#endif
#endif
