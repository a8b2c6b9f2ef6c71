/* SPDX-License-Identifier: MIT */
/*
 * A closed window: what the agent saw of the machine in some seconds, added up, and where it goes.
 *
 * The agent builds one window after the other and gives each to its sinks (directory, ClickHouse,
 * OTLP, push, metrics). A window is complete in itself: rows refer to its own tables by number, and
 * strings, arrays and numbers live until the call returns. Nothing in it changes any more.
 *
 * Sums are exact: the weights of all rows of an event add up to what was sampled in the window,
 * with dropped services (quality.dropped) and refused samples (quality.refused) counted apart.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reading/parts.h"

struct coati_error;

/* Of contents: the same on every machine and in every version that has the same AGENT_ID_VERSION.
 * Two different stacks with one id are not to be expected (128 bits). ClickHouse has the lower half
 * in each row, and the other half beside the stack. */
struct agent_id {
	uint64_t high, low;
};
#define AGENT_ID_VERSION 1

/* What kind of code a frame is. The numbers are stored: never change one. */
enum agent_frame_kind {
	AGENT_FRAME_USER = 0,	/* a file */
	AGENT_FRAME_KERNEL = 1, /* the kernel and its modules */
	AGENT_FRAME_JIT = 2,	/* made at run time: perf map, jitdump, anonymous memory */
	AGENT_FRAME_VDSO = 3,
	AGENT_FRAME_BPF = 4,
	AGENT_FRAME_GUEST = 5,
	AGENT_FRAME_MARK = 6, /* not code: [truncated], [preempted], [runnable] */
	AGENT_FRAME_UNKNOWN = 7,
};

/* agent_frame.flags; stored as well */
#define AGENT_FRAME_INLINE    (UINT32_C(1) << 0) /* inlined into the next frame of the stack */
#define AGENT_FRAME_SYNTHETIC (UINT32_C(1) << 1) /* no symbol covers the address */

#define AGENT_BUILD_ID_MAX 20

/* A source-level frame. Strings are never NULL; "" is not known. */
struct agent_frame {
	const char *function; /* never "" */
	const char *image;    /* short name of the file, "[kernel]", "[unknown]" */
	const char *path;     /* as it was mapped */
	const char *file;     /* source */
	uint32_t line;	      /* 0: not known */
	uint32_t flags;	      /* AGENT_FRAME_INLINE, AGENT_FRAME_SYNTHETIC */
	uint8_t kind;	      /* enum agent_frame_kind */
	uint8_t build_id_size;
	uint8_t build_id[AGENT_BUILD_ID_MAX];
	uint64_t address; /* in the image's own address space (what its symbol table has) */
};

/* agent_stack.flags */
#define AGENT_STACK_TRUNCATED (UINT32_C(1) << 0) /* does not reach the root */

struct agent_stack {
	struct agent_id id;
	const uint32_t *frames; /* numbers in agent_window.frames, innermost first */
	uint32_t nr;
	uint32_t flags; /* AGENT_STACK_* */
};

/* A set of labels, sorted by key, each key once. Set 0 of a window is empty. */
struct agent_labels {
	struct agent_id id; /* 0, 0: the empty set */
	const struct coati_label *v;
	uint32_t nr;
};

/* Upper bounds of buckets are at most 1/32 apart (base/buckets.h has their numbers). */
struct agent_bucket {
	uint32_t bucket;
	uint32_t count;
};

/* Latencies of tasks of one type that ended in the window. */
struct agent_tasks {
	uint32_t service;
	const char *type;
	uint64_t count, sum_ns, max_ns;
	const struct agent_bucket *buckets; /* by number, rising, none empty */
	uint32_t nr_buckets;
};

/* What a service is known by. Stored: never change a number. */
enum agent_service_kind {
	AGENT_SERVICE_PROGRAM = 0, /* the program's name: no cgroup says more */
	AGENT_SERVICE_UNIT = 1,	   /* systemd unit, of the system or of a user */
	AGENT_SERVICE_CONTAINER = 2,
	AGENT_SERVICE_POD = 3, /* container of a Kubernetes pod */
	AGENT_SERVICE_KERNEL = 4,
	AGENT_SERVICE_OTHER = 5, /* those over the cap of distinct services */
};

struct agent_service {
	const char *name;   /* after the rules for renaming */
	const char *cgroup; /* one of its paths, "": none */
	uint32_t kind;	    /* enum agent_service_kind */
	uint32_t has;	    /* AGENT_HAS_*: which of the following are known */
	uint64_t cpu_ns;    /* CPU time that its cgroup or processes used in the window */
	uint64_t delay_ns;  /* time that its threads were runnable and waited for a CPU */
};
#define AGENT_HAS_CPU	(UINT32_C(1) << 0)
#define AGENT_HAS_DELAY (UINT32_C(1) << 1)

struct agent_process {
	int32_t pid;
	const char *name;
	uint64_t start_ns; /* after boot, CLOCK_BOOTTIME; 0: not known */
};

struct agent_event {
	const char *name; /* "cpu-clock", "off-cpu" ... */
	const char *unit; /* "ns", or the event's name: weights are counts */
	uint32_t is_off_cpu;
	uint64_t weight, samples; /* of all rows */
};

struct agent_row {
	uint32_t service, process, labels, event, stack; /* numbers in the tables */
	const char *thread;				 /* its name */
	uint64_t weight;				 /* in the unit of the event */
	uint64_t samples;
};

/* How good the window is. */
struct agent_quality {
	uint64_t samples;   /* in rows; off-CPU intervals not among them */
	uint64_t intervals; /* off-CPU intervals in rows */
	uint64_t lost, throttled;
	uint64_t truncated;	   /* samples whose stack does not reach the root */
	uint64_t refused;	   /* left out: over the cap of memory */
	uint64_t dropped;	   /* left out: a rule drops their service */
	uint64_t dropped_weight;   /* ns of these on CPUs */
	uint64_t own_cpu_ns;	   /* CPU time of the agent */
	uint64_t own_kernel_ns;	   /* of its programs in the kernel, 0: not known */
	uint64_t own_memory_bytes; /* resident now */
	double rate_hz;		   /* samples per second and CPU that were asked for */
	uint32_t max_frames;	   /* depth of stacks that was asked for */
	uint32_t nr_cpus;	   /* online */
	uint32_t clock_stepped;	   /* 1: the wall clock was set in this window */
	uint32_t is_cut;	   /* 1: shorter than the others: first, last, or after suspend */
};

struct agent_window {
	uint64_t sequence; /* from 1, no gaps while the agent runs */
	/* CLOCK_MONOTONIC, and the same instants since 1970 by one offset taken at the end; the end
	 * is not in the window. */
	uint64_t start_ns, end_ns;
	uint64_t wall_start_ns, wall_end_ns;
	const char *agent;		       /* id of this run: host name, boot id, start */
	const char *host;		       /* name of the machine */
	const struct coati_label *host_labels; /* --label, sorted by key */
	uint32_t nr_host_labels;
	struct agent_quality quality;

	const struct agent_row *rows;
	const struct agent_frame *frames;
	const struct agent_stack *stacks;
	const struct agent_labels *labels;
	const struct agent_service *services;
	const struct agent_process *processes;
	const struct agent_event *events;
	const struct agent_tasks *tasks;
	uint32_t nr_rows, nr_frames, nr_stacks, nr_labels, nr_services, nr_processes, nr_events,
		nr_tasks;
};

/* An armed recording or the snapshot of a slow task that was kept. */
struct agent_kept {
	const char *path;   /* of the recording */
	const char *reason; /* the condition, or "task NAME took 81 ms" */
	uint64_t wall_ns;   /* of the moment */
	uint64_t bytes;
};

/* Since the start of the agent. */
struct agent_sink_stats {
	uint64_t windows, failed_windows;	 /* stored; lost for good */
	uint64_t rows, bytes;			 /* stored or sent */
	uint64_t waiting_windows, waiting_bytes; /* in a spool */
	uint64_t errors;			 /* tries that failed */
};

/*
 * Where windows go. All calls come from one thread. window() returns 0, or a negative errno when
 * the window is lost for good; it may take some milliseconds: whatever waits for a network or a
 * slow disk is done by a thread of the sink. Unset functions are not called.
 */
struct agent_sink {
	const char *name; /* "folder", "clickhouse" ... */
	int (*window)(void *ctx, const struct agent_window *w);
	int (*kept)(void *ctx, const struct agent_kept *k);
	/* About once a second. */
	void (*tick)(void *ctx, uint64_t now_ns);
	/* SIGHUP: open files again, read secrets again. */
	int (*reload)(void *ctx, struct coati_error *err);
	void (*stats)(void *ctx, struct agent_sink_stats *ret);
	/* A sentence about what is wrong now; NULL: nothing is. Lives until the next call. */
	const char *(*trouble)(void *ctx);
	/* The agent ends: what can be finished until the deadline (CLOCK_MONOTONIC) is. */
	void (*close)(void *ctx, uint64_t deadline_ns);
	void *ctx;
};

/* The ids of contents; @frames is the table that the stack's numbers refer to. */
struct agent_id coati_agent_stack_id(const struct agent_stack *s, const struct agent_frame *frames);
struct agent_id coati_agent_labels_id(const struct coati_label *v, uint32_t nr);
