/* SPDX-License-Identifier: MIT */
/* What a view is made of: frames with names, and which stacks and entries are in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "reading/parts.h"
#include "reading/profile.h"

#define VIEW_NONE UINT32_MAX

/* Inlined functions multiply frames: so many are kept for so many bytes that the profile may
 * take. */
#define VIEW_INLINE_BYTES 2048 /* of all locations: 2^21 with 4 GiB */
#define VIEW_FRAME_BYTES  64   /* of all stacks, besides those as linked: 2^26 */

/* A stack as the view shows it. */
struct view_stack {
	uint32_t *frames; /* innermost first */
	uint32_t nr;
	bool is_in;
	bool is_on;		/* an entry of the view with this stack is time on a CPU */
	bool waits;		/* as the condition wants, when it is time off the CPUs */
	uint64_t weight, count; /* of its entries in the view */
};

/* Whether something of it is in the view. The rest of an interval that an earlier part of a
 * recording began has time, and counts there. */
static inline bool view_stack_counts(const struct view_stack *s)
{
	return s->is_in && (s->count || s->weight);
}

/* What the frames are when a table or a tree asks for functions, lines ...: a number for each
 * frame. */
struct keys {
	uint32_t *of_frame;
	uint32_t *frame; /* one frame of each key */
	uint32_t *flags; /* COATI_NAME_* that all frames of the key have */
	uint32_t nr;
	bool is_made;
};

struct coati_view {
	struct coati_profile *profile;
	uint32_t flags;
	/* code without a symbol is split into ranges as long as this; 0: it is not */
	uint64_t nameless_bytes;
	struct conditions conditions;
	ARRAY(struct coati_view_frame) frames;
	uint32_t *first_frame; /* by location, and one more */
	size_t nr_inlines;     /* frames of inlined functions, of all locations */
	size_t nr_expanded;    /* the same of all stacks */
	bool has_times;	       /* there are samples of time on CPUs and off them */
	uint64_t nr_faults;    /* samples of page faults that are left out for those */
	uint64_t nr_twice; /* samples of live events that are left out for those of the kernel */
	/* locations and stacks that are shown as linked, because there are too many */
	size_t nr_plain;
	uint32_t nr_functions;
	uint32_t *function_frame;  /* one frame of each function */
	struct view_stack *stacks; /* by stack of the profile */
	uint32_t cut_location; /* of the root of stacks that are cut; VIEW_NONE: there are none */
	bool *entry_is_in;
	struct coati_view_info info;
	bool counts; /* weight is the number of samples */
	struct keys keys[COATI_BY_COUNT];
	ARRAY(void *) owned; /* answers that live as long as the view */
	struct arena arena;
	const char **process_names; /* by thread; NULL: not asked for */
};

/* The weight of an entry in this view. */
static inline uint64_t view_weight(const struct coati_view *v, const struct coati_profile_entry *e)
{
	return v->counts ? e->count : e->weight;
}

/* Memory that lives as long as the view; NULL: out of memory. */
void *coati_view_own(struct coati_view *v, size_t count, size_t size);
/* Frames for all locations, whose names must be known. 0 or -ENOMEM. */
int coati_view_make_frames(struct coati_view *v);
/* Keys for a kind of frames: FUNCTION, LINE, ADDRESS, IMAGE; else -EINVAL. */
int coati_view_keys(struct coati_view *v, enum coati_by by, const struct keys **ret);
/* The name of a row or node of that kind that has this frame. NULL: out of memory. */
const char *coati_view_key_name(struct coati_view *v, enum coati_by by, uint32_t frame);
/* The path of a frame's file as it was mapped, NULL: its code is in no file. */
const char *coati_view_image_path(const struct coati_view *v, uint32_t frame);
/* Names of processes, by thread of the profile: a process has the one that it had last, whenever
 * its samples were taken, so that it is one row. Made once; NULL: out of memory. */
const char *const *coati_view_process_names(struct coati_view *v);
/* What an entry waits for: "futex", "read" ...; "running" when it is none of time off the CPU.
 * Lives for ever. */
const char *coati_view_wait(const struct coati_view *v, const struct coati_profile_entry *e);
/* Is @name what @pattern says, as a whole or as a glob? */
bool coati_view_same_name(const char *pattern, const char *name);
/* Which functions are meant by @pattern (NULL: all, and *ret is NULL): a flag for each. */
int coati_view_functions(struct coati_view *v, const char *pattern, bool **ret);
/* Which stacks stay, and which of their frames: the conditions of @f about frames. Fills
 * v->stacks[].frames, nr and is_in for those whose is_in is set. -EINVAL with a sentence for a
 * pattern that cannot be understood. */
int coati_view_select(struct coati_view *v, const struct coati_filter *f, struct coati_error *err);
