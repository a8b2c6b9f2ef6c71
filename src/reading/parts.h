/* SPDX-License-Identifier: MIT */
/* The parts of a profile, numbered from 0: threads, labels, locations, stacks and weights. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/image.h>
#include <coati/process.h>
#include <coati/profile.h>
#include <coati/unwind.h>

struct coati_label {
	const char *key, *value;
};

struct coati_label_list {
	const struct coati_label *v;
	uint32_t nr;
};

/* The share of what was counted that has samples, 0 to 1; negative when it is not known. */
double coati_profile_sampled(const struct coati_profile_quality *q);
/* What shares of stacks are of: samples of events that take stacks. Others, such as the page
 * faults of a trace, have none by choice. All samples when no event takes any. */
uint64_t coati_profile_with_stacks(const struct coati_profile_quality *q);

/* What the profile stands on. */
struct coati_images *coati_profile_images(const struct coati_profile *p);

/* Names for all locations, with COATI_RESOLVE_*. */
int coati_profile_resolve(struct coati_profile *p, uint32_t how, struct coati_error *err);
/* PLACES: some of the locations are defined by live events that were not decoded; read the
 * recording without PLACES to have them all. */
bool coati_profile_lacks_places(const struct coati_profile *p);

struct coati_unwinder *coati_profile_unwinder(const struct coati_profile *p);

/* Of the file that was read as number @file; NULL past the end. */
struct coati_processes *coati_profile_processes(const struct coati_profile *p, uint32_t file);

/* What a file says of itself. Strings are "" and numbers 0 where it does not say. */
struct coati_profile_file {
	const char *path; /* as it was given */
	const char *hostname, *os_release, *arch;
	const char *command;	    /* line of the recorder, its words with blanks between */
	uint64_t wall_ns, clock_ns; /* the same instant since 1970 and on the recording's clock */
};

/* NULL past the end. */
const struct coati_profile_file *coati_profile_file(const struct coati_profile *p, uint32_t file);

uint32_t coati_profile_event_count(const struct coati_profile *p);

/* A thread under one name: a thread that changes its name (exec) is two. */
struct coati_profile_thread {
	uint32_t file;		  /* which of the files read */
	uint32_t process, thread; /* as in coati_thread_info */
	int32_t pid, tid, ppid;
	const char *comm, *process_comm;
};

uint32_t coati_profile_thread_count(const struct coati_profile *p);

const struct coati_profile_thread *coati_profile_thread(const struct coati_profile *p, uint32_t i);

/* A set of labels, sorted by key. Set 0 is empty. NULL past the end. */
const struct coati_label *coati_profile_labels(const struct coati_profile *p, uint32_t set,
					       uint32_t *ret_nr);

/* The keys that labels may be asked for by (COATI_BY_LABEL, a filter's label), each once: those of
 * the recordings, then process_id, process_name, thread_id, thread_name and service, which follow
 * from the thread and its cgroup unless a recording has labels of that name. NULL past the end. */
const char *coati_profile_label_key(const struct coati_profile *p, uint32_t i);

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

uint32_t coati_profile_location_count(const struct coati_profile *p);

const struct coati_profile_location *coati_profile_location(const struct coati_profile *p,
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

uint32_t coati_profile_stack_count(const struct coati_profile *p);

int coati_profile_stack(const struct coati_profile *p, uint32_t i, struct coati_profile_stack *ret);

/* Weight. */
struct coati_profile_entry {
	uint32_t stack, thread, event, labels;
	int32_t cpu;  /* -1: not kept apart (PER_CPU), or not said */
	uint32_t bin; /* time since the first sample of its file / bin_ns, 0 without bins */
	uint64_t count, weight;
};

uint32_t coati_profile_entry_count(const struct coati_profile *p);

const struct coati_profile_entry *coati_profile_entry(const struct coati_profile *p, uint32_t i);
