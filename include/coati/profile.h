/* SPDX-License-Identifier: MIT */
/*
 * Profiles: weights on stacks. Recordings are read into a profile; a view of it applies a filter,
 * symbolizes the addresses and provides tables and call trees.
 *
 *	coati_profile_new(NULL, &p, &err);
 *	coati_profile_read(p, "coati.data", NULL, NULL, &err);
 *	coati_view_new(p, NULL, &v, &err);
 *	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_FUNCTION };
 *	coati_view_rows(v, &q, &rows, &nr, &err);
 *	for (i = 0; i < nr; i++)
 *		printf("%s\n", rows[i].name);
 *	coati_view_free(&v);
 *	coati_profile_free(&p);
 *
 * Several recordings that are read into one profile are merged. Memory is proportional to the
 * distinct stacks, not to the samples. Lost records, damage, stacks that could not be unwound and
 * addresses without a symbol are counted in struct coati_profile_quality; they are never fatal.
 *
 * A profile and its views are used by one thread at a time. Strings and arrays live as long as the
 * object that gave them. No function may be called from a signal handler. coati-profile(3) has an
 * example.
 */
#ifndef COATI_PROFILE_H
#define COATI_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>
#include <coati/image.h>
#include <coati/process.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- filters -------------------------------------------------------------------------------- */

/*
 * A sample passes when all conditions hold. NULL or "": no condition. Lists are separated by
 * commas. A name must match as a whole; * ? [ ] work as in a shell; case matters.
 */
struct coati_filter {
	uint64_t size; /* sizeof(struct coati_filter) */
	/* "START-END", either may be missing: 1.5s or 200ms (since the first sample), 10%, or
	 * @12345.678901 (seconds on the recording's clock), or wall@1794849711.5 (since 1970) */
	const char *time;
	const char *thread;  /* thread IDs or names */
	const char *process; /* process IDs or names */
	const char *comm;    /* names of threads */
	const char *cpu;     /* 0,2-5 */
	const char *event;   /* names of events; "cpu-clock" also matches "cpu-clock:u" */
	const char *label;   /* KEY=VALUE, or KEY alone: the sample has that label */
	/* Stacks with a frame of this function; a single name, because function names may contain
	 * commas. */
	const char *function;
	const char *image; /* stacks with a frame in this file: its short name or path */
	/* The following are extended regular expressions, as in pprof. They match anywhere in the
	 * name of a function (its first 4096 bytes); back references are not supported. */
	const char *focus;  /* keep stacks with a frame that matches */
	const char *ignore; /* drop stacks with a frame that matches */
	const char *hide;   /* remove frames that match from the stacks */
	const char *show;   /* keep only frames that match in the stacks */
	/* remove frames above the outermost match, and stacks without a match */
	const char *show_from;
	/* What the thread was doing, according to live events; both need COATI_PROFILE_LIVE. */
	const char *task;   /* types of tasks that it worked on */
	const char *region; /* names of regions that were open */
	/* Only off-CPU time in which the thread waited for this: futex, read, write, accept,
	 * connect, poll, sleep, fault, io, lock, wait (for a child), signal, exit, kernel,
	 * preempted, runnable, other or unknown. */
	const char *wait;
};

/* ---- a profile ------------------------------------------------------------------------------ */

/* coati_profile_opts.flags */
/* Keep samples of different CPUs apart: for COATI_BY_CPU and the cpu filter of views. */
#define COATI_PROFILE_PER_CPU (UINT32_C(1) << 0)
/* Do not unwind copies of user stacks: such samples have their kernel part and one user frame. */
#define COATI_PROFILE_NO_UNWIND (UINT32_C(1) << 1)
/* Read live events: samples get the labels of their thread, and "task" and "region"; samples that a
 * program took of itself are added as COATI_LIVE_CPU. The recording is then read twice, which is
 * not possible for a stream. */
#define COATI_PROFILE_LIVE (UINT32_C(1) << 4)

/* The event of samples that programs took of themselves. Where the kernel sampled the same time,
 * views omit it unless their filter names it. */
#define COATI_LIVE_CPU "live:cpu"

struct coati_unwinder_opts;

struct coati_profile_opts {
	uint64_t size;	     /* sizeof(struct coati_profile_opts) */
	uint32_t flags;	     /* COATI_PROFILE_* */
	uint32_t max_frames; /* of one stack; longer ones are truncated. 0: 1024 */
	/* Keep samples apart by time, in bins of this length; for COATI_BY_TIME. 0: no bins */
	uint64_t bin_ns;
	/* Limit for stacks and entries; samples over it are counted as refused. Views omit inlined
	 * functions before they need as much again, with a note. 0: 256 MiB and 32 bytes for each
	 * byte of the files, at most 4 GiB */
	uint64_t max_bytes;
	const struct coati_images_opts *images;
	const struct coati_processes_opts *processes;
	const struct coati_unwinder_opts *unwinder;
	/* Samples that do not match are not added. Conditions on frames are not used here: give
	 * them to views. */
	const struct coati_filter *filter;
	/* With bin_ns: when a file has more bins than this, all bins double their length. 0: no
	 * limit */
	uint32_t max_bins;
	uint32_t reserved;
};

struct coati_profile;

/* @opts may be NULL. -EINVAL: invalid options or filter. */
COATI_API int coati_profile_new(const struct coati_profile_opts *opts, struct coati_profile **ret,
				struct coati_error *err);
/* *p becomes NULL; NULL is fine. Free its views first. */
COATI_API void coati_profile_free(struct coati_profile **p);

/* How far reading has come. Allocated by the library. */
struct coati_profile_progress {
	uint64_t bytes, total_bytes; /* total 0: a stream */
	uint64_t samples, lost;
};
/* Called about ten times a second; a non-zero result ends reading with -EINTR, and what was read is
 * kept. */
typedef int (*coati_progress_fn)(void *ctx, const struct coati_profile_progress *progress);
/* Read the recording @path ("-": standard input) into the profile. @fn may be NULL. A truncated or
 * damaged file gives 0 and a note. Negative: nothing could be read. */
COATI_API int coati_profile_read(struct coati_profile *p, const char *path, coati_progress_fn fn,
				 void *ctx, struct coati_error *err);

/* ---- quality -------------------------------------------------------------------------------- */

/* Data quality. The fields count samples unless noted otherwise. */
struct coati_profile_quality {
	uint64_t size;		/* sizeof(struct coati_profile_quality) */
	uint64_t samples;	/* in this profile */
	uint64_t filtered;	/* omitted by the filter of the options */
	uint64_t lost;		/* records and samples that the kernel could not write */
	uint64_t throttled;	/* how often the kernel reduced the sampling rate */
	uint64_t damaged, late; /* malformed records; records out of order */
	uint64_t refused;	/* over a limit of the library */
	uint64_t no_event;	/* whose event is not in the file */
	/* stacks: every sample is in exactly one of these six */
	uint64_t complete;  /* down to the start of a program or thread, or of the kernel stack */
	uint64_t truncated; /* longer than a limit, or than the copy of the stack */
	uint64_t gap;	    /* the walk ended at code without unwind data */
	uint64_t guessed;   /* at least one frame was guessed */
	uint64_t single;    /* recorded without a stack: one address */
	/* found by frame pointers, without a known root at the end: perhaps complete. The first
	 * view, which has names, moves some of them to complete. */
	uint64_t unrooted;
	/* how the user part was found */
	uint64_t by_kernel;   /* frame pointers, or unwound while recording */
	uint64_t by_unwinder; /* from registers and a copy of the stack, while reading */
	/* names: known after the first view */
	uint64_t unsymbolized;	      /* samples whose innermost frame has no symbol */
	uint64_t locations, nameless; /* distinct addresses, and those without a symbol */
	/* time */
	uint64_t first_time, last_time; /* of samples */
	int32_t clockid;		/* -1: not recorded */
	uint32_t is_truncated;		/* 1: a file was truncated, or is still being written */
	uint64_t recorder_cpu_ns;	/* CPU time of the recorder; 0: not recorded */
	uint64_t files, bytes, records;
	/* off-CPU time, which is not included in the counts above */
	uint64_t off_intervals;
	uint64_t off_ns;
	uint64_t off_no_stack;		 /* intervals without a stack */
	uint64_t off_unpaired;		 /* omitted: records of their begin or end were lost */
	uint64_t off_truncated, off_gap; /* stacks of intervals */
	/* How much of the CPU time was sampled, before any filter: what the samples of a clock (or
	 * of a hardware event at a rate) stand for, and what the same event counted in all recorded
	 * threads. counted is 0 when the recording does not have it (perf's own, streams). */
	uint64_t sampled, counted;
	uint64_t sampled_period; /* what one sample stands for, on average; 0: not known */
	/* NULL: a clock, and both are ns; otherwise the name of the event that both count */
	const char *sampled_event;
	/* 1: the clock takes samples in user space (or the kernel) only, but counts everywhere */
	uint32_t sampled_part;
	uint32_t reserved;
	uint64_t exits; /* threads that ended, where single threads were the target */
	/* a hardware trace (Intel PT, CoreSight), which is not decoded: its records and bytes */
	uint64_t trace_records, trace_bytes;
};
/* 0; -EINVAL: ret->size is not set. */
COATI_API int coati_profile_quality(const struct coati_profile *p,
				    struct coati_profile_quality *ret);
/* The same as a line of text: "0 lost, 0 throttled, sampled 99 % of CPU time; stacks: 100 %
 * complete; 0 % without a symbol". Returns its length as snprintf() does. */
COATI_API int coati_profile_quality_format(const struct coati_profile_quality *q, char *buf,
					   size_t cap);
/* Message number @i about problems with the recordings, such as a truncated file; NULL past the
 * end. */
COATI_API const char *coati_profile_note(const struct coati_profile *p, uint32_t i);

/* An event; events of the same name in several files are one. Allocated by the library. */
struct coati_profile_event {
	const char *name;
	const char *unit; /* of its weight: "ns" for clocks, otherwise the event's name */
	uint64_t samples, weight;
	struct coati_attr attr; /* of the first file that has it */
	/* 1: "off-cpu", made of context switches: its weight is time off the CPU in ns */
	uint32_t is_off_cpu;
	uint32_t is_live; /* 1: COATI_LIVE_CPU */
};
/* Event number @i; NULL past the end. */
COATI_API const struct coati_profile_event *coati_profile_event(const struct coati_profile *p,
								uint32_t i);

/* ---- views ---------------------------------------------------------------------------------- */

struct coati_view;

/* coati_view_opts.flags */
#define COATI_VIEW_NO_INLINES (UINT32_C(1) << 0) /* no inlined functions */
#define COATI_VIEW_LINES      (UINT32_C(1) << 1) /* frames have file and line */
#define COATI_VIEW_COUNTS     (UINT32_C(1) << 2) /* weights are numbers of samples */
#define COATI_VIEW_NO_OFF_CPU (UINT32_C(1) << 3) /* without off-CPU time */
#define COATI_VIEW_NO_ON_CPU  (UINT32_C(1) << 4) /* off-CPU time only */

struct coati_view_opts {
	uint64_t size;	/* sizeof(struct coati_view_opts) */
	uint32_t flags; /* COATI_VIEW_* */
	uint32_t reserved;
	/* Its time works with bin_ns only: whole bins are in or out. */
	const struct coati_filter *filter;
	/* Split code that no symbol covers into address ranges of this many bytes, each a function
	 * of its own named "app!.text@0x41000-0x42000" (as in /proc/PID/maps: the end is outside).
	 * Ranges start at multiples of it and stop where the section or function does; code whose
	 * extent is known and not longer stays whole. 0: do not split. */
	uint64_t nameless_bytes;
};

/* Filter and symbolize what the profile holds now. The profile must outlive the view, and nothing
 * may be read into it meanwhile. @opts may be NULL. -EINVAL: the filter is invalid; @err says
 * where. */
COATI_API int coati_view_new(struct coati_profile *p, const struct coati_view_opts *opts,
			     struct coati_view **ret, struct coati_error *err);
/* *v becomes NULL; NULL is fine. */
COATI_API void coati_view_free(struct coati_view **v);

struct coati_view_info {
	uint64_t size;	  /* sizeof(struct coati_view_info) */
	uint64_t total;	  /* weight of everything in the view */
	uint64_t samples; /* their number */
	/* "ns", the event's name, or "samples": weights of events that cannot be added up are
	 * counted instead */
	const char *unit;
	uint32_t nr_events; /* with samples in the view */
	uint32_t nr_stacks; /* distinct ones */
};
/* 0; -EINVAL: ret->size is not set. */
COATI_API int coati_view_info(const struct coati_view *v, struct coati_view_info *ret);

/* coati_view_frame.location_flags */
#define COATI_LOCATION_KERNEL (UINT32_C(1) << 0)
#define COATI_LOCATION_GUEST  (UINT32_C(1) << 1)
/* Not code, but why a thread did not run: [preempted], [runnable]. */
#define COATI_LOCATION_OFF_CPU (UINT32_C(1) << 2)
/* Not code, but the outermost frame [truncated] of a stack that does not reach its root. */
#define COATI_LOCATION_TRUNCATED (UINT32_C(1) << 3)

/* A source-level frame: one name of one address. Allocated by the library. */
struct coati_view_frame {
	const char *function; /* never NULL */
	const char *symbol;   /* as linked; NULL: no symbol, the function's name is synthetic */
	const char *image;    /* short name of the file; "[unknown]" when nothing is known */
	const char *file;     /* source; NULL: not known or not asked for */
	uint32_t line, decl_line;
	uint64_t address;	 /* in the file's own address space */
	uint32_t location;	 /* the same for all names of one address */
	uint32_t depth;		 /* which of the names of the address: 0 is the innermost */
	uint32_t flags;		 /* COATI_NAME_* */
	uint32_t location_flags; /* COATI_LOCATION_* */
	uint32_t function_id;	 /* the same for all frames of a function; from 0, no gaps */
	uint32_t image_id;	 /* COATI_IMAGE_NONE: not known */
	uint64_t start, length;	 /* of the function, in addresses of the file; 0, 0: not known */
};
/* Frame number @i, as in rows and tree nodes; NULL past the end. */
COATI_API const struct coati_view_frame *coati_view_frame(const struct coati_view *v, uint32_t i);

/* ---- tables --------------------------------------------------------------------------------- */

enum coati_by {
	COATI_BY_FUNCTION = 0,
	COATI_BY_LINE,	  /* file and line */
	COATI_BY_ADDRESS, /* image and address */
	COATI_BY_IMAGE,
	COATI_BY_THREAD,  /* a thread under one name */
	COATI_BY_PROCESS, /* pid and the name that it had last */
	COATI_BY_COMM,	  /* name of the thread, whichever thread it is */
	COATI_BY_CPU,
	COATI_BY_EVENT,
	COATI_BY_LABEL, /* values of one key; "" for samples without it */
	COATI_BY_TIME,	/* bins */
	COATI_BY_WAIT,	/* what threads wait for, see coati_filter.wait; "running" while on a CPU */
	COATI_BY_COUNT,
};

/* Sort by total, then self, instead of self, then total. */
#define COATI_ROWS_BY_TOTAL (UINT32_C(1) << 0)

struct coati_rows_query {
	uint64_t size; /* sizeof(struct coati_rows_query) */
	enum coati_by by;
	uint32_t flags;	   /* COATI_ROWS_* */
	const char *label; /* COATI_BY_LABEL: the key */
	/* Count frames of this function only: its lines or addresses. As in a filter; NULL: all */
	const char *function;
};

/* One row of a table. In rows that are not frames, self and total are equal. Fields that a kind of
 * table does not have are 0. Frozen, because the library returns arrays of it. */
struct coati_row {
	/* function, "file:line", image, thread name, event, value of a label; never NULL */
	const char *name;
	const char *image;
	const char *file; /* source; COATI_BY_IMAGE: the path */
	uint32_t line;
	uint32_t flags; /* COATI_NAME_* that hold for all of its frames */
	/* BY_ADDRESS: the address; BY_TIME: start of the bin, ns since the first sample;
	 * BY_FUNCTION: its first address, 0 when not known */
	uint64_t address;
	int32_t pid, tid, cpu;
	uint32_t frame; /* one of its frames; UINT32_MAX: none */
	uint64_t self;
	uint64_t total; /* a stack in which the row occurs several times counts once */
	uint64_t self_count, total_count; /* samples */
};
/* Everything that has weight, sorted by self, then total, then name; BY_TIME by time. The rows live
 * as long as the view. */
COATI_API int coati_view_rows(struct coati_view *v, const struct coati_rows_query *q,
			      const struct coati_row **ret, size_t *ret_nr,
			      struct coati_error *err);

/* ---- call trees ----------------------------------------------------------------------------- */

enum coati_tree_kind {
	COATI_TREE_DOWN = 0, /* from the outermost frame to its callees */
	COATI_TREE_UP,	     /* from the innermost frame to its callers */
};

/* coati_tree_query.flags */
#define COATI_TREE_BY_THREAD  (UINT32_C(1) << 0) /* DOWN: a level of threads above the frames */
#define COATI_TREE_BY_PROCESS (UINT32_C(1) << 1) /* DOWN: a level of processes above the frames */
/* A function that calls itself directly is one node, marked COATI_NODE_FOLDED. */
#define COATI_TREE_FOLD (UINT32_C(1) << 2)

/* coati_tree_node.flags, besides COATI_NAME_* of the frame */
#define COATI_NODE_FOLDED (UINT32_C(1) << 31)

struct coati_tree_query {
	uint64_t size; /* sizeof(struct coati_tree_query) */
	enum coati_tree_kind kind;
	enum coati_by by; /* what a node is: FUNCTION, LINE, ADDRESS or IMAGE */
	/* Start at this function: DOWN gives its callees, UP its callers. As in a filter; NULL:
	 * whole stacks. */
	const char *function;
	uint32_t flags;	    /* COATI_TREE_* */
	uint32_t max_depth; /* 0: no limit; the weight of deeper frames stays at the last node */
};

/* One node of a call tree. Frozen, because the library returns arrays of it. */
struct coati_tree_node {
	const char *name;
	uint32_t frame;	 /* one of its frames; UINT32_MAX: the root, a thread, a process */
	uint32_t parent; /* UINT32_MAX: none */
	uint32_t first_child, next_sibling; /* UINT32_MAX: none; siblings by total, then name */
	uint64_t self;			    /* weight that ends here */
	uint64_t total;			    /* weight of all stacks through here */
	uint64_t self_count, total_count;
	uint32_t depth; /* 0 for the root */
	uint32_t flags; /* COATI_NAME_* of the frame, COATI_NODE_* */
};
/* Node 0 is the root, named "all"; a parent comes before its children. The nodes live as long as
 * the view. */
COATI_API int coati_view_tree(struct coati_view *v, const struct coati_tree_query *q,
			      const struct coati_tree_node **ret, size_t *ret_nr,
			      struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
