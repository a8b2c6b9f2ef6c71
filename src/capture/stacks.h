/* SPDX-License-Identifier: MIT */
/*
 * Stacks at record time. In: samples with registers and a copy of the stack, and the side-band
 * records that tell what is mapped where. Out: the same samples with a call chain in place of both,
 * as if the kernel had walked the stack. The copy of the stack never leaves the ring.
 *
 * Records of several rings come in any order; what is mapped is remembered with its time, so it is
 * enough that the side-band records of all rings are fed before the samples that are older than
 * they.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>
#include <coati/record.h>
#include <coati/unwind.h>

#define STACKS_FRAMES	  512	/* when the size is not given */
#define STACKS_RECORD_MAX 65536 /* of any record */

struct stacks;
struct walks;

/* Which samples: those that were asked for, or of threads that leave a CPU. */
enum stacks_of { STACKS_OF_SAMPLES, STACKS_OF_SWITCHES, STACKS_OF_COUNT };

/* How the user part of the samples came out. */
struct stacks_counts {
	uint64_t ends[STACKS_OF_COUNT][COATI_UNWIND_END_COUNT];
	uint64_t pointers; /* of samples, continued by frame pointers: in no count of @ends */
	uint64_t guessed;  /* of those of samples, with at least one guessed frame */
	uint64_t none;	   /* kernel threads, and processes that are gone: there is no user stack */
	uint64_t dropped;  /* samples that could not be read or written again, and are gone */
	uint64_t tables, rows, build_ns; /* of unwind tables that were made or loaded */
};

/* @images: of the files that are mapped; the caller's, and they must outlive it. */
int coati_stacks_new(struct coati_images *images, const char *procfs, struct stacks **ret,
		     struct coati_error *err);
void coati_stacks_free(struct stacks **st);
/* Samples without a copy of their stack have been walked in the kernel. */
void coati_stacks_set_walks(struct stacks *st, struct walks *walks);
struct coati_unwinder *coati_stacks_unwinder(struct stacks *st);
/* The most bytes of unwind tables that are kept, besides those of the walk at hand. */
void coati_stacks_keep_tables(struct stacks *st, uint64_t max_bytes);

/* Does an event that was opened so carry what is to be unwound here? */
bool coati_stacks_wants(const struct coati_attr *opened);
/* The attributes that the recording tells of it: those of what is written. */
void coati_stacks_attr(struct coati_attr *attr);
/* Samples with @id are of an event opened with @opened, and are to be unwound. -ENOMEM. */
int coati_stacks_add(struct stacks *st, uint64_t id, const struct coati_attr *opened,
		     enum stacks_of of);

/* A record that is no sample, whole, of our own byte order. @identity: the format of its trailer.
 * -ENOMEM. */
int coati_stacks_feed(struct stacks *st, const uint8_t *record,
		      const struct coati_sample_format *identity);
/* A whole record into @out, which has room for STACKS_RECORD_MAX bytes: its new size, 0 when it was
 * dropped. Hot. */
size_t coati_stacks_rewrite(struct stacks *st, const uint8_t *record, uint8_t *out);
/* Nothing older than @time will be asked. */
void coati_stacks_forget(struct stacks *st, uint64_t time);
void coati_stacks_get_counts(const struct stacks *st, struct stacks_counts *ret);
