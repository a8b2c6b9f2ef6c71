/* SPDX-License-Identifier: MIT */
/*
 * What coati top knows: the samples of the last minutes, second by second, in bounded memory. In:
 * samples with the names of their stacks, threads and labels. Out: seconds, for rows.h and tree.h
 * to add up. It knows nothing of terminals, captures or files.
 *
 * Each second has entries: a stack, a thread and a set of labels with their weight. These are
 * numbers in tables that all seconds share. The oldest second goes when there are too many, or when
 * everything together takes more than the cap; what no second refers to any more leaves the tables
 * when they have doubled. Over the cap within one second, samples are refused and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/profile.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "reading/index.h"
#include "reading/parts.h"

#define TOP_NONE	UINT32_MAX
#define TOP_SECONDS_MAX 3600
#define TOP_TEXT_MAX	4096 /* bytes of a name; longer ones are cut */
#define TOP_SERVICE_KEY "service"

/* A function of an image; or the image alone, which separates rows. */
struct top_function {
	const char *name, *image;
	const char *path;  /* of the image; two of one name are two */
	uint32_t image_id; /* the same for the same path */
	uint32_t flags;	   /* TOP_FRAME_* */
};
#define TOP_FRAME_KERNEL (1u << 0)
#define TOP_FRAME_NO_ROW (1u << 1) /* [truncated]: the root of a stack, and no code */

struct top_image {
	const char *name, *path;
};

struct top_stack {
	const uint32_t *frames; /* functions, innermost first */
	uint32_t nr;
	uint8_t wait; /* enum coati_wait, of time off the CPUs */
	bool is_cut;  /* it does not reach its root */
};

struct top_thread {
	int32_t pid, tid;
	const char *comm, *process_comm;
};

struct top_labels {
	const struct coati_label *v;
	uint32_t nr;
};

struct top_entry {
	uint32_t stack, thread, labels;
	uint32_t is_off; /* 1: time off the CPUs */
	uint64_t weight, count;
};

/* Durations of a task type that lie between two bounds. */
struct top_latency {
	uint32_t type; /* number in types */
	uint32_t bucket;
	uint64_t count;
};

struct top_second {
	uint64_t number; /* since the clock's zero */
	ARRAY(struct top_entry) entries;
	struct index index;
	ARRAY(struct top_latency) latencies;
	uint64_t weight[2]; /* on, off the CPUs */
	uint64_t samples, cut, lost, throttled;
};

struct top_sample {
	uint64_t time_ns; /* of time off the CPUs: when it began */
	uint64_t weight;
	uint32_t stack, thread, labels;
	bool is_off; /* weight is ns, and is shared out among the seconds that it lies in */
	bool goes_on;
	/* samples that it stands for, all of them in the second of time_ns; 0: it is one */
	uint64_t count;
};

struct top_model {
	uint64_t max_bytes;
	uint32_t max_seconds;
	ARRAY(struct top_second) seconds; /* by number; some may be missing */
	ARRAY(struct top_function) functions;
	ARRAY(struct top_image) images;
	ARRAY(struct top_stack) stacks;
	ARRAY(struct top_thread) threads;
	ARRAY(struct top_labels) labels; /* 0 is empty */
	ARRAY(const char *) types;	 /* of tasks */
	ARRAY(struct top_sample) late;	 /* whose labels may become known: the feed's */
	struct index function_index, stack_index, thread_index, label_index;
	struct map strings, image_ids, type_ids;
	struct arena arena;
	uint64_t second_bytes;	/* of all seconds */
	uint64_t settled_bytes; /* of the tables, when they were last cleaned up */
	uint64_t refused;	/* samples that there was no room for */
	uint64_t dropped;	/* seconds that went because of the cap */
	uint64_t latest_ns;	/* of all samples */
};

int coati_top_model_init(struct top_model *m, uint64_t max_bytes, uint32_t max_seconds);
void coati_top_model_fini(struct top_model *m);

/* A frame as it comes. */
struct top_frame {
	const char *function, *image;
	const char *path; /* NULL: it has none but its name */
	uint32_t flags;
};
/* Each finds or adds, and copies: 0 and the number; -ENOMEM; -E2BIG over the cap. Numbers hold
 * until coati_top_model_trim(). */
int coati_top_model_function(struct top_model *m, const struct top_frame *frame, uint32_t *ret);
/* @frames are functions. */
int coati_top_model_stack(struct top_model *m, const struct top_stack *s, uint32_t *ret);
int coati_top_model_thread(struct top_model *m, const struct top_thread *t, uint32_t *ret);
int coati_top_model_labels(struct top_model *m, const struct coati_label *labels, uint32_t nr,
			   uint32_t *ret);

/* -ENOMEM; -E2BIG: no room, counted; -ERANGE: older than all that is kept. */
int coati_top_model_add(struct top_model *m, const struct top_sample *s);
/* The labels of a sample that was added became known. */
int coati_top_model_relabel(struct top_model *m, const struct top_sample *s, uint32_t labels);
/* A task of that type ended then. */
int coati_top_model_task(struct top_model *m, uint64_t time_ns, const char *type,
			 uint64_t duration_ns);
void coati_top_model_loss(struct top_model *m, uint64_t time_ns, uint64_t lost, uint64_t throttled);

/* Back under the limits: seconds that are too old at @now_ns, then the oldest, then what nothing
 * refers to. True: numbers have changed. */
bool coati_top_model_trim(struct top_model *m, uint64_t now_ns);
/* Bytes that it takes. */
uint64_t coati_top_model_bytes(const struct top_model *m);

/* The second with that number, or NULL. */
const struct top_second *coati_top_model_second(const struct top_model *m, uint64_t number);
/* The value that a set has for @key, or NULL. */
const char *coati_top_label(const struct top_labels *set, const char *key);
