/* SPDX-License-Identifier: MIT */
/*
 * Station 5, how much: weights on stacks. Recordings come in, a profile comes out; views of it are
 * asked for tables and trees.
 *
 *	coati_profile_new(NULL, &p, &err);
 *	coati_profile_read(p, "coati.data", NULL, NULL, &err);     and further files: they are
 *	                                                           merged
 *	coati_view_new(p, NULL, &v, &err);                         with a filter, or everything
 *	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_FUNCTION };
 *	coati_view_rows(v, &q, &rows, &nr, &err);
 *	for (i = 0; i < nr; i++) use(rows[i].name, rows[i].self, rows[i].total);
 *	coati_view_free(&v);
 *	coati_profile_free(&p);
 *
 * Memory is proportional to the distinct stacks and entries, not to the samples. Damage, loss and
 * what could not be unwound or named is counted (struct coati_profile_quality) and never fatal: a
 * recording that was cut gives what it holds and a note. One object, one thread at a time. All
 * strings and arrays live as long as the object that gave them.
 */
#ifndef COATI_PROFILE_H
#define COATI_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/image.h>
#include <coati/process.h>
#include <coati/recording.h>
#include <coati/unwind.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- which samples, which stacks ---- */

/*
 * All conditions must hold; NULL or "": no condition. Lists are separated by commas. A name is
 * compared as a whole, with * ? [ ] as in a shell; case matters.
 */
struct coati_filter {
	uint64_t size;
	/* "START-END", either may be missing: 1.5s, 200ms (from the first sample on), 10%,
	 * @12345.678901 (seconds on the recording's clock) */
	const char *time;
	const char *thread;  /* numbers or names of threads */
	const char *process; /* numbers or names of processes */
	const char *comm;    /* names of threads */
	const char *cpu;     /* 0,2-5 */
	const char *event;   /* names of events, "cpu-clock" is also "cpu-clock:u" */
	/* KEY=VALUE, or KEY alone: it has one. Keys: coati_profile_label_key() */
	const char *label;
	/* By frames. A stack stays when a frame of it is this (one name, not a list: names of
	 * functions have commas in them): */
	const char *function;
	const char *image; /* short name or path */
	/* As pprof names them, extended regular expressions that match anywhere in a function's
	 * name (its first 4096 bytes); without back references: */
	const char *focus;  /* stacks with a frame that matches */
	const char *ignore; /* not stacks with a frame that matches */
	const char *hide;   /* frames that match are left out of the stacks */
	const char *show;   /* only frames that match stay in the stacks */
	/* frames above the outermost match are left out; stacks without a match too */
	const char *show_from;
	/* By what the thread was doing, as live events tell (coati_profile_opts.contexts): */
	const char *task;   /* types of tasks that it worked on */
	const char *region; /* names of regions that it was in */
	/* only time off the CPUs, in which it waited for that: coati_wait_name() */
	const char *wait;
};

/* ---- a profile ---- */

/* coati_profile_opts.flags */
/* entries are kept apart by CPU: for COATI_BY_CPU and the views' cpu */
#define COATI_PROFILE_PER_CPU (UINT32_C(1) << 0)
/* registers and stack copies are not unwound: kernel part and ip alone */
#define COATI_PROFILE_NO_UNWIND (UINT32_C(1) << 1)

/* context switches are not paired: samples of the event off-cpu count as those of any other */
#define COATI_PROFILE_NO_OFF_CPU (UINT32_C(1) << 2)

/* samples of the event off-cpu-waking count as those of any other */
#define COATI_PROFILE_WAKES (UINT32_C(1) << 3)

/* One sample on its way into the profile: for those who need each time (timelines). Time off a CPU
 * (coati_profile_event.is_off_cpu) comes when it ends: time is when it began, weight how long it
 * was. */
struct coati_profile_sample {
	uint64_t time, weight;
	uint32_t stack, thread, event, labels; /* numbers as in coati_profile_entry */
	int32_t cpu;			       /* -1: not said */
	/* which of the SAMPLE records of its file, as coati_recording_next() gives them, from 0 on;
	 * UINT32_MAX: none, it was told in live events */
	uint32_t number;
};
typedef void (*coati_sample_fn)(void *ctx, const struct coati_profile_sample *sample);

enum coati_loss_kind {
	COATI_LOSS_RECORDS = 0, /* a ring was full: records of any kind before this time */
	/* the account of the events, told late: samples, those among RECORDS too */
	COATI_LOSS_SAMPLES,
	COATI_LOSS_THROTTLE, /* the kernel slowed the sampling down from here on */
};
/* What the recording says that it lacks, where it says so. */
struct coati_profile_loss {
	uint64_t time;	/* 0: not said */
	uint64_t count; /* THROTTLE: 1 */
	enum coati_loss_kind kind;
	int32_t cpu; /* -1: not said */
};
typedef void (*coati_loss_fn)(void *ctx, const struct coati_profile_loss *loss);

struct coati_label {
	const char *key, *value;
};

/* Every record, before it is taken: for those who need more of it than a profile does. It lives
 * until the call returns. Negative ends the reading. */
typedef int (*coati_item_fn)(void *ctx, const struct coati_recording *r,
			     const struct coati_recording_item *item);

/* A sample that a program took of itself and told in live events: of the event COATI_LIVE_CPU. All
 * of it lives until the next call. */
struct coati_context_sample {
	uint64_t time;	 /* CLOCK_MONOTONIC ns */
	uint64_t weight; /* ns that it stands for */
	int32_t pid, tid;
	/* what the program calls the thread and itself, "": nothing */
	const char *comm, *process_comm;
	/* addresses, innermost first; those of callers are where they go on */
	const uint64_t *frames;
	uint32_t nr_frames, nr_labels;
	const struct coati_label *labels; /* as those of find() */
	uint64_t labels_key;		  /* a number for them, the same for the same; 0: none */
};

/* What is not there of what programs told. */
struct coati_context_account {
	uint64_t lost;		   /* events that there was no room for */
	uint64_t missing, damaged; /* batches of them */
};

/* Labels of samples that are told elsewhere than in them, and samples that programs took of
 * themselves: coati_contexts_new() in <coati/trace.h> makes one of live events. */
struct coati_context_source {
	/* A recording will be read: path as for coati_recording_open. Negative: it will not. */
	int (*read)(void *ctx, const char *path, struct coati_error *err);
	/* The labels of a thread at a time; of two with the same key the later one counts. A number
	 * for them, the same for the same; 0: none. They live until the next read(). Hot. NULL: it
	 * has no labels for samples of others. */
	uint64_t (*find)(void *ctx, int32_t pid, int32_t tid, uint64_t time,
			 const struct coati_label **ret, uint32_t *ret_nr);
	void *ctx;
	/* A batch of live events as it comes; NULL: all of them were there. -ENOMEM; -E2BIG: it is
	 * left out. NULL: samples that programs took of themselves are not wanted. */
	int (*feed)(void *ctx, const void *batch, size_t size, uint64_t where);
	/* 1 and a sample, 0: no more until the next feed(); -ENOMEM, -E2BIG. */
	int (*next)(void *ctx, struct coati_context_sample *ret);
	void (*account)(void *ctx, struct coati_context_account *ret);
};

/* The event of samples that programs took of themselves. Where a recording has samples of the
 * kernel's, too, it is the same time once more: views leave it out unless their filter names it. */
#define COATI_LIVE_CPU "live:cpu"

struct coati_profile_opts {
	uint64_t size;
	uint32_t flags;
	uint32_t max_frames; /* of one stack; what is longer is truncated. 0: 1024 */
	/* entries are kept apart by time, in bins of this length. 0: they are not */
	uint64_t bin_ns;
	/* of stacks and entries, 0: 4 GiB; over it samples are counted as refused. Views leave
	 * inlined functions out before they take as much again, with a note */
	uint64_t max_bytes;
	const struct coati_images_opts *images;
	const struct coati_processes_opts *processes;
	const struct coati_unwinder_opts *unwinder;
	/* what is not even read in. The conditions by frames are the views' and not used here. */
	const struct coati_filter *filter;
	coati_sample_fn on_sample;
	void *ctx;
	/* to be used in place of its own, which @images tells of; it must outlive the profile */
	struct coati_images *shared_images;
	coati_loss_fn on_loss; /* with the same @ctx as on_sample */
	/* with bin_ns: when a file is longer than so many bins, all bins become twice as long. 0:
	 * no limit */
	uint32_t max_bins;
	uint32_t reserved;
	coati_item_fn on_item; /* with the same @ctx as on_sample */
	/* or NULL; it must outlive the profile. The filter's task and region need it */
	const struct coati_context_source *contexts;
};

struct coati_profile;

COATI_API int coati_profile_new(const struct coati_profile_opts *opts, struct coati_profile **ret,
				struct coati_error *err);
COATI_API void coati_profile_free(struct coati_profile **p);

struct coati_profile_progress {
	uint64_t bytes, total_bytes; /* total 0: a stream */
	uint64_t samples, lost;
};
/* Called some ten times a second; non-zero ends the reading with -EINTR and what was read is
 * kept. */
typedef int (*coati_progress_fn)(void *ctx, const struct coati_profile_progress *progress);
/* Read a recording (path as for coati_recording_open) into the profile. A file that is cut or
 * damaged: 0, and a note. Negative when nothing can be read from it. */
COATI_API int coati_profile_read(struct coati_profile *p, const char *path, coati_progress_fn fn,
				 void *ctx, struct coati_error *err);

/* What the answer is worth. Counts of samples unless said otherwise. */
struct coati_profile_quality {
	uint64_t samples;	/* that count in this profile */
	uint64_t filtered;	/* left out by the filter of the options */
	uint64_t lost;		/* records and samples that the kernel could not write */
	uint64_t throttled;	/* times that the kernel slowed the sampling down */
	uint64_t damaged, late; /* records that make no sense; that came out of order */
	uint64_t refused;	/* over one of our ceilings */
	uint64_t no_event;	/* of no event in the file */
	/* stacks */
	/* down to a known root: the start of a program or thread, or of the kernel's own stack */
	uint64_t complete;
	uint64_t truncated; /* longer than the recorder's or our limit, or than the copied stack */
	uint64_t gap;	    /* code without unwind data on the way */
	uint64_t guessed;   /* a frame on the way was guessed */
	uint64_t single;    /* the recording took no stacks: the address alone */
	/* taken by frame pointers, and no known root is at their end: perhaps complete. Less after
	 * the first view, which has names */
	uint64_t unrooted;
	/* how the user part was found */
	uint64_t by_kernel;   /* frame pointers, or unwound by the recorder */
	uint64_t by_unwinder; /* from registers and a copy of the stack, by us */
	/* names: known after the first view */
	uint64_t unsymbolised;	      /* samples whose innermost frame has no symbol */
	uint64_t locations, nameless; /* distinct addresses, and those without a symbol */
	/* time */
	uint64_t first_time, last_time; /* of samples */
	int32_t clockid;		/* -1: not said */
	uint32_t is_truncated;		/* a file was cut, or is still being written */
	uint64_t recorder_cpu_ns;	/* what recording cost, 0: not said */
	uint64_t files, bytes, records;
	/* time off the CPUs; nothing of it is in the counts above */
	uint64_t off_intervals; /* times that a thread was away, in stretches of the same kind */
	uint64_t off_ns;
	uint64_t off_no_stack; /* intervals of which nothing tells where the thread was */
	/* left out: records of their beginning, end or of what lies between were lost */
	uint64_t off_unpaired;
	uint64_t off_truncated, off_gap; /* stacks */
	/* How much was seen, before any filter: what the samples of a clock (else of a hardware
	 * event at a rate) stand for, and what the same event counted in all threads that were
	 * recorded, those that ended before their first sample too. counted is 0 when a recording
	 * does not say it (those of perf, streams). */
	uint64_t sampled, counted;
	uint64_t sampled_period; /* what one sample stands for, on average; 0: not known */
	/* NULL: a clock, both are ns; else its name, both are its events */
	const char *sampled_event;
	/* 1: the clock takes samples in user space (or the kernel) alone, but counts everywhere */
	uint32_t sampled_part;
	uint32_t reserved;
	/* Where threads were watched: those that ended, main threads of processes too. */
	uint64_t exits;
	/* of a hardware trace (Intel PT, CoreSight), which is not decoded: its records and data */
	uint64_t trace_records, trace_bytes;
};
/* The share of what was counted that has samples, 0 to 1; negative when it is not known. */
COATI_API double coati_profile_sampled(const struct coati_profile_quality *q);
COATI_API void coati_profile_quality(const struct coati_profile *p,
				     struct coati_profile_quality *ret);
/* The same in words, "0 lost, 0 throttled, sampled 99 % of CPU time; stacks: 100 % complete;
 * 0 % without a symbol": its length, as snprintf() counts. */
COATI_API int coati_profile_account(const struct coati_profile_quality *q, char *buf, size_t cap);
/* Sentences about what went wrong with the recordings (one that was cut), NULL past the end. Why an
 * image has no names: coati_image_info(). */
COATI_API const char *coati_profile_note(const struct coati_profile *p, uint32_t i);

/* What the profile stands on. */
COATI_API struct coati_images *coati_profile_images(const struct coati_profile *p);
COATI_API struct coati_unwinder *coati_profile_unwinder(const struct coati_profile *p);
/* Of the file that was read as number @file; NULL past the end. */
COATI_API struct coati_processes *coati_profile_processes(const struct coati_profile *p,
							  uint32_t file);

/* What a file says of itself. Strings are "" and numbers 0 where it does not say. */
struct coati_profile_file {
	const char *path; /* as it was given */
	const char *hostname, *os_release, *arch;
	const char *command;	    /* line of the recorder, its words with blanks between */
	uint64_t wall_ns, clock_ns; /* the same instant since 1970 and on the recording's clock */
};
/* NULL past the end. */
COATI_API const struct coati_profile_file *coati_profile_file(const struct coati_profile *p,
							      uint32_t file);

/* ---- its parts, numbered from 0 ---- */

/* An event: those of the same name in several files are one. */
struct coati_profile_event {
	const char *name;
	/* of its weight: "ns" for clocks, else its name: different things are not added up */
	const char *unit;
	uint64_t samples, weight;
	struct coati_attr attr; /* of the first file that has it */
	/* 1: "off-cpu", made of context switches: its weight is the time that threads did not run,
	 * in ns */
	uint32_t is_off_cpu;
	uint32_t is_live; /* 1: COATI_LIVE_CPU */
};
COATI_API uint32_t coati_profile_event_count(const struct coati_profile *p);
COATI_API const struct coati_profile_event *coati_profile_event(const struct coati_profile *p,
								uint32_t i);

/* A thread under one name: a thread that changes its name (exec) is two. */
struct coati_profile_thread {
	uint32_t file;		  /* which of the files read */
	uint32_t process, thread; /* as in coati_thread_info */
	int32_t pid, tid, ppid;
	const char *comm, *process_comm;
};
COATI_API uint32_t coati_profile_thread_count(const struct coati_profile *p);
COATI_API const struct coati_profile_thread *coati_profile_thread(const struct coati_profile *p,
								  uint32_t i);

/* A set of labels, sorted by key. Set 0 is empty. NULL past the end. */
COATI_API const struct coati_label *coati_profile_labels(const struct coati_profile *p,
							 uint32_t set, uint32_t *ret_nr);

/* The keys that labels may be asked for by (COATI_BY_LABEL, a filter's label), each once: those of
 * the recordings, then thread_id, thread_name, process_id and process_name, which follow from the
 * thread unless a recording has labels of that name. NULL past the end. */
COATI_API const char *coati_profile_label_key(const struct coati_profile *p, uint32_t i);

/* coati_profile_location.flags */
#define COATI_LOCATION_KERNEL (UINT32_C(1) << 0)
#define COATI_LOCATION_GUEST  (UINT32_C(1) << 1)
/* no place, but why a thread did not run: [preempted], [runnable] */
#define COATI_LOCATION_OFF_CPU (UINT32_C(1) << 2)
/* No place: the outermost frame [truncated] of a stack that does not reach its root. Views have it,
 * and stacks do not. */
#define COATI_LOCATION_TRUNCATED (UINT32_C(1) << 3)

/* A place in code. */
struct coati_profile_location {
	uint32_t image;	  /* COATI_IMAGE_NONE: nothing is known there */
	uint32_t flags;	  /* COATI_LOCATION_* */
	uint64_t vaddr;	  /* as in coati_address: inside the call for a caller's frame */
	uint64_t address; /* in the process or kernel, where it was seen first */
	uint64_t map_start, map_end, map_pgoff; /* the mapping at that time, 0: none */
	/* known after the first view: innermost first, at least one */
	const struct coati_name *names;
	uint32_t nr_names;
	uint32_t file; /* recording in which it was seen first */
};
COATI_API uint32_t coati_profile_location_count(const struct coati_profile *p);
COATI_API const struct coati_profile_location *coati_profile_location(const struct coati_profile *p,
								      uint32_t i);

/* coati_profile_stack.flags */
#define COATI_STACK_TRUNCATED (UINT32_C(1) << 0)
#define COATI_STACK_GAP	      (UINT32_C(1) << 1)
#define COATI_STACK_GUESSED   (UINT32_C(1) << 2)
#define COATI_STACK_SINGLE    (UINT32_C(1) << 3)
#define COATI_STACK_UNWOUND   (UINT32_C(1) << 4) /* its user part by us */
/* its user part by the recorder, from registers and a copy */
#define COATI_STACK_RECORDED (UINT32_C(1) << 5)
/* the same did not come to the root, and frame pointers went on */
#define COATI_STACK_CONTINUED (UINT32_C(1) << 6)

struct coati_profile_stack {
	const uint32_t *locations; /* innermost first, kernel in front of user */
	uint32_t nr;
	uint32_t flags;
};
COATI_API uint32_t coati_profile_stack_count(const struct coati_profile *p);
COATI_API int coati_profile_stack(const struct coati_profile *p, uint32_t i,
				  struct coati_profile_stack *ret);

/* Weight. */
struct coati_profile_entry {
	uint32_t stack, thread, event, labels;
	int32_t cpu;  /* -1: not kept apart (PER_CPU), or not said */
	uint32_t bin; /* time since the first sample of its file / bin_ns, 0 without bins */
	uint64_t count, weight;
};
COATI_API uint32_t coati_profile_entry_count(const struct coati_profile *p);
COATI_API const struct coati_profile_entry *coati_profile_entry(const struct coati_profile *p,
								uint32_t i);

/* ---- a view: names and a filter ---- */

struct coati_view;

/* coati_view_opts.flags */
/* functions as the linker knows them, no inlined ones */
#define COATI_VIEW_NO_INLINES (UINT32_C(1) << 0)
/* frames have file and line; BY_LINE turns it on */
#define COATI_VIEW_LINES  (UINT32_C(1) << 1)
#define COATI_VIEW_COUNTS (UINT32_C(1) << 2) /* weight is the number of samples */

#define COATI_VIEW_NO_OFF_CPU (UINT32_C(1) << 3) /* without the time off the CPUs */
#define COATI_VIEW_NO_ON_CPU  (UINT32_C(1) << 4) /* the time off the CPUs alone */

struct coati_view_opts {
	uint64_t size;
	uint32_t flags;
	uint32_t reserved;
	/* its time only with bins: whole bins are taken or not */
	const struct coati_filter *filter;
};

/* Look at what the profile holds now; the profile must outlive it and not be read into meanwhile.
 * Names are looked up here, each location once. @opts may be NULL. -EINVAL: the filter cannot be
 * parsed, @err says where. */
COATI_API int coati_view_new(struct coati_profile *p, const struct coati_view_opts *opts,
			     struct coati_view **ret, struct coati_error *err);
COATI_API void coati_view_free(struct coati_view **v);

struct coati_view_info {
	uint64_t total;	  /* weight of all that is in the view */
	uint64_t samples; /* their number */
	/* "ns", the event's name, or "samples": events whose weights are not the same thing are
	 * counted instead */
	const char *unit;
	uint32_t nr_events; /* that have samples in the view */
	uint32_t nr_stacks; /* distinct ones */
};
COATI_API void coati_view_info(const struct coati_view *v, struct coati_view_info *ret);

/* A source-level frame: one name of one location. */
struct coati_view_frame {
	const char *function; /* never NULL */
	const char *symbol;   /* as linked; NULL: synthetic */
	const char *image;    /* short name; "[unknown]" when nothing is known there */
	const char *file;     /* source; NULL: not known or not asked for */
	uint32_t line, decl_line;
	uint64_t address;	 /* vaddr of the location */
	uint32_t location;	 /* index in the profile */
	uint32_t depth;		 /* which of the location's names: 0 is the innermost */
	uint32_t flags;		 /* COATI_NAME_* */
	uint32_t location_flags; /* COATI_LOCATION_* */
	/* the same for all frames of a function (name and image), from 0, no gaps */
	uint32_t function_id;
	uint32_t image_id; /* COATI_IMAGE_NONE: unknown */
};
COATI_API uint32_t coati_view_frame_count(const struct coati_view *v);
COATI_API const struct coati_view_frame *coati_view_frame(const struct coati_view *v, uint32_t i);
COATI_API uint32_t coati_view_function_count(const struct coati_view *v);

/* What is in the view, entry by entry, filtered: for exporters. 1, 0 at the end; start with *pos =
 * 0. */
struct coati_view_entry {
	const struct coati_profile_entry *entry;
	uint64_t weight;
	const uint32_t *frames; /* indexes of frames, innermost first, hidden ones left out */
	uint32_t nr_frames;
	uint32_t stack_flags;
};
COATI_API int coati_view_next(struct coati_view *v, uint64_t *pos, struct coati_view_entry *ret);
/* The same for one sample that the profile's on_sample gave: for timelines. 1, or 0 when the view
 * leaves its stack out; @ret's entry is NULL. Only conditions by frames are asked again: those
 * about samples belong into the filter of the profile's options. Hot. */
COATI_API int coati_view_sample(const struct coati_view *v,
				const struct coati_profile_sample *sample,
				struct coati_view_entry *ret);

/* ---- what threads wait for ---- */

/* Sorted by how they are told, not by how they weigh. */
enum coati_wait {
	COATI_WAIT_RUNNING = 0,
	COATI_WAIT_FUTEX,
	COATI_WAIT_READ,
	COATI_WAIT_WRITE,
	COATI_WAIT_ACCEPT,
	COATI_WAIT_CONNECT,
	COATI_WAIT_POLL,
	COATI_WAIT_SLEEP,
	COATI_WAIT_FAULT,
	COATI_WAIT_IO,
	COATI_WAIT_LOCK, /* of the kernel */
	COATI_WAIT_CHILD,
	COATI_WAIT_SIGNAL,
	COATI_WAIT_EXIT,
	COATI_WAIT_KERNEL,    /* a thread of the kernel's own */
	COATI_WAIT_PREEMPTED, /* it would run on, but another one does */
	COATI_WAIT_RUNNABLE,  /* it was woken or started, and waits for a CPU */
	COATI_WAIT_OTHER,
	COATI_WAIT_UNKNOWN,
	COATI_WAIT_COUNT,
};
/* "running", "futex" ...; NULL: no such. */
COATI_API const char *coati_wait_name(enum coati_wait wait);
/* What a thread waits for that left its CPU with this stack of the profile: never RUNNING. */
COATI_API enum coati_wait coati_view_stack_wait(struct coati_view *v, uint32_t stack);

/* ---- tables ---- */

enum coati_by {
	COATI_BY_FUNCTION = 0,
	COATI_BY_LINE,	  /* file and line */
	COATI_BY_ADDRESS, /* image and address */
	COATI_BY_IMAGE,
	COATI_BY_THREAD,  /* thread under one name */
	COATI_BY_PROCESS, /* pid and its name */
	COATI_BY_COMM,	  /* name of the thread, whichever thread it is */
	COATI_BY_CPU,
	COATI_BY_EVENT,
	COATI_BY_LABEL, /* value of one key; "" for those without */
	COATI_BY_TIME,	/* bins */
	/* what threads wait for: futex, read, write, accept, connect, poll, sleep, fault, io, lock,
	 * wait (for a child), signal, exit, kernel (a thread of its own), preempted, runnable,
	 * other, unknown; running for all that is not time off the CPU */
	COATI_BY_WAIT,
	COATI_BY_COUNT,
};
/* "function", "line" ... "label:KEY", "task" and "region", which are labels of that name
 * (*ret_label then points into @text, else NULL): 0 or -EINVAL with the near miss named. */
COATI_API int coati_by_parse(const char *text, enum coati_by *ret_by, const char **ret_label,
			     struct coati_error *err);
COATI_API const char *coati_by_name(enum coati_by by);

/* Sort by total, then self, instead of self, then total. */
#define COATI_ROWS_BY_TOTAL (UINT32_C(1) << 0)

struct coati_rows_query {
	uint64_t size;
	enum coati_by by;
	uint32_t flags;	   /* COATI_ROWS_* */
	const char *label; /* BY_LABEL: the key */
	/* only frames of this function count: its lines, its addresses. As in a filter. NULL:
	 * all */
	const char *function;
};

/* Self and total are the same thing where a row is no frame. Only the fields that its kind has are
 * set. */
struct coati_row {
	/* function, "file:line", image, "comm", event, label's value; never NULL */
	const char *name;
	const char *image;
	/* source; BY_IMAGE: the path, which is the name, too, of files of one name */
	const char *file;
	uint32_t line;
	uint32_t flags; /* COATI_NAME_* that hold for all of its frames */
	/* BY_ADDRESS: vaddr; BY_TIME: start of the bin, ns since the first sample; BY_FUNCTION: its
	 * start, 0 when not known */
	uint64_t address;
	int32_t pid, tid, cpu;
	uint32_t frame; /* one of its frames, UINT32_MAX: it is none */
	/* a stack in which the row occurs several times counts once in total */
	uint64_t self, total;
	uint64_t self_count, total_count; /* samples */
};
/* Sorted by self, then total, then name, BY_TIME by time; everything that has weight. They live
 * until the view is freed. */
COATI_API int coati_view_rows(struct coati_view *v, const struct coati_rows_query *q,
			      const struct coati_row **ret, size_t *ret_nr,
			      struct coati_error *err);

/* ---- trees ---- */

enum coati_tree_kind {
	COATI_TREE_DOWN = 0, /* from the outermost frame to what it calls */
	COATI_TREE_UP,	     /* from the innermost frame to its callers */
};

struct coati_tree_query {
	uint64_t size;
	enum coati_tree_kind kind;
	enum coati_by by; /* what a node is: FUNCTION, LINE, ADDRESS or IMAGE */
	/* Start at this function instead: DOWN gives its callees (from its outermost frame in a
	 * stack), UP its callers (from its innermost). As in a filter; NULL: whole stacks. */
	const char *function;
	uint32_t flags;	    /* COATI_TREE_* */
	uint32_t max_depth; /* 0: no limit; deeper frames' weight stays at the last node */
};
#define COATI_TREE_BY_THREAD  (UINT32_C(1) << 0) /* DOWN: a level of threads above the frames */
#define COATI_TREE_BY_PROCESS (UINT32_C(1) << 1) /* DOWN: a level of processes above the frames */
/* what calls itself directly is one node, marked COATI_NODE_FOLDED */
#define COATI_TREE_FOLD (UINT32_C(1) << 2)
/* coati_tree_node.flags, besides COATI_NAME_* of the frame */
#define COATI_NODE_FOLDED (UINT32_C(1) << 31)

struct coati_tree_node {
	const char *name;
	uint32_t frame;	 /* one of its frames, UINT32_MAX: the root, a thread, a process */
	uint32_t parent; /* UINT32_MAX: none */
	uint32_t first_child, next_sibling; /* UINT32_MAX: none; siblings by total, then name */
	uint64_t self;			    /* weight that ends here */
	uint64_t total;			    /* weight of all that goes through here */
	uint64_t self_count, total_count;
	uint32_t depth; /* the root has 0 */
	uint32_t flags; /* COATI_NAME_* of the frame, COATI_NODE_* */
};
/* Node 0 is the root, named "all"; a parent comes before its children. Lives until the view is
 * freed. */
COATI_API int coati_view_tree(struct coati_view *v, const struct coati_tree_query *q,
			      const struct coati_tree_node **ret, size_t *ret_nr,
			      struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
