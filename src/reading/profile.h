/* SPDX-License-Identifier: MIT */
/*
 * What a profile is made of: numbered tables (events, threads, label sets, locations, stacks,
 * entries), each with an index that finds what is there already. Records become numbers once; after
 * that only numbers are compared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <coati/profile.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/limits.h"
#include "process/service.h"
#include "reading/condition.h"
#include "reading/hooks.h"
#include "reading/index.h"
#include "reading/parts.h"
#include "reading/series.h"

#define PROFILE_FILES_MAX  65536
#define PROFILE_NOTES_MAX  256
#define PROFILE_TABLE_MAX  ((size_t)1 << 28)
#define PROFILE_LABELS_MAX 64 /* of one set */
#define PROFILE_KEYS_MAX   4096

struct label_set {
	const struct coati_label *labels;
	uint32_t nr;
};

/* Stacks that do not reach their root, or perhaps not. */
#define PROFILE_STACK_CUT (COATI_STACK_TRUNCATED | COATI_STACK_GAP | COATI_STACK_CONTINUED)

/* A location and what only we need to know of it. */
struct location {
	struct coati_profile_location pub;
	uint64_t time; /* for code that changes: when it was seen, else 0 */
	/* for code that changes: from when it is this code. Part of its identity, 0: since ever */
	uint64_t since;
	bool has_offset; /* file_offset says where in the file it lies */
	uint64_t file_offset;
};

/* Stacks that are not complete, by the account of the recorders that unwound them: which they are
 * is not in their chains. */
struct told_stacks {
	uint64_t truncated, gap, guessed;
	/* an account is of other samples than those that are here: it says nothing about these */
	bool is_other;
};

struct profile_file {
	struct coati_profile_file pub;
	struct coati_processes *processes;
	/* of time on CPUs, by the kernel: those of programs are the same time once more */
	bool has_samples;
};

struct coati_profile {
	uint32_t flags, max_frames, max_bins;
	uint64_t bin_ns, max_bytes;
	struct limits limits;
	bool is_fixed;	      /* max_bytes is the caller's */
	uint64_t input_bytes; /* of the files that were read */
	uint64_t over;	      /* times that max_bytes was in the way */
	struct coati_processes_opts processes_opts;
	coati_sample_fn on_sample;
	coati_loss_fn on_loss;
	coati_item_fn on_item;
	coati_items_fn on_items;
	const struct coati_context_source *contexts; /* or NULL */
	void *ctx;				     /* of the four above */
	void (*free_contexts)(void *ctx);	     /* or NULL: they are the caller's */
	struct conditions conditions;
	struct coati_images *images, *own_images; /* own: NULL when they are the caller's */
	struct coati_unwinder *unwinder;
	ARRAY(struct profile_file) files;
	ARRAY(struct coati_profile_event) events;
	ARRAY(struct coati_profile_thread) threads;
	ARRAY(struct label_set) label_sets;
	ARRAY(const char *) label_keys; /* of all sets, each once */
	ARRAY(struct location) locations;
	ARRAY(struct coati_profile_stack) stacks;
	ARRAY(struct coati_profile_entry) entries;
	ARRAY(struct series_item) series; /* SERIES: in the order in which they were read */
	ARRAY(struct series_tail) tails;  /* the same, by entry */
	ARRAY(char *) notes;
	ARRAY(uint8_t) waits; /* by stack: enum coati_wait; RUNNING: not asked yet */
	struct index thread_index, label_index, location_index, stack_index, entry_index;
	struct arena arena;    /* frames of stacks, strings of events and labels */
	size_t resolved;       /* locations whose names are known */
	uint32_t resolved_how; /* COATI_RESOLVE_* with which they were asked for */
	struct coati_profile_quality quality;
	struct told_stacks told;
	struct coati_context_account live; /* of all files */
	bool no_coverage; /* a file does not say how much of the CPU time has samples */
	bool has_off_cpu; /* a file records context switches, whether or not one was chosen */
	struct service_rules rules; /* of agents whose recordings these are */
	bool lacks_places;	    /* PLACES: of live events some are not there */
};

/* A number out of the recorder's lines key=value; 0 when it is not there. */
uint64_t coati_reading_recorder_value(const struct coati_recording *rec, const char *key);
/* With the walker in the kernel a ring loses a report of a stack with each sample, so that LOST
 * records have twice as many. Then the events' own counts, LOST_SAMPLES, are right: true if the
 * recorder has written them all. */
bool coati_reading_counts_lost(const struct coati_recording *rec);
/* How many records were lost; reports of the walker are none. */
uint64_t coati_reading_lost(const struct coati_recording *rec,
			    const struct coati_recording_stats *st);
/* Is it the event of stacks with which threads leave a CPU? */
bool coati_profile_is_off(const struct coati_recording_event *e);

/* Sums stop at the largest number: a file may hold any weights. */
static inline void add_weight(uint64_t *sum, uint64_t weight)
{
	if (__builtin_add_overflow(*sum, weight, sum))
		*sum = UINT64_MAX;
}

/* Each finds or adds: 0 and the number, -ENOMEM, -E2BIG over a ceiling. */
int coati_profile_find_event(struct coati_profile *p, const struct coati_recording_event *e,
			     uint32_t *ret);
int coati_profile_find_thread(struct coati_profile *p, const struct coati_profile_thread *t,
			      uint32_t *ret);
/* @labels need not be sorted; a key that occurs twice counts with its last value. */
int coati_profile_find_labels(struct coati_profile *p, const struct coati_label *labels,
			      uint32_t nr, uint32_t *ret);
int coati_profile_find_location(struct coati_profile *p, const struct location *l, uint32_t *ret);
/* @locations, @nr, @flags of @s; they are copied. */
int coati_profile_find_stack(struct coati_profile *p, const struct coati_profile_stack *s,
			     uint32_t *ret);
/* By all but count and weight, which are added to what is there. */
int coati_profile_find_entry(struct coati_profile *p, const struct coati_profile_entry *e,
			     uint32_t *ret);
/* Bins become twice as long, and entries that are now in one bin become one. */
void coati_profile_join_bins(struct coati_profile *p);
/* Are bins kept in the series, and not in entries? */
static inline bool profile_has_series(const struct coati_profile *p)
{
	return p->flags & COATI_PROFILE_SERIES;
}

/* Whether two entries are the same but for their weight (SERIES: and their bin).  Hot. */
static inline bool coati_profile_same_entry(const struct coati_profile *p,
					    const struct coati_profile_entry *a,
					    const struct coati_profile_entry *b)
{
	/* field by field: @b was written so just now, and a wider load would wait for the stores */
	return a->stack == b->stack && a->thread == b->thread && a->event == b->event &&
	       a->labels == b->labels && a->cpu == b->cpu &&
	       (a->bin == b->bin || profile_has_series(p));
}
/* Count and weight of @e to an entry that is the same. -ENOMEM, -E2BIG.  Hot. */
static inline int profile_add_to_entry(struct coati_profile *p, uint32_t number,
				       const struct coati_profile_entry *e)
{
	struct coati_profile_entry *to = &p->entries.v[number];
	int r = profile_has_series(p) ? coati_series_add(p, number, e) : 0;

	if (r < 0)
		return r;
	add_weight(&to->count, e->count);
	add_weight(&to->weight, e->weight);
	return 0;
}

/* The limit on bytes for who has read so many more than those of whole files. */
void coati_profile_allow(struct coati_profile *p, uint64_t more);
/* Limits of what is made of it, a tree or an event list: by the size of the files, or as the
 * environment says. */
uint64_t coati_profile_limit(const struct coati_profile *p, enum limit which);
/* Bytes that the tables take. */
uint64_t coati_profile_bytes(const struct coati_profile *p);
/* A sentence for the person; at most PROFILE_NOTES_MAX are kept. */
void coati_profile_add_note(struct coati_profile *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Is the outermost function, of user space, one in which programs and threads begin? By its name.
 * Then nothing is missing, however the walk ended. */
bool coati_profile_ends_in_root(const struct coati_profile *p, const struct coati_profile_stack *s);
/* Does the stack begin where threads, programs or the kernel begin? By its names: not before they
 * are known. */
bool coati_profile_has_root(const struct coati_profile *p, const struct coati_profile_stack *s);
/* Samples of live events that are of the same time as those of the kernel; and a note that so many
 * are left out. */
bool coati_profile_is_twice(const struct coati_profile *p, uint32_t event, uint32_t thread);
void coati_profile_note_twice(struct coati_profile *p, uint64_t nr);
