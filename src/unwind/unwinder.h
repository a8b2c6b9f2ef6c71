/* SPDX-License-Identifier: MIT */
/*
 * The inside of the unwind stage: the tables of all images that were met. load.c makes a table,
 * cache.c keeps it on disk, full.c follows the unwind data itself where a compact rule cannot say
 * it, unwind.c walks.
 *
 * Memory: tables are given up by age when all of them are larger than the ceiling, never one that
 * the walk at hand has met: it holds pointers into them. A table that comes back gets a new serial
 * number, so that cached rules of the old one do not match.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/unwind.h>

#include "base/array.h"
#include "image/copy.h"
#include "unwind/table/build.h"
#include "unwind/table/gather.h"
#include "unwind/table/walk.h"

const char *coati_unwind_end_name(enum coati_unwind_end end);

/* Make the table of @image now rather than at the first frame in it. 0; negative errno and a
 * sentence when it has none. */
int coati_unwinder_prepare(struct coati_unwinder *u, uint32_t image, struct coati_error *err);

struct coati_unwinder_stats {
	uint64_t walks, frames;
	uint64_t ends[8]; /* by enum coati_unwind_end */
	uint64_t guesses;
	uint64_t tables, table_rows, table_bytes, table_build_ns;
	uint64_t from_cache, without_table;
};

void coati_unwinder_get_stats(const struct coati_unwinder *u, struct coati_unwinder_stats *ret);

#define UNWIND_MAX_BYTES (UINT64_C(256) << 20)

/* What the full evaluator needs of one image. */
struct unwind_cfi {
	struct copy file;
	struct table_input in;
	struct gathered g;
	/* a .debug_frame that is compressed in the file, or made of Go's table; or NULL */
	uint8_t *inflated;
	size_t inflated_size;
	bool is_partial; /* it is compressed, and could not be inflated */
	bool is_vdso;	 /* the bytes are those of our own process */
};

struct unwind_image {
	bool is_tried; /* the table is there, or there is none */
	void *bytes;   /* NULL: no table */
	size_t size;
	struct table table;
	uint32_t serial;
	uint64_t used;		/* number of the last walk that met it */
	struct unwind_cfi *cfi; /* NULL: not needed yet */
	bool is_cfi_tried;
	uint64_t cfi_bytes;
};

struct coati_unwinder {
	struct coati_images *images;
	uint32_t flags;
	char *cache_dir;		/* NULL: no cache on disk */
	uint64_t max_bytes, bytes;	/* of tables and unwind data in memory */
	ARRAY(struct unwind_image *) v; /* by image */
	uint32_t serial;
	uint64_t walk; /* number of the walk at hand */
	struct walk_cache *cache;
	struct coati_unwinder_stats stats;
};

/* The image's entry, made when it is new; NULL: out of memory. */
struct unwind_image *coati_unwinder_image(struct coati_unwinder *u, uint32_t image);
/* Make or load the table; 0 when it is there. */
int coati_unwinder_load(struct coati_unwinder *u, uint32_t image, struct unwind_image *ui,
			struct coati_error *err);
/* Free what is in memory of it. It is loaded again when it is needed. */
void coati_unwinder_give_back(struct coati_unwinder *u, struct unwind_image *ui);
/* The unwind data itself, sorted, for the evaluator and for guesses; NULL when there is none. */
struct unwind_cfi *coati_unwinder_cfi(struct coati_unwinder *u, uint32_t image,
				      struct unwind_image *ui);
void coati_unwind_cfi_free(struct unwind_cfi **cfi);

/* Open the file of an image and find its unwind data in it. */
int coati_unwind_open(struct coati_unwinder *u, uint32_t image, struct unwind_cfi *ret,
		      struct coati_error *err);

/* ---- unwind.c ---- */

/* Return addresses that another unwinder found by frame pointers in the stack that @input is of:
 * how many of them, from the first on, can be return addresses. *ret_rooted: the last of these is
 * in a function where stacks begin, and nothing behind it is counted. */
uint32_t coati_unwind_check(struct coati_unwinder *u, const struct coati_unwind_input *input,
			    const uint64_t *pcs, uint32_t nr, bool *ret_rooted);

/* The walk by the unwind data itself: slow, without tables, and by guesses where there is none. For
 * who checks a walk by tables. As coati_unwind(). */
int coati_unwind_evaluate(struct coati_unwinder *u, const struct coati_unwind_input *input,
			  struct coati_unwind_frame *frames, uint32_t max_frames,
			  enum coati_unwind_end *ret_end);

/* ---- roots.c ---- */

/* Functions of a Go program, or of a static one with musl, in which a stack ends or goes on
 * elsewhere: into @in->marks. */
void coati_unwind_find_roots(struct copy *file, struct table_input *in);

/* ---- go-frames.c ---- */

/* Unwind data of a Go program that has lost it, as bytes of a .debug_frame in memory of
 * base/alloc.h. -ENOMEM, -E2BIG. */
struct go_table;
int coati_unwind_go_frames(const struct go_table *t, uint32_t machine, uint8_t **ret,
			   size_t *ret_size);

/* ---- cache.c ---- */

/* Directory of the cache, made when it is not there: $XDG_CACHE_HOME/coati/unwind or
 * ~/.cache/coati/unwind, or below @dir. NULL when there is none that is ours alone to write. */
char *coati_unwind_cache_dir(const char *dir);
/* The table with this build id: 0 and memory of base/alloc.h, or negative. What is there is not
 * trusted. */
int coati_unwind_cache_read(const char *dir, const uint8_t *build_id, uint32_t build_id_size,
			    void **ret_bytes, size_t *ret_size);
/* Keep a table, and at most @max_bytes of all of them; failures do no harm. */
void coati_unwind_cache_write(const char *dir, const void *bytes, size_t size, uint64_t max_bytes);

/* ---- full.c ---- */

/* Walk with all registers and all expressions. Returns the number of frames. */
int coati_unwind_full(struct coati_unwinder *u, const struct walk_input *wi,
		      struct coati_unwind_frame *frames, uint32_t max_frames,
		      enum coati_unwind_end *ret_end);
