/* SPDX-License-Identifier: MIT */
/*
 * Stacks with numbers: what heap, mutex and block profiles are made of. In: the stack of the
 * caller, with the labels of its thread, and what is to be added to its numbers. Out: all of them
 * as they are at one instant.
 *
 * All memory is mapped at the start and has a ceiling; nothing here calls malloc(), so that an
 * allocator may use it. What stacks are over the ceiling are summed up in stack 0, which has no
 * frames: sums stay right. Stacks never move and never go: words that were written once may be read
 * without the lock.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/live.h>
#include <coati/sampler.h>

#include "base/strbuf.h"

#define STORE_VALUES	4u
#define STORE_STACKS	32768u
#define STORE_DEPTH	128u
#define STORE_LABELS	((sizeof(struct coati_labels) + 7) / 8)
#define STORE_BYTES_MAX ((size_t)1 << 30) /* of a profile */

/* The stack of who asks, with its labels behind the frames. */
struct store_trace {
	uint32_t nr_frames, len; /* words: frames, all */
	bool cut;
	uint64_t words[STORE_DEPTH + STORE_LABELS];
};

/* Whose stack. */
struct store_caller {
	/* __builtin_frame_address(0) of a function that has not returned: its caller comes
	 * first, */
	const void *frame;
	uint32_t skip; /* or who is so many frames further out */
};

struct store_stack {
	uint32_t next; /* with the same hash, 0 at the end */
	uint32_t nr_frames, len;
	uint32_t hash;
	uint64_t words[];
};

struct store {
	_Atomic bool by_tables;
	pthread_mutex_t lock; /* of all that follows, but the words of stacks */
	struct store_memory *memory;
	uint32_t nr;
	uint64_t used;		     /* words */
	uint64_t over;		     /* added to stack 0: too many stacks */
	uint64_t cut;		     /* stacks that go on where they could not be followed */
	double totals[STORE_VALUES]; /* of all stacks */
};

/* Once; a second call does nothing. */
int coati_store_open(struct store *s, struct coati_error *err);
/* For one that nothing was added to. */
void coati_store_close(struct store *s);
/* How stacks are followed from now on. Makes the tables. */
int coati_store_prepare(struct store *s, const char *who, enum coati_sampler_stacks stacks,
			uint64_t max_table_bytes, struct coati_error *err);
/* A stack as this store wants it. Allocates nothing and takes no lock. */
void coati_store_trace(const struct store *s, const struct store_caller *caller,
		       struct store_trace *ret);
/* Add to the numbers of a stack; returns which one. The caller has the lock. */
uint32_t coati_store_add(struct store *s, const struct store_trace *t, const double *values);
/* The same for one that is known. */
void coati_store_change(struct store *s, uint32_t stack, const double *values);

/* The sums over all stacks, as they are shown. */
void coati_store_totals(struct store *s, void (*show)(double *values), uint64_t *ret);

/* The numbers at one instant. */
struct store_snapshot {
	double (*values)[STORE_VALUES];
	uint32_t nr;
	size_t bytes;
	uint64_t over, cut;
	uint64_t wall_ns, time_ns;
};

int coati_store_snapshot(struct store *s, struct store_snapshot *ret);
void coati_store_snapshot_free(struct store_snapshot *s);

/* The words of a stack that a snapshot has: frames, then labels. */
const struct store_stack *coati_store_stack(const struct store *s, uint32_t stack);

/* How a profile is written. */
struct store_form {
	const char *name;
	struct store *store;
	/* type, unit; up to the first that has none. In line: an address is a relocation */
	char types[STORE_VALUES][2][14];
	const char *default_type;
	const char *period_type, *period_unit;
	uint64_t (*period)(void);
	/* What is stored becomes what is shown. NULL: it is. */
	void (*show)(double *values);
	/* Further comments, one for each line of @ret. */
	void (*comment)(struct strbuf *ret);
	/* The lines of the text form. */
	void (*head)(const uint64_t *sums, struct strbuf *ret);
	void (*line)(const uint64_t *values, struct strbuf *ret);
	uint32_t bytes_of[2]; /* values that are objects and bytes, for Go's label; both 0: none */
};

#define STORE_NAMES (1u << 0)
#define STORE_TEXT  (1u << 1)

/* The difference of two instants (@from may be NULL: since the start), as pprof or as text, behind
 * @ret. */
int coati_store_write(const struct store_form *form, const struct store_snapshot *from,
		      const struct store_snapshot *to, uint32_t flags, struct strbuf *ret);
/* What all public write functions do: as it is now, to a descriptor. */
int coati_store_write_fd(const struct store_form *form, int fd, uint32_t flags,
			 struct coati_error *err);
/* And what all pages do: as it is now, or with seconds= what came meanwhile. */
struct page_job;
void coati_store_make_page(const struct store_form *form, struct page_job *job);
