/* SPDX-License-Identifier: MIT */
/*
 * Station 5, what happened when: the events that programs wrote with <coati/live.h>, in order and
 * with their names.
 *
 *	struct coati_trace *t = NULL;
 *	coati_trace_new(NULL, &t, &err);
 *	const struct coati_trace_event *e;
 *	while (batches) {		payloads of kind COATI_BATCH_TRACE of a recording, or of a
 *					flight recorder
 *		coati_trace_feed(t, bytes, size, where, &err);
 *		while ((n = coati_trace_next(t, &e)) > 0)
 *			use(e);
 *	}
 *	coati_trace_finish(t);
 *	while ((n = coati_trace_next(t, &e)) > 0)
 *		use(e);
 *	coati_trace_free(&t);
 *
 * Batches may come in any order within a generation, and next() may be called after every feed():
 * it gives what is certain by then, which is all up to the last but one complete generation of
 * every process. A generation is complete with its end mark, with the second generation after it,
 * or at the end of the input. Memory is bounded by two generations of each process and a ceiling;
 * over it, what is there is given out before it is complete, and counted.
 *
 * Nothing is trusted. A batch that makes no sense is counted with its place and left out; one
 * that makes no sense from some event on gives the events before. The same batches in the same
 * order give the same events. One object, one thread at a time.
 */
#ifndef COATI_TRACE_H
#define COATI_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events ---- */

enum coati_trace_kind {
	COATI_TRACE_UNKNOWN = 0,
	COATI_TRACE_REGION_BEGIN,
	COATI_TRACE_REGION_END, /* the innermost of its thread and slot; site as in its begin */
	/* a whole region at once, written at its end: it began at time - duration */
	COATI_TRACE_RANGE,
	COATI_TRACE_TASK_BEGIN,	  /* id, parent; site has its type */
	COATI_TRACE_TASK_END,	  /* id; site and parent as in its begin */
	COATI_TRACE_TASK_ENTER,	  /* the thread works on task id from now on; 0: on none */
	COATI_TRACE_LOG,	  /* text; the site has the category */
	COATI_TRACE_COUNTER,	  /* number */
	COATI_TRACE_GAUGE,	  /* real */
	COATI_TRACE_FLOW,	  /* id; number: phase 0 begin, 1 step, 2 end */
	COATI_TRACE_INSTANT,	  /* fields: coati_trace_field_next() */
	COATI_TRACE_RESOURCE_NEW, /* type, id, to: its state; text: its name */
	/* type, id, from, to; text: the reason; duration: of the state that it left */
	COATI_TRACE_RESOURCE_SET,
	COATI_TRACE_RESOURCE_END, /* type, id, from; duration: of its life */
	COATI_TRACE_THREAD_NAME,  /* text */
	COATI_TRACE_PROCESS_NAME, /* text */
	COATI_TRACE_SAMPLE,	  /* stack; number: CPU nanoseconds that it stands for */
	COATI_TRACE_LABELS,	  /* the whole set from now on: coati_trace_label_next() */
	/* number: events that the writer had no room for; id, parent: times of the first and the
	 * last */
	COATI_TRACE_LOST,
	/* number: batches of this thread that are not in the input; they lay before this place */
	COATI_TRACE_MISSING,
	COATI_TRACE_KINDS,
};

/* coati_trace_event.flags */
/* the time is a guess: the clocks contradict each other */
#define COATI_TRACE_CLOCK_UNKNOWN (UINT32_C(1) << 0)
/* repeated: it began `duration` before; begins, enter and resource_new */
#define COATI_TRACE_REOPENED (UINT32_C(1) << 1)
/* with REOPENED: its begin was given already, nothing changes */
#define COATI_TRACE_KNOWN (UINT32_C(1) << 2)
#define COATI_TRACE_CUT	  (UINT32_C(1) << 3) /* the text was longer: text.full_size */
/* a transition that the type does not allow, or from another state than the last */
#define COATI_TRACE_ILLEGAL  (UINT32_C(1) << 4)
#define COATI_TRACE_NO_BEGIN (UINT32_C(1) << 5) /* an end whose begin is not known */
#define COATI_TRACE_LATE     (UINT32_C(1) << 6) /* came in after later ones had been given out */
/* a string, stack or site that it refers to is not in the input */
#define COATI_TRACE_UNRESOLVED (UINT32_C(1) << 7)
#define COATI_TRACE_INCOMPLETE (UINT32_C(1) << 8) /* its generation has no end mark */

/* the first of a thread that has the number of an earlier one */
#define COATI_TRACE_NEW_THREAD	(UINT32_C(1) << 9)
#define COATI_TRACE_NEW_PROCESS (UINT32_C(1) << 10) /* the same of a process */

#define COATI_TRACE_NO_DURATION UINT64_MAX

struct coati_trace_text {
	const char *text; /* never NULL; not terminated */
	uint32_t size;
	uint32_t full_size; /* before it was cut; else size */
};

/* A place in the program. Lives as long as the trace. */
struct coati_trace_site {
	uint32_t id, pid;
	uint32_t kind, line;
	struct coati_trace_text name, category, file, function, fields;
};

/* A type of resource with its states. Lives as long as the trace. */
struct coati_trace_type {
	uint32_t id, pid;
	struct coati_trace_text name;
	uint32_t nr_states;
	uint32_t reserved;
	const struct coati_trace_text *states;
	const uint64_t *next; /* for each state the set of those that may follow, a bit each */
};

/* Lives until the next call on the trace, with its texts and its stack. */
struct coati_trace_event {
	uint64_t time;	/* CLOCK_MONOTONIC ns */
	uint64_t error; /* it may be off by so many ns */
	uint32_t pid, tid;
	uint16_t kind; /* enum coati_trace_kind */
	/* 0; 1: from a signal handler that interrupted the writing of another event */
	uint16_t slot;
	uint32_t flags;
	uint64_t generation;
	uint64_t task;			     /* that the thread works on; 0 none or not known */
	const struct coati_trace_site *site; /* or NULL */
	const struct coati_trace_type *type; /* of resources, or NULL */
	uint64_t id, parent;
	uint64_t duration; /* ns; COATI_TRACE_NO_DURATION */
	int64_t number;
	double real;
	struct coati_trace_text text;
	uint32_t from, to;     /* states */
	uint32_t depth;	       /* of regions: how many are open around it */
	uint32_t type_id;      /* also where type is NULL */
	const uint64_t *stack; /* return addresses, innermost first */
	uint32_t stack_count;
	uint32_t reserved;
	/* of instants and label sets; for the functions below */
	const uint8_t *bytes;
	uint64_t bytes_size;
};

/* "region_begin"; "?" for a number that is none. */
COATI_API const char *coati_trace_kind_name(uint32_t kind);

/* Fields of an instant: 1, 0 at the end, -EBADMSG. Start with a zeroed *pos. */
struct coati_trace_field {
	struct coati_trace_text name;
	uint32_t letter; /* i number, u x (hexadecimal) unsigned number, d real, s text */
	uint32_t reserved;
	int64_t number;
	double real;
	struct coati_trace_text text;
};
struct coati_trace_pos {
	uint64_t fields, bytes;
};
struct coati_trace;
COATI_API int coati_trace_field_next(const struct coati_trace *t, const struct coati_trace_event *e,
				     struct coati_trace_pos *pos, struct coati_trace_field *ret);
/* Labels of a set: likewise. */
COATI_API int coati_trace_label_next(const struct coati_trace_event *e, struct coati_trace_pos *pos,
				     struct coati_trace_text *ret_key,
				     struct coati_trace_text *ret_value);

/* ---- the reader ---- */

struct coati_trace_opts {
	uint64_t size;
	uint64_t max_bytes; /* of batches that wait for their turn; 0: 256 MiB */
	uint32_t flags;
	uint32_t reserved;
	/* Events before this time are left out, and so are losses. What is open at that time is
	 * repeated (REOPENED) before the first event that is not left out; of names
	 * and labels the last before it. 0: all events */
	uint64_t from_ns;
	uint64_t to_ns; /* those after this time are left out, too; 0: none */
};

COATI_API int coati_trace_new(const struct coati_trace_opts *opts, struct coati_trace **ret,
			      struct coati_error *err);
COATI_API void coati_trace_free(struct coati_trace **t);
/* One batch, copied. @where: its place in the input, for messages. 0, also when it makes no sense
 * (that is counted); -ENOMEM; -E2BIG: the names of a process are over our limits, or twice
 * max_bytes wait because nobody called next().  Hot. */
COATI_API int coati_trace_feed(struct coati_trace *t, const void *bytes, size_t size,
			       uint64_t where, struct coati_error *err);
/* Nothing more will come: next() gives all the rest. */
COATI_API int coati_trace_finish(struct coati_trace *t);
/* 1 and an event, 0: nothing is certain until more is fed; -ENOMEM, -E2BIG. In order of time,
 * those of one instant by process, thread and slot; what breaks the order has the flag LATE.
 * Hot. */
COATI_API int coati_trace_next(struct coati_trace *t, const struct coati_trace_event **ret);
/* The same for those who read a lot: how many, and the events that next() would give one by one.
 * All of them live until the next call on the trace.  Hot. */
COATI_API int coati_trace_take(struct coati_trace *t, const struct coati_trace_event *const **ret);

struct coati_trace_quality {
	uint64_t batches, bytes, events; /* events: given out */
	uint64_t damaged;		 /* batches, or parts of them, that make no sense */
	uint64_t missing;		 /* batches that are not in the input */
	uint64_t lost;			 /* events that writers had no room for */
	uint64_t late;			 /* events out of order */
	uint64_t forced; /* generations given out before they were complete: over the ceiling */
	uint64_t generations, incomplete;
	uint64_t unresolved;	 /* references to what is not there */
	uint64_t clock_unknown;	 /* batches whose clocks contradict each other */
	uint64_t clock_error_ns; /* the largest of all events with a known clock */
	uint64_t open_batches;	 /* that nobody had closed: of a process that died, or lives */
	uint64_t held_bytes;	 /* waiting for their turn */
	uint64_t left_out;	 /* events left out: before from_ns or after to_ns */
};
COATI_API void coati_trace_get_quality(const struct coati_trace *t,
				       struct coati_trace_quality *ret);
/* The first thing that made no sense, with its place; code 0: there was none. */
COATI_API const struct coati_error *coati_trace_damage(const struct coati_trace *t);

/* What a process said about itself, from its last generation. Texts live as long as the trace. */
struct coati_trace_process {
	uint32_t pid, uid;
	uint64_t start_ticks;
	uint8_t boot_id[16];
	struct coati_trace_text comm, executable, name;
	uint64_t clock_source, clock_error_ns, realtime_ns, period_ns;
	uint64_t pair_ns; /* when it was realtime_ns */
	uint32_t nr_open_tasks;
	uint32_t reserved;
};
/* By position, in the order in which they came: 0, -ENOENT past the last. */
COATI_API int coati_trace_process(const struct coati_trace *t, uint32_t i,
				  struct coati_trace_process *ret);

/* What is open behind the last event that was given out. */
struct coati_trace_open {
	uint32_t pid, tid; /* of a task: of the thread that began it, 0 not known */
	uint32_t slot, depth;
	const struct coati_trace_site *site; /* or NULL */
	uint64_t id, parent;		     /* of tasks */
	uint64_t began_ns;
};
/* Regions by pid, tid, slot and depth; tasks by pid and id. 0, -ENOMEM. *ret lives until the next
 * call on the trace. */
COATI_API int coati_trace_open_regions(struct coati_trace *t, const struct coati_trace_open **ret,
				       uint32_t *ret_nr);
COATI_API int coati_trace_open_tasks(struct coati_trace *t, const struct coati_trace_open **ret,
				     uint32_t *ret_nr);

/* ---- flight recorders ---- */

/*
 * The memory of a flight recorder, of a process that lives or has died: a file below
 * /dev/shm/coati-UID, or a core file in which it lies or is named. It is read, never mapped:
 * nothing that its owner does to it can hurt the reader. What comes out are batches for
 * coati_trace_feed(), generation by generation, those that are still open as far as they are
 * written.
 */
struct coati_flight;

struct coati_flight_info {
	uint32_t pid, uid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat */
	uint8_t boot_id[16];
	char comm[17];
	uint8_t has_ended; /* its recorder was stopped in order */
	uint8_t is_core;   /* found by way of a core file */
	uint8_t is_alive;  /* its writer is there, and has it locked */
	uint32_t signal;   /* that ended it, as its core file tells; 0 not known */
	uint64_t bytes;	   /* of its memory */
	uint64_t generation, oldest;
	uint64_t dropped;      /* events that it had no room for */
	uint64_t realtime_ns;  /* when the recorder started */
	uint64_t monotonic_ns; /* the same instant */
	uint64_t watcher;      /* pid of one that records it from outside, 0 none */
	uint64_t modified_ns;  /* of the file, CLOCK_REALTIME; 0 not known */
	uint32_t nr_chunks, nr_used;
	/* chunks that were given to somebody else while they were read: left out */
	uint32_t nr_changed;
	uint32_t nr_damaged; /* that make no sense */
	/* Of the file, as the kernel says; @uid is what its writer says. In a core file that of the
	 * core. */
	uint32_t owner;
	uint32_t reserved;
	uint64_t memory; /* bytes that it takes; @bytes may have holes */
};

/* A file of a flight recorder or a core file. -EBADMSG: neither; -ENOENT: the core names a
 * recorder whose file is gone. */
COATI_API int coati_flight_open(const char *path, struct coati_flight **ret,
				struct coati_error *err);
/* The same from a descriptor, which is taken over. */
COATI_API int coati_flight_open_fd(int fd, struct coati_flight **ret, struct coati_error *err);
COATI_API void coati_flight_get_info(const struct coati_flight *f, struct coati_flight_info *ret);
/* Only generations from @from to @to, before the first next(): for those who come back for more.
 * Who comes back (@from is not the first) is not told again which tasks were open. */
COATI_API void coati_flight_between(struct coati_flight *f, uint64_t from, uint64_t to);
/* 1 and a batch, which lives until the next call; 0 at the end; -EIO and the like. *ret_where:
 * its offset. */
COATI_API int coati_flight_next(struct coati_flight *f, const void **ret, size_t *ret_size,
				uint64_t *ret_where);
COATI_API void coati_flight_close(struct coati_flight **f);

/* ---- switching a tracer on from outside ---- */

/* Of a process that runs and has libcoati-live in it. Fields are the library's; fd -1: nothing to
 * release. */
struct coati_live_ask {
	int32_t fd;
	uint32_t ticket;
	uint64_t block;
};
/* Ask: the next event that the program meets in ordinary code starts a flight recorder, whose
 * file is then below /dev/shm/coati-UID. -EALREADY  it has one -ENOENT    it has no libcoati-live
 * -EPROTO    one of another version -EACCES    its memory may not be written: the rights of a
 * debugger are needed */
COATI_API int coati_live_ask(int32_t pid, struct coati_live_ask *ret, struct coati_error *err);
/* 1: it records; 0: it has not met an event yet; negative: it cannot, or is gone. */
COATI_API int coati_live_answer(const struct coati_live_ask *ask, struct coati_error *err);
/* It is not wanted any more: ends within a second or so, also when this process dies without. */
COATI_API void coati_live_release(struct coati_live_ask *ask);

/* ---- text ---- */

/* One line without its newline: "12.000000345 7/7 region_begin site="parse" depth=0 task=3".
 * Texts are quoted, with escapes for what is not printable. Returns the length that the whole
 * line has, which may be more than @cap; what is there is terminated. */
COATI_API size_t coati_trace_event_format(const struct coati_trace *t,
					  const struct coati_trace_event *e, char *buf, size_t cap);

/* ---- what samples belong to ---- */

/* Labels for the samples of a profile, from the live events of the same recording: those that the
 * thread had at that time, besides them "task", the type of the task that it worked on, and
 * "region", the names of the regions that were open with " > " between, the outermost first.
 * Ranges, which are written when they are over, are none of these. A label of the program's own
 * with one of these names wins. Recordings are walked once more for it, which a stream cannot be:
 * -EOPNOTSUPP. */
struct coati_contexts;
struct coati_context_source;
COATI_API int coati_contexts_new(struct coati_contexts **ret, struct coati_error *err);
/* Behind the profile that uses it. *c becomes NULL. */
COATI_API void coati_contexts_free(struct coati_contexts **c);
/* For coati_profile_opts.contexts. */
COATI_API const struct coati_context_source *coati_contexts_source(const struct coati_contexts *c);
/* The same without labels for the kernel's samples, which only a second walk can tell: those
 * alone that programs took of themselves, with theirs. Streams have them, too. */
COATI_API const struct coati_context_source *coati_contexts_samples(const struct coati_contexts *c);

/* ---- the validator ---- */

/* Looks at events one by one with a memory of its own and says what cannot be: time that runs
 * backwards in a thread, regions and tasks that end without having begun, begin twice or end in
 * the wrong order, states that do not follow from each other, references to nothing. A trace that
 * has lost something is allowed to have gaps there, and only there. */
struct coati_trace_check;
struct coati_trace_finding {
	uint64_t event; /* number of the event, from 0 */
	uint64_t time;
	uint32_t pid, tid;
	char text[160]; /* a sentence */
};
COATI_API int coati_trace_check_new(struct coati_trace_check **ret, struct coati_error *err);
COATI_API void coati_trace_check_free(struct coati_trace_check **c);
/* 1: something is wrong, see *ret; 0: nothing; -ENOMEM, -E2BIG.  Hot. */
COATI_API int coati_trace_check_event(struct coati_trace_check *c,
				      const struct coati_trace_event *e,
				      struct coati_trace_finding *ret);
/* The same of some: how many of them are wrong; *ret tells of the first of those.  Hot. */
COATI_API int coati_trace_check_events(struct coati_trace_check *c,
				       const struct coati_trace_event *const *events, uint32_t nr,
				       struct coati_trace_finding *ret);

#ifdef __cplusplus
}
#endif
#endif
