/* SPDX-License-Identifier: MIT */
/*
 * The model behind <coati/process.h>. Two tables, one by pid and one by tid, lead to what had that
 * number one after the other: spans with the time from which they hold. A pid's span has an address
 * space and belongs to a process; an exec begins a span with a new space, a fork one with a new
 * process. A question takes the last span that is not later than its time, or the first one.
 *
 * A number (coati_processes_space) is the epoch of a space and how many of its mappings hold. A
 * space gets another epoch whenever a number of it that was given out could mean something else: a
 * mapping was reported late, or something changed in the space below it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/process.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/ranges.h"
#include "base/search.h"
#include "process/origin.h"

/* A build id that the recording tells for a path (BUILD_ID section; "[kernel.kallsyms]" for the
 * kernel): for mappings that carry none. Counts for images that were not used yet. -EINVAL: no or
 * too long an id. */
int coati_processes_build_id(struct coati_processes *ps, const char *path, const uint8_t *id,
			     uint32_t id_size);

/* Code without a file belongs to an image of kind JIT when its process wrote a perf map or mapped a
 * jitdump file (jit-*.dump), else of kind ANON. Of a recording the names are read when the first
 * address is found; of processes that run (LIVE) the files still grow: read them with this call
 * before names are resolved, as often as wanted. -ENOMEM. */
int coati_processes_load_jit(struct coati_processes *ps);

/* Times before this are not asked for again: history that ended earlier may be forgotten. For
 * captures that run for days. */
void coati_processes_forget(struct coati_processes *ps, uint64_t before_time);

/* A number that stands for the mappings of the process at that time. The same number means the same
 * answer of coati_processes_find() for every address, "nothing known" too: both may be kept under
 * it, whatever is fed later. (What is fed late changes the number of the times that it is about; a
 * fork has its parent's number until it maps something; two processes share one in no other way.)
 * Never 0 for a known process; 0: nothing is known of it, yet.  Hot. */
uint64_t coati_processes_space(struct coati_processes *ps, int32_t pid, uint64_t time);

/* Every executable mapping of @pid at @time, by address: until the callback returns non-zero. */
int coati_processes_each_mapping(struct coati_processes *ps, int32_t pid, uint64_t time,
				 int (*fn)(void *ctx, const struct coati_place *place), void *ctx);

/* The path of a cgroup from a CGROUP record, or NULL. */
const char *coati_processes_cgroup(struct coati_processes *ps, uint64_t id);

struct coati_processes_stats {
	uint64_t processes, threads, execs, mappings;
	uint64_t refused;  /* mappings that contradict themselves or are over a ceiling */
	uint64_t replaced; /* mappings cut or replaced by later ones */
	uint64_t unknown_pid, unknown_addr; /* questions without an answer */
};

void coati_processes_get_stats(const struct coati_processes *ps, struct coati_processes_stats *ret);

#define SPANS_MAX \
	32768		  /* of one number: each must be moved when an earlier one is reported
			   * late */
#define COMMS_MAX   32768 /* of one thread, likewise */
#define HOPS_MAX    512	  /* from fork to fork, when an address is looked for below */
#define SLOT_CACHE  256
#define FOUND_CACHE 1024
#define NUMBER_NONE 1 /* of a time before the process began: nothing is there. No epoch is 0. */

struct space {
	struct ranges ranges; /* id: the origin, bits: prot */
	uint32_t epoch;	      /* upper half of its numbers */
	/* that of the model when the epoch was taken: what lies below may have changed since */
	uint32_t inherit_epoch;
	/* A fork's: what the parent had at that time lies below all own ranges. */
	bool has_base;
	int32_t base_pid;
	uint64_t base_time;
};

struct process {
	uint32_t index;
	int32_t pid, ppid;
	bool is_implicit; /* its start was not recorded */
	bool is_used;	  /* its index was given out */
	uint64_t start_time, exit_time;
	int64_t nr_alive; /* threads that started less those that ended */
	uint64_t pid_ns, mnt_ns, ns_time;
};

struct pid_span {
	uint64_t from;
	struct space *space;
	struct process *process;
	bool is_start; /* of the process; else an exec */
};

enum jit_state {
	JIT_UNKNOWN = 0, /* not asked for yet */
	JIT_NONE,
	JIT_FOUND,
};

struct pid_slot {
	int32_t pid;
	bool was_read; /* from /proc */
	enum jit_state jit;
	uint32_t jit_image, anon_image;
	const char *jitdump; /* path, NULL: none was seen */
	ARRAY(struct pid_span) spans;
	uint64_t last_fork; /* latest time at which a child took over what was there */
	bool has_forked;
	/* The last answer to "which number": holds for [from, to) while nothing changed. */
	uint64_t number, from, to;
	uint32_t inherit_epoch;
};

struct comm {
	uint64_t time;
	const char *name;
};

struct thread {
	uint32_t index;
	int32_t pid, tid;
	int32_t ptid; /* whose name it has at its start; 0: none */
	bool is_implicit, is_used;
	bool was_read; /* its name, from /proc */
	uint64_t start_time, end_time;
	uint64_t cgroup;
	ARRAY(struct comm) comms;
};

struct tid_span {
	uint64_t from;
	struct thread *thread;
};

struct tid_slot {
	int32_t tid;
	ARRAY(struct tid_span) spans;
	/* The last answer: holds for [from, to) while nothing changed. */
	uint64_t from, to, change;
	struct coati_thread_info info;
};

/* An answer of find(): right as long as the number is. */
struct found {
	uint64_t number; /* 0: empty */
	uint64_t start, end, pgoff;
	uint64_t delta; /* vaddr - address */
	uint32_t image, prot;
};

struct coati_processes {
	struct coati_images *images;
	uint32_t flags;
	char *procfs;
	uint64_t max_threads, max_mappings, nr_mappings;
	/* processes that started, and programs that were executed */
	uint64_t max_spaces, nr_spaces;
	bool is_fixed;	       /* limits that the caller chose */
	uint64_t over[LIMITS]; /* times that one was in the way */
	struct map pids, tids; /* to slots */
	struct pid_slot kernel;
	uint32_t nr_kernel_maps; /* mappings of the kernel itself */
	uint32_t next_epoch, inherit_epoch, next_process, next_thread;
	uint64_t thread_change;
	struct arena arena;
	struct map names;     /* strings in the arena */
	struct map cgroups;   /* id to path */
	struct map build_ids; /* path to struct path_build_id */
	struct origins origins;
	struct coati_processes_stats stats;
	char overflow_comm[16];
	struct pid_slot *slot_cache[SLOT_CACHE];
	struct tid_slot *thread_cache[SLOT_CACHE];
	struct found found[FOUND_CACHE];
};

_Static_assert(offsetof(struct pid_span, from) == 0 && offsetof(struct tid_span, from) == 0,
	       "as span_index() takes them");

/* Of spans of either kind, by time: the last that is not later, or the first.  Hot. */
static inline size_t span_index(const void *spans, size_t nr, size_t size, uint64_t time)
{
	const char *v = spans;
	size_t low = 0, high = nr;

	if (*(const uint64_t *)(const void *)(v + (nr - 1) * size) <= time)
		return nr - 1;
	low = SEARCH(mid, low, high, *(const uint64_t *)(const void *)(v + mid * size) <= time);
	return low ? low - 1 : 0;
}

#define SPAN_INDEX(slot, time) \
	span_index((slot)->spans.v, (slot)->spans.len, sizeof((slot)->spans.v[0]), time)

/* ---- numbers and what had them: timeline.c ---- */

/* NULL: never heard of it. */
struct pid_slot *coati_pid_slot_find(struct coati_processes *ps, int32_t pid);
/* Made with one process that has no records. NULL: out of memory or over the ceiling
 * (*ret_code). */
struct pid_slot *coati_pid_slot_get(struct coati_processes *ps, int32_t pid, int *ret_code);
/* The span at @time, and when the next begins (UINT64_MAX). */
struct pid_span *coati_pid_span(struct pid_slot *slot, uint64_t time, uint64_t *ret_to);
/* The same for what a record tells of @time: before the first span one is made. NULL: out of
 * memory. */
struct pid_span *coati_pid_span_told(struct coati_processes *ps, struct pid_slot *slot,
				     uint64_t time);
/* A process began at @time as a child of @ppid; @is_told: a tool tells what it found, nothing is
 * taken over. */
int coati_pid_fork(struct coati_processes *ps, int32_t pid, int32_t ppid, uint64_t time,
		   bool is_told);
int coati_pid_exec(struct coati_processes *ps, int32_t pid, uint64_t time);
void coati_pid_exit(struct coati_processes *ps, int32_t pid, uint64_t time);
int coati_pid_slot_init(struct coati_processes *ps, struct pid_slot *slot, int32_t pid);
void coati_pid_slot_fini(struct coati_processes *ps, struct pid_slot *slot);
/* A mapping; ceilings and counts are minded. */
int coati_pid_map(struct coati_processes *ps, struct pid_slot *slot, const struct range *m);
/* Every number that was given out for spaces with something below them may be wrong. */
void coati_numbers_expire(struct coati_processes *ps, struct pid_slot *slot);

/* ---- threads and their names: thread.c ---- */

int coati_tid_fork(struct coati_processes *ps, const struct coati_task *task, uint64_t time,
		   bool is_told);
void coati_tid_exit(struct coati_processes *ps, int32_t tid, uint64_t time);
int coati_tid_comm(struct coati_processes *ps, const struct coati_comm *comm, uint64_t time);
int coati_tid_cgroup(struct coati_processes *ps, int32_t pid, int32_t tid, uint64_t cgroup);
void coati_tid_slot_free(struct tid_slot *slot);
/* The name that the process number @process had last, after its last exec; it lives as long as the
 * model. NULL: it is unknown. */
const char *coati_process_last_comm(struct coati_processes *ps, int32_t pid, uint32_t process);

/* ---- the rest ---- */

/* Limits for who has read so many bytes of a file; those that the caller chose stay. */
void coati_processes_allow(struct coati_processes *ps, const struct limits *limits,
			   uint64_t input_bytes);
/* How often the limit was in the way. */
uint64_t coati_processes_over(const struct coati_processes *ps, enum limit which);

/* A copy of @text (cut at @max bytes) that lives as long as the model, the same for the same text;
 * over the limit one that says so. NULL: out of memory. */
const char *coati_processes_name(struct coati_processes *ps, const char *text, size_t max);
/* LIVE: the name of a thread that has no records. -ENOMEM. */
int coati_processes_read_thread(struct coati_processes *ps, int32_t pid, int32_t tid);
/* LIVE: learn of @slot's process from /proc, once. A process that is gone is no error. */
int coati_processes_read(struct coati_processes *ps, struct pid_slot *slot);
/* What is seen at @time in the space of @slot and those below; free ret->v. In find.c. -ENOMEM. */
int coati_processes_view(struct coati_processes *ps, struct pid_slot *slot, uint64_t time,
			 struct range_list *ret);
/* Which image has the code without a file of that process: jit.c. -ENOMEM, -E2BIG. */
int coati_pid_jit(struct coati_processes *ps, struct pid_slot *slot, uint32_t *ret_image,
		  bool *ret_is_jit);
/* It has a jitdump file at @path (which lives as long as the model). */
void coati_pid_jitdump(struct coati_processes *ps, struct pid_slot *slot, const char *path);
/* It has more memory with code: LIVE, there may be a perf map by now. */
void coati_pid_anon(struct coati_processes *ps, struct pid_slot *slot);
/* Kernel records: kernel.c. */
int coati_kernel_map(struct coati_processes *ps, const struct coati_mmap *m, uint64_t time);
int coati_kernel_image(struct coati_processes *ps, uint32_t *ret);
int coati_kernel_symbol(struct coati_processes *ps, const struct coati_ksymbol *k, uint64_t time);
