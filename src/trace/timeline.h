/* SPDX-License-Identifier: MIT */
/*
 * The trace stage, one timeline: what each thread did when, as the kernel saw it, and what the
 * program was working on meanwhile, as its live events tell. Recordings come in; threads with their
 * states, tasks with their time breakdowns, wakers, and why the slow ones are slow come out.
 *
 *	coati_timeline_new(NULL, &t, &err);
 *	coati_timeline_read(t, "coati.data", NULL, NULL, &err);
 *	for (i = 0; i < coati_timeline_thread_count(t); i++) {
 *		coati_timeline_thread(t, i, &thread);
 *		coati_timeline_ledger(t, i, thread.begin, thread.end, &ledger);
 *	}
 *	coati_timeline_free(&t);
 *
 * Times are CLOCK_MONOTONIC nanoseconds. Kernel events and live events meet on that clock; live
 * events may be off by coati_timeline_info.clock_error. A time breakdown has a part for everything
 * that the time was spent on, and its parts add up to the duration: what is not known is a part,
 * too. Memory is proportional to the events, with a ceiling; what is over it is counted as refused;
 * a summary (COATI_TIMELINE_SUMMARY) takes less. One object, one thread at a time. Strings and
 * arrays live as long as the timeline.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/profile.h>
#include <coati/trace.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "live-read/check.h"
#include "reading/wait.h"

#define COATI_TIMELINE_NONE UINT32_MAX /* no thread, no stack, no task */

/* ---- making one ---- */

struct coati_images;
struct coati_timeline_opts {
	uint64_t size;
	uint64_t max_events; /* intervals, wakeups, tasks, regions ... each; 0: 2^26 */
	const struct coati_images_opts *images;
	/* used in place of its own; they must outlive the timeline. NULL: its own */
	struct coati_images *shared_images;
	uint32_t flags; /* COATI_TIMELINE_SUMMARY, COATI_TIMELINE_WHY */
	uint32_t reserved;
	/* SUMMARY: name of the type that coati_timeline_slowest() and, with WHY,
	 * coati_timeline_why() are asked about; or NULL */
	const char *instances_of;
};
/* Tasks and regions are added up by type, and not kept where that is possible: they are none to ask
 * for, and neither are spans and logs. Memory grows by some bytes for each. Questions about
 * instances need the name of their type in instances_of. */
#define COATI_TIMELINE_SUMMARY (UINT32_C(1) << 0)
#define COATI_TIMELINE_WHY     (UINT32_C(1) << 1)

struct coati_timeline;

int coati_timeline_new(const struct coati_timeline_opts *opts, struct coati_timeline **ret,
		       struct coati_error *err);
/* *t becomes NULL; NULL in it is fine. */
void coati_timeline_free(struct coati_timeline **t);
/* Read a recording (path as for coati_recording_open) and make the timeline of it:
 * coati_timeline_end() is called. One recording a timeline. @fn may be NULL. A file that is cut or
 * damaged: 0, and a note. */
int coati_timeline_read(struct coati_timeline *t, const char *path, coati_progress_fn fn, void *ctx,
			struct coati_error *err);

/* What happened, for those who have it from elsewhere than a recording. */
enum coati_timeline_kind {
	COATI_TIMELINE_BEGIN = 1, /* the recording begins: of what was before nothing is known */
	/* the thread was started, by process @other (0: not said): it waits for a CPU */
	COATI_TIMELINE_START,
	COATI_TIMELINE_EXISTS, /* it was there already; what it does is not known */
	COATI_TIMELINE_NAME,   /* text: it is called so from now on */
	COATI_TIMELINE_EXIT,
	/* it runs, on cpu; other: the thread that left the CPU for it, -1: none did, 0: unknown;
	 * stack: where it had slept when the recording began, or NONE */
	COATI_TIMELINE_IN,
	/* it leaves its CPU; flag PREEMPTED: it would run on; stack: where, or NONE; wait: what
	 * for */
	COATI_TIMELINE_OUT,
	/* it (tid; 0: none, an idle CPU) wakes thread @other; stack: of the waker; flag IRQ: not
	 * the thread did, but an interrupt */
	COATI_TIMELINE_WAKE,
	COATI_TIMELINE_SYSCALL, /* number: it entered this system call */
	COATI_TIMELINE_SYSRET,	/* it left it */
	COATI_TIMELINE_FAULT,	/* page fault */
	/* it was seen running, with this stack; wait FAULT: in the handling of a page fault */
	COATI_TIMELINE_SAMPLE,
	/* number: an interrupt of this kind begins while it runs; they nest */
	COATI_TIMELINE_IRQ_ENTRY,
	COATI_TIMELINE_IRQ_EXIT, /* number: it ends */
	/* number: the host of a virtual machine took at most so many ns from CPUs; time 0: in all,
	 * or else between the times @id and @time */
	COATI_TIMELINE_STOLEN,
	COATI_TIMELINE_LOST, /* kernel records of cpu were lost before this time */
	/* live */
	COATI_TIMELINE_TASK_BEGIN,   /* text: type; id, parent (0: none) */
	COATI_TIMELINE_TASK_END,     /* id; the first counts */
	COATI_TIMELINE_TASK_ENTER,   /* id: the thread works on it from now on, 0: on none */
	COATI_TIMELINE_REGION_BEGIN, /* text: name */
	COATI_TIMELINE_REGION_END,   /* the innermost that is open */
	COATI_TIMELINE_RANGE, /* text: name; number: the region ends now and began so many ns ago */
	COATI_TIMELINE_LABELS, /* text: KEY=VALUE, separated by commas: the whole set from now on */
	COATI_TIMELINE_LOG,    /* text */
	/* number: so many live events of the thread are missing before this time */
	COATI_TIMELINE_LIVE_LOST,
};

#define COATI_TIMELINE_PREEMPTED (UINT32_C(1) << 0)
#define COATI_TIMELINE_IRQ	 (UINT32_C(1) << 1)
/* TASK_BEGIN, REGION_BEGIN: it was open before; time is when it began, if that is known */
#define COATI_TIMELINE_AGAIN (UINT32_C(1) << 2)

/* Of a wake: it was not recorded, but the waker ended then, and that is what the thread waited
 * for. */
#define COATI_TIMELINE_IMPLIED (UINT32_C(1) << 3)

struct coati_timeline_event {
	enum coati_timeline_kind kind;
	uint32_t flags;
	uint64_t time;
	int32_t pid, tid;
	int32_t cpu;   /* -1: not said */
	int32_t other; /* tid */
	uint32_t stack;
	uint32_t wait; /* enum coati_wait */
	uint64_t id, parent;
	uint64_t number;
	const char *text; /* copied */
};
/* Kernel events in order of time; live events in order of time; the two in any order to each other.
 * -ENOMEM; -EINVAL: no such kind, or after the end. */
int coati_timeline_add(struct coati_timeline *t, const struct coati_timeline_event *e);
/* Everything is there: @time is when the recording ended, 0: at the last event. */
int coati_timeline_end(struct coati_timeline *t, uint64_t time, struct coati_error *err);

/* ---- what it is worth ---- */

/* coati_timeline_info.has */
#define COATI_TIMELINE_HAS_SWITCHES (UINT32_C(1) << 0)
#define COATI_TIMELINE_HAS_STACKS   (UINT32_C(1) << 1) /* where threads wait */
#define COATI_TIMELINE_HAS_WAKES    (UINT32_C(1) << 2)
#define COATI_TIMELINE_HAS_SYSCALLS (UINT32_C(1) << 3)
#define COATI_TIMELINE_HAS_FAULTS   (UINT32_C(1) << 4)
#define COATI_TIMELINE_HAS_SAMPLES  (UINT32_C(1) << 5)
#define COATI_TIMELINE_HAS_LIVE	    (UINT32_C(1) << 6)
#define COATI_TIMELINE_HAS_STEAL    (UINT32_C(1) << 7) /* how much the host took away */
#define COATI_TIMELINE_HAS_IRQS	    (UINT32_C(1) << 8) /* interrupts */
/* The recorder saw every wakeup of its threads; only those by the threads themselves,
 * so that waiting for a CPU after another wakeup counts as blocked; or none, because it ran in a
 * PID namespace of its own. Where none of these is set the recording does not say. */
#define COATI_TIMELINE_ALL_WAKES    (UINT32_C(1) << 9)
#define COATI_TIMELINE_OWN_WAKES    (UINT32_C(1) << 10)
#define COATI_TIMELINE_OTHER_PID_NS (UINT32_C(1) << 11)

struct coati_timeline_info {
	uint64_t begin, end;
	uint32_t has;
	uint32_t nr_cpus; /* on which something ran */
	uint64_t switches, wakes, syscalls, faults, samples, live_events;
	uint64_t lost;	       /* kernel records */
	uint64_t live_lost;    /* live events */
	uint64_t live_damaged; /* batches of live events that are malformed */
	/* events that came out of order, and were put at the time of the one before */
	uint64_t late;
	uint64_t refused;	/* over a ceiling */
	uint64_t unpaired;	/* ends without a beginning, and the like */
	uint64_t clock_error;	/* of live events against those of the kernel, at most: ns */
	uint64_t clock_unknown; /* live events whose time is not known that well */
	uint64_t recorder_cpu_ns;
	uint64_t wall_ns, clock_ns; /* the same instant since 1970 and on this clock; 0: not said */
	uint64_t irqs; /* interrupts that threads had to bear, nested ones within the outer one */
	uint64_t stolen_ns; /* HAS_STEAL: at most so much was taken from all CPUs together */
	/* live events that the validator of <coati/trace.h> calls wrong: states that do not follow
	 * from each other, regions and tasks that end in the wrong order */
	uint64_t findings;
	uint64_t wrong; /* SUMMARY: tasks whose breakdown does not add up */
};
void coati_timeline_info(const struct coati_timeline *t, struct coati_timeline_info *ret);
/* Sentences about the recording, NULL past the end. */
const char *coati_timeline_note(const struct coati_timeline *t, uint32_t i);
/* What the validator of live events found wrong, the first hundred of info.findings; NULL past the
 * end. */
const struct coati_trace_finding *coati_timeline_finding(const struct coati_timeline *t,
							 uint32_t i);
/* What stacks are numbered in, and their names; NULL where no recording was read. */
struct coati_profile *coati_timeline_profile(const struct coati_timeline *t);

/* ---- threads ---- */

struct coati_timeline_thread {
	int32_t pid, tid;
	const char *comm;    /* the last name that it had */
	uint64_t begin, end; /* as far as it was seen; the same where it only woke others */
	uint32_t nr_intervals, nr_regions, nr_logs;
	uint32_t reserved;
};
uint32_t coati_timeline_thread_count(const struct coati_timeline *t);
/* -ENOENT past the end. */
int coati_timeline_thread(const struct coati_timeline *t, uint32_t i,
			  struct coati_timeline_thread *ret);
/* The thread that had this number at that time, or NONE. */
uint32_t coati_timeline_find_thread(const struct coati_timeline *t, int32_t tid, uint64_t time);

/* Time in which a thread does one thing. */
struct coati_timeline_interval {
	uint64_t begin, end;
	enum coati_wait wait; /* RUNNING, RUNNABLE, PREEMPTED, a reason to wait, or UNKNOWN */
	int32_t cpu;	      /* RUNNING: where; -1: not said */
	uint32_t stack;	      /* with which it left, or NONE */
	uint32_t wake;	      /* RUNNABLE: who made it so, NONE: not known */
};
int coati_timeline_interval(const struct coati_timeline *t, uint32_t thread, uint32_t i,
			    struct coati_timeline_interval *ret);

/* A region of a thread; those inside it come behind it. */
struct coati_timeline_region {
	uint64_t begin, end;
	const char *name;
	uint32_t thread, depth;
	uint32_t task;	/* that the thread worked on when it began, or NONE */
	uint32_t flags; /* COATI_TIMELINE_OPEN_* */
};
#define COATI_TIMELINE_OPEN_BEGIN (UINT32_C(1) << 0) /* it began before the recording */
#define COATI_TIMELINE_OPEN_END	  (UINT32_C(1) << 1) /* it had not ended */
/* Tasks: with OPEN_BEGIN, when it began is not known, nor its type; begin is that of the recording
 *  */
#define COATI_TIMELINE_BEGIN_UNKNOWN (UINT32_C(1) << 2)
int coati_timeline_region(const struct coati_timeline *t, uint32_t thread, uint32_t i,
			  struct coati_timeline_region *ret);

struct coati_timeline_log {
	uint64_t time;
	const char *text;
	uint32_t thread, task;
};
int coati_timeline_log(const struct coati_timeline *t, uint32_t thread, uint32_t i,
		       struct coati_timeline_log *ret);

/* ---- time breakdowns ---- */

/* The parts: enum coati_wait, and two more. RUNNING is without IRQ where interrupts were
 * recorded. */
#define COATI_PART_NOBODY COATI_WAIT_COUNT	 /* of a task: no thread works on it */
#define COATI_PART_IRQ	  (COATI_WAIT_COUNT + 1) /* on a CPU, which served interrupts meanwhile */
#define COATI_PART_COUNT  (COATI_WAIT_COUNT + 2)

struct coati_ledger {
	uint64_t duration;
	uint64_t parts[COATI_PART_COUNT]; /* ns; they add up to the duration */
	uint64_t switches, faults, wakes; /* times it left a CPU, page faults, times it was woken */
	/* seen running; of those, in the handling of page faults */
	uint64_t samples, fault_samples;
};
/* "futex", ... "nobody", "irq". */
const char *coati_part_name(uint32_t part);
/* What a thread did between two times. */
int coati_timeline_ledger(const struct coati_timeline *t, uint32_t thread, uint64_t from,
			  uint64_t to, struct coati_ledger *ret);

/* ---- tasks ---- */

struct coati_timeline_task {
	uint64_t id, parent;
	int32_t pid;
	uint32_t type; /* number of its type */
	const char *name;
	uint64_t begin, end;
	uint32_t flags; /* COATI_TIMELINE_OPEN_* */
	uint32_t nr_spans;
	/* threads on which it began and ended, NONE: not known; they need not have worked on it */
	uint32_t begin_thread, end_thread;
};
uint32_t coati_timeline_task_count(const struct coati_timeline *t);
int coati_timeline_task(const struct coati_timeline *t, uint32_t i,
			struct coati_timeline_task *ret);
/* By its id; NONE when there is none. With the same id in several processes: the first. */
uint32_t coati_timeline_find_task(const struct coati_timeline *t, uint64_t id);
/* Time in which a thread works on a task, in order of time. */
struct coati_timeline_span {
	uint64_t begin, end;
	uint32_t thread;
	uint32_t task;
};
int coati_timeline_span(const struct coati_timeline *t, uint32_t task, uint32_t i,
			struct coati_timeline_span *ret);
/* Where several threads work on it at once, the one that gets farthest counts: who runs before who
 * is interrupted before who waits for a CPU before who is blocked. Threads that work on tasks below
 * it count, too. */
int coati_timeline_task_ledger(const struct coati_timeline *t, uint32_t task,
			       struct coati_ledger *ret);

/* Tasks, or regions, of one name. */
struct coati_timeline_type {
	const char *name;
	uint32_t is_region;
	uint32_t nr;	    /* that began and ended while recording: what the rest is about */
	uint32_t nr_open;   /* others */
	uint32_t nr_before; /* of the others: began before the recording */
	uint64_t p50, p90, p99, max, sum; /* of their durations, exact */
	struct coati_ledger ledger;	  /* of all of them together */
};
uint32_t coati_timeline_type_count(const struct coati_timeline *t);
int coati_timeline_type(const struct coati_timeline *t, uint32_t i,
			struct coati_timeline_type *ret);
/* Its number, by name: a task type before a region; NONE. */
uint32_t coati_timeline_find_type(const struct coati_timeline *t, const char *name);

/* A task, or a region of a thread. */
struct coati_timeline_instance {
	uint64_t begin, end;
	uint64_t id, parent; /* of a task */
	int32_t pid;
	uint32_t thread; /* of a region; NONE: it is a task */
	uint32_t flags;	 /* COATI_TIMELINE_OPEN_* */
	uint32_t reserved;
	struct coati_ledger ledger;
};
/* Which of a type: the @nr longest of those that overlap a time; those of equal length in order of
 * their beginning. */
struct coati_timeline_query {
	uint32_t type, nr;
	uint64_t from, to;
};
/* The longest first, in *ret, to be freed with coati_free(); *ret_all: how many overlap. -EINVAL:
 * no such type; -ENOMEM. */
int coati_timeline_slowest(const struct coati_timeline *t, const struct coati_timeline_query *q,
			   struct coati_timeline_instance **ret, size_t *ret_nr, size_t *ret_all);

/* ---- who woke whom ---- */

struct coati_timeline_wake {
	uint64_t time;
	/* thread, or NONE: an interrupt; one that is not recorded itself has the same begin and end
	 *  */
	uint32_t waker;
	uint32_t woken;
	uint32_t stack;	     /* of the waker, or NONE; an interrupt has none */
	uint32_t waker_task; /* that the waker worked on then, or NONE */
	uint32_t woken_task;
	uint32_t flags;	      /* COATI_TIMELINE_IRQ, COATI_TIMELINE_IMPLIED */
	uint64_t blocked_ns;  /* how long the woken one had waited */
	enum coati_wait wait; /* and for what */
	uint32_t reserved;
	const char *labels; /* of the waker, "" without */
};
uint32_t coati_timeline_wake_count(const struct coati_timeline *t);
/* In order of time. */
int coati_timeline_wake(const struct coati_timeline *t, uint32_t i,
			struct coati_timeline_wake *ret);

/* ---- the critical path of a task ---- */

/* What the end of the task waited for, step by step: where a thread was blocked and another one
 * woke it, what that one did meanwhile. */
struct coati_timeline_step {
	uint64_t begin, end;
	uint32_t thread; /* NONE: no thread worked on it */
	uint32_t part;	 /* of a time breakdown */
	uint32_t stack;
	uint32_t task; /* that the thread worked on, or NONE */
};
/* In order of time, without gaps, from the task's beginning to its end. Free with
 * coati_timeline_path_free(). */
int coati_timeline_path(const struct coati_timeline *t, uint32_t task,
			struct coati_timeline_step **ret, size_t *ret_nr, struct coati_error *err);
void coati_timeline_path_free(struct coati_timeline_step **steps);

/* ---- why the slow ones are slow ---- */

enum coati_why_kind {
	COATI_WHY_PART = 0, /* of the time breakdown; RUNNING is without FAULTS */
	/* running in page faults: their number, times what one costs by all instances together */
	COATI_WHY_FAULTS,
	COATI_WHY_REGION, /* where: time in regions of one name, whatever happened there */
};
enum coati_why_verdict {
	COATI_WHY_SAME = 0, /* could be chance, or is too little to matter */
	COATI_WHY_CAUSE,
	/* waiting for a CPU: others were busy; RUNNING: no more than sharing a core can do */
	COATI_WHY_MACHINE,
	/* slow and typical ones are of one distribution, and its tail reaches that far by itself */
	COATI_WHY_SPREAD,
	/* stands out in some of the slow ones, but in too few to be sure */
	COATI_WHY_UNSURE,
	/* RUNNING: the host of the virtual machine may have taken it */
	COATI_WHY_STOLEN,
};

/*
 * A row. Its verdict is a comparison: @number against @limit, in ns. The number is the low end of
 * what the slow ones have more (RUNNING: as far as samples saw it, or without what the host may
 * have taken). A cause is above the limit, anything else is not.
 */
struct coati_why_row {
	enum coati_why_kind kind;
	enum coati_why_verdict verdict;
	uint32_t part;	/* of a time breakdown */
	uint32_t waker; /* of what is waited for: thread that ended most of the waiting, or NONE */
	const char *name;     /* "futex", "page faults", "lookup" */
	double slow, typical; /* means, ns */
	double extra;	      /* their difference, */
	double low, high;     /* and where it lies with 99 % confidence */
	/* mean that the slow ones would have if the part went on as it does from its median to its
	 * last sixteenth; negative: not needed, or not known */
	double tail;
	/* of the waker; without one, where the slow ones waited; where they were seen running most;
	 * NONE */
	uint32_t stack;
	uint32_t nr_affected; /* slow ones in which the part stands out */
	double number, limit; /* that decided the verdict */
	/* task that a thread worked on while the slow ones waited for this thread, the one
	 * that took most of the time; NONE: none did, or not for half of the waiting */
	uint32_t hog;
	uint32_t hog_thread;	/* that worked on it */
	const char *hog_name;	/* of its type */
	const char *hog_region; /* innermost region in which the task spent most of it, or NULL */
	uint64_t hog_id;
	double hog_share; /* share of the waiting that tasks of this type took, 0.5 to 1 */
};

enum coati_why_answer {
	COATI_WHY_NO_DIFFERENCE = 0,
	COATI_WHY_CAUSES, /* the first nr_causes rows */
	COATI_WHY_CANNOT_TELL,
};

/* What decided the answer, and what @number and @limit of struct coati_why are. */
enum coati_why_reason {
	COATI_WHY_BY_EXTRA = 0, /* CAUSES, NO_DIFFERENCE: those of the row that comes first, ns */
	COATI_WHY_BY_COUNT,	/* slow ones (or typical ones), and how many are needed */
	COATI_WHY_BY_UNKNOWN,	/* share of their time of which the recording says nothing; 0.5 */
	COATI_WHY_BY_STEAL,	/* as of a row that is STOLEN, ns */
	COATI_WHY_BY_MIXTURE,	/* share of all that are of a second kind; 0.25 */
	COATI_WHY_BY_AFFECTED,	/* slow ones in which a part stands out, and how many are needed */
};

struct coati_why {
	const char *name;
	uint32_t nr, nr_slow, nr_typical;
	uint32_t nr_causes; /* rows of the time breakdown that are causes */
	uint32_t nr_rows;
	/* 1: most of the extra time is waiting for a CPU, or interrupts; the slow ones are those
	 * that are slow without it */
	uint32_t without_cpu;
	uint64_t threshold;   /* no slow one is shorter, and no other is longer; ns */
	double slow, typical; /* mean durations; without_cpu: less the waiting for a CPU */
	/* share of the extra time that is waiting for a CPU or interrupts, 0 to 1 */
	double machine;
	/* share of the extra running time in which samples were taken; negative: not known */
	double seen;
	/* of the time breakdown, causes first, the most extra time first; then regions likewise */
	const struct coati_why_row *rows;
	enum coati_why_answer answer;
	enum coati_why_reason reason;
	double number, limit; /* that decided the answer */
	uint32_t row;	      /* whose comparison decided, or NONE */
	uint32_t reserved;
	/* ns of the slow ones' extra running time that the host may have taken, at most, by when it
	 * took what; negative: not needed, or not known */
	double stolen;
};

/*
 * Compare the instances of a type that are slower than @percent of all (99: the slowest hundredth)
 * with the half around the median. Three answers:
 *
 *	CAUSES		A part is one when its extra time is more than half of what a typical one
 *			takes, with 99 % confidence (resampling the slow ones), and more than
 *			twice what its own tail would give them (three times where they are
 *			fewer than 10), or behind a valley in its distribution. This holds for
 *			all slow ones, or for those in which the part stands out, if they are
 *			two and a fifth of the slow ones at least: so there can be several
 *			causes. Running time must also have more than doubled, and have been
 *			seen by samples as far as they can tell, or else be more than what the
 *			host took away in these intervals.
 *	NO_DIFFERENCE	No part is.
 *	CANNOT_TELL	Fewer than 5 are slow or 20 typical; the recording does not say what
 *			threads did; the host may have taken the extra running time; the typical
 *			ones are of two kinds; or a part stands out in too few of the slow ones.
 *
 * *ret is freed with coati_why_free().
 */
int coati_timeline_why(const struct coati_timeline *t, uint32_t type, double percent,
		       struct coati_why **ret, struct coati_error *err);
void coati_why_free(struct coati_why **why);
