/* SPDX-License-Identifier: MIT */
/*
 * Live events: read the events that programs wrote with <coati/live.h> from a file, in order of
 * time and with their names.
 *
 *	struct coati_trace *t = NULL;
 *	const struct coati_trace_event *e;
 *	int n = coati_trace_open("coati.data", NULL, &t, &err);
 *
 *	while (n >= 0 && (n = coati_trace_next(t, &e)) > 0)
 *		printf("%s\n", coati_trace_kind_name(e->kind));
 *	coati_trace_close(&t);
 *
 * The file may be a recording of `coati record`, a snapshot of a flight recorder, the memory of a
 * flight recorder (also one that is being written) or a core file. Nothing in it is trusted: a
 * malformed batch of events is counted and skipped, and the rest is read.
 *
 * A trace is used by one thread at a time; different traces may be used by different threads. No
 * function may be called from a signal handler. coati-trace(3) has an example.
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

/* ---- events --------------------------------------------------------------------------------- */

enum coati_trace_kind {
	COATI_TRACE_UNKNOWN = 0,
	COATI_TRACE_REGION_BEGIN,
	/* the innermost region of its thread and slot; site as in its begin */
	COATI_TRACE_REGION_END,
	/* a whole region in one event, written at its end: it began at time - duration */
	COATI_TRACE_RANGE,
	COATI_TRACE_TASK_BEGIN, /* id, parent; site has the type of the task */
	COATI_TRACE_TASK_END,	/* id; site and parent as in its begin */
	COATI_TRACE_TASK_ENTER, /* the thread works on task id from now on; 0: on none */
	COATI_TRACE_LOG,	/* text; site has the category */
	COATI_TRACE_COUNTER,	/* number */
	COATI_TRACE_GAUGE,	/* real */
	COATI_TRACE_FLOW,	/* id; number: phase 0 begin, 1 step, 2 end */
	COATI_TRACE_INSTANT,	/* fields: coati_trace_field_next() */
	/* type, id, to: its first state; text: its name */
	COATI_TRACE_RESOURCE_NEW,
	/* type, id, from, to; text: the reason; duration: time spent in the state that it left */
	COATI_TRACE_RESOURCE_SET,
	COATI_TRACE_RESOURCE_END, /* type, id, from; duration: of its life */
	COATI_TRACE_THREAD_NAME,  /* text */
	COATI_TRACE_PROCESS_NAME, /* text */
	COATI_TRACE_SAMPLE,	  /* stack; number: CPU nanoseconds that the sample stands for */
	COATI_TRACE_LABELS,	  /* the whole set from now on: coati_trace_label_next() */
	/* number: events that did not fit into the buffers of the program; id, parent: times of the
	 * first and last */
	COATI_TRACE_LOST,
	/* number: batches of this thread that are not in the file; they belong before this event */
	COATI_TRACE_MISSING,
	COATI_TRACE_KINDS,
};

/* coati_trace_event.flags */
/* The time is a guess: the program's clocks contradict each other. */
#define COATI_TRACE_CLOCK_UNKNOWN (UINT32_C(1) << 0)
/* A begin, enter or resource_new that is repeated at the start of a generation: it happened
 * `duration` before. */
#define COATI_TRACE_REOPENED (UINT32_C(1) << 1)
/* With REOPENED: the original event was returned already, so nothing changes. */
#define COATI_TRACE_KNOWN (UINT32_C(1) << 2)
/* The text was truncated: see text.full_size. */
#define COATI_TRACE_CUT (UINT32_C(1) << 3)
/* A transition that the resource type does not allow, or from another state than the last one. */
#define COATI_TRACE_ILLEGAL (UINT32_C(1) << 4)
/* An end whose begin is not known. */
#define COATI_TRACE_NO_BEGIN (UINT32_C(1) << 5)
/* It arrived after later events had been returned. */
#define COATI_TRACE_LATE (UINT32_C(1) << 6)
/* A string, stack or site that it refers to is not in the file. */
#define COATI_TRACE_UNRESOLVED (UINT32_C(1) << 7)
/* Its generation has no end mark: the program died, or still runs. */
#define COATI_TRACE_INCOMPLETE (UINT32_C(1) << 8)
/* The first event of a thread, or process, that has the same ID as an earlier one. */
#define COATI_TRACE_NEW_THREAD	(UINT32_C(1) << 9)
#define COATI_TRACE_NEW_PROCESS (UINT32_C(1) << 10)

#define COATI_TRACE_NO_DURATION UINT64_MAX

/* Bytes in memory of the trace. Frozen. */
struct coati_trace_text {
	const char *text; /* never NULL; not terminated */
	uint32_t size;
	uint32_t full_size; /* before truncation; otherwise the same as size */
};

/* A place in the program. Allocated by the library; lives as long as the trace. */
struct coati_trace_site {
	uint32_t id, pid;
	uint32_t kind, line;
	struct coati_trace_text name, category, file, function, fields;
};

/* A type of resource with its states. Allocated by the library; lives as long as the trace. */
struct coati_trace_type {
	uint32_t id, pid;
	struct coati_trace_text name;
	uint32_t nr_states;
	uint32_t reserved;
	const struct coati_trace_text *states;
	const uint64_t *next; /* for each state a set of bits: the states that may follow */
};

/* Allocated by the library. It lives until the next call on the trace, with its texts and stack. */
struct coati_trace_event {
	uint64_t time;	/* CLOCK_MONOTONIC ns */
	uint64_t error; /* the time may be off by this many ns */
	uint32_t pid, tid;
	uint16_t kind; /* enum coati_trace_kind */
	/* 1: from a signal handler that interrupted the writing of another event; otherwise 0 */
	uint16_t slot;
	uint32_t flags; /* COATI_TRACE_* */
	uint64_t generation;
	/* the current task of the thread; 0: none or not known */
	uint64_t task;
	const struct coati_trace_site *site; /* or NULL */
	const struct coati_trace_type *type; /* of resources, or NULL */
	uint64_t id, parent;
	uint64_t duration; /* ns, or COATI_TRACE_NO_DURATION */
	int64_t number;
	double real;
	struct coati_trace_text text;
	uint32_t from, to;     /* states */
	uint32_t depth;	       /* of regions: how many are open around it */
	uint32_t type_id;      /* set also where type is NULL */
	const uint64_t *stack; /* return addresses, innermost first */
	uint32_t stack_count;
	uint32_t reserved;
	/* of instants and label sets: read with the functions below */
	const uint8_t *bytes;
	uint64_t bytes_size;
};

/* The name of a kind, such as "region_begin"; "?" for an unknown number. Thread: any.  Memory:
 * never allocates. */
COATI_API const char *coati_trace_kind_name(uint32_t kind);

/* ---- a file --------------------------------------------------------------------------------- */

struct coati_trace;

struct coati_trace_opts {
	uint64_t size;	    /* sizeof(struct coati_trace_opts) */
	uint64_t max_bytes; /* limit for batches that are buffered for sorting; 0: 256 MiB */
	uint32_t flags;	    /* none yet: 0 */
	uint32_t reserved;
	/* Omit events before this time. Tasks and regions that are open then are repeated with
	 * COATI_TRACE_REOPENED before the first event; so are the latest names and labels. 0: from
	 * the start. CLOCK_MONOTONIC ns */
	uint64_t from_ns;
	uint64_t to_ns; /* omit events after this time; 0: to the end */
};

/* Open @path: a recording ("-": standard input), a flight recorder's file or a core file. @opts may
 * be NULL. Errors: -ENOENT and others of open(2), -EBADMSG: unknown kind of file. */
COATI_API int coati_trace_open(const char *path, const struct coati_trace_opts *opts,
			       struct coati_trace **ret, struct coati_error *err);
/* Free everything; *t becomes NULL. NULL is fine. */
COATI_API void coati_trace_close(struct coati_trace **t);

/* The next event: 1 and *ret, 0 at the end. Events come in order of time; those of the same time by
 * process, thread and slot. Negative: -ENODATA the file ends in the middle of a record, -EBADMSG it
 * is damaged; every event before was returned, and coati_trace_damage() has the message. -ENOMEM;
 * -E2BIG: over a limit. */
COATI_API int coati_trace_next(struct coati_trace *t, const struct coati_trace_event **ret);

/* ---- fields, labels and text ----------------------------------------------------------------- */

/* One field of an instant. Frozen. */
struct coati_trace_field {
	struct coati_trace_text name;
	uint32_t letter; /* i: number, u and x: unsigned number, d: real, s: text */
	uint32_t reserved;
	int64_t number;
	double real;
	struct coati_trace_text text;
};

/* A position among the fields or labels of an event; start with zeros. Frozen. */
struct coati_trace_pos {
	uint64_t fields, bytes;
};

/* The next field of an instant: 1 and *ret, 0 at the end, -EBADMSG. */
COATI_API int coati_trace_field_next(const struct coati_trace *t, const struct coati_trace_event *e,
				     struct coati_trace_pos *pos, struct coati_trace_field *ret);
/* The next label of a label set: likewise. */
COATI_API int coati_trace_label_next(const struct coati_trace_event *e, struct coati_trace_pos *pos,
				     struct coati_trace_text *ret_key,
				     struct coati_trace_text *ret_value);
/* The event as one line without a newline: "12.000000345 7/7 region_begin site="parse" depth=0".
 * Texts are quoted and escaped. Returns the length of the whole line, which may be more than @cap;
 * what is in @buf is always terminated. */
COATI_API size_t coati_trace_event_format(const struct coati_trace *t,
					  const struct coati_trace_event *e, char *buf, size_t cap);

/* ---- quality -------------------------------------------------------------------------------- */

/* How complete the trace is, up to the last event that was returned. */
struct coati_trace_quality {
	uint64_t size;			 /* sizeof(struct coati_trace_quality) */
	uint64_t batches, bytes, events; /* events: returned */
	uint64_t damaged;		 /* malformed batches, or parts of them */
	uint64_t missing;		 /* batches that are not in the file */
	uint64_t lost;			 /* events that did not fit into the buffers of programs */
	uint64_t late;			 /* events out of order */
	uint64_t forced;		 /* generations returned early because of max_bytes */
	uint64_t generations, incomplete;
	uint64_t unresolved;	 /* references to strings, stacks or sites that are missing */
	uint64_t clock_unknown;	 /* batches whose clocks contradict each other */
	uint64_t clock_error_ns; /* the largest of all events with a known clock */
	uint64_t open_batches;	 /* not closed by their program: it died, or still runs */
	uint64_t held_bytes;	 /* buffered for sorting */
	uint64_t left_out;	 /* events omitted by from_ns and to_ns */
};

/* 0; -EINVAL: ret->size is not set. */
COATI_API int coati_trace_get_quality(const struct coati_trace *t, struct coati_trace_quality *ret);
/* The first malformed data, or why reading ended early, with its position; code 0: none. Lives as
 * long as the trace. */
COATI_API const struct coati_error *coati_trace_damage(const struct coati_trace *t);

#ifdef __cplusplus
}
#endif
#endif
