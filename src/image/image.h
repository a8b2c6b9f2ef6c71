/* SPDX-License-Identifier: MIT */
/*
 * The inside of the image stage: all images, one image, and what each file of the directory does
 * for them.
 *
 * images.c keeps the list. load.c opens the file of an image when it is first needed (open.c finds
 * it, debug-file.c its debug file) and fills in symbols and FDE ranges; resolve.c answers. During
 * coati_images_resolve() each image belongs to one thread: everything an answer needs is allocated
 * from the image's own arena, and what several images share (struct coati_images) is only read, or
 * behind its lock.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/image.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "image/copy.h"
#include "image/demangle.h"
#include "image/fde.h"
#include "image/kernel.h"
#include "image/plt.h"
#include "image/symbols.h"
#include "image/symbols-near.h"
#include "image/versions.h"

uint32_t coati_images_count(const struct coati_images *images);

/* Offset in the file, of an instruction, to the address that the file's tables use, by its program
 * headers. Not for the offset at which a mapping begins, which may lie in another segment: see
 * coati_image_bias(). Opens the file. -ENOENT when nothing is mapped from there or the file cannot
 * be read (then the offset itself is used everywhere, and names are synthetic). */
int coati_image_vaddr(struct coati_images *images, uint32_t image, uint64_t file_offset,
		      uint64_t *ret_vaddr);

/* A mapping of a file, as /proc/PID/maps has it. */
struct coati_image_mapping {
	uint64_t start, end;
	uint64_t file_offset;
};

/* What to subtract from addresses in a mapping of code to get those of the file, by the segment
 * that is mapped there; the same for the whole mapping. -ENOENT: no segment of the file is there,
 * or the file cannot be read; -EINVAL. *ret_bias only on success. */
int coati_image_bias(struct coati_images *images, uint32_t image,
		     const struct coati_image_mapping *map, uint64_t *ret_bias);

/* A descriptor of the very file, after the checks; the caller closes it. Negative errno. */
int coati_image_open_fd(struct coati_images *images, uint32_t image, struct coati_error *err);

/* A symbol from a record: KSYMBOL (KERNEL, BPF), or a JIT's own report. */
struct image_symbol {
	uint64_t start, length;
	const char *name;
	uint64_t time; /* 0: from the start; a later one at the same place replaces it */
};

int coati_image_add_symbol(struct coati_images *images, uint32_t image,
			   const struct image_symbol *s);

/* Read the perf map (/tmp/perf-PID.map as the process sees it) or the jitdump file @path into a JIT
 * image. Refused unless it is a regular file, no link, owned by the process' user or root, below
 * the ceiling; the reason is in @err and counted. */
int coati_image_load_perf_map(struct coati_images *images, uint32_t image, int32_t pid,
			      const char *path, struct coati_error *err);

int coati_image_load_jitdump(struct coati_images *images, uint32_t image, int32_t pid,
			     const char *path, struct coati_error *err);

#define IMAGES_MAX	  (UINT32_C(1) << 20)
#define IMAGE_ARENA_MAX	  ((size_t)1 << 30)
#define IMAGE_ANSWERS_MAX ((size_t)1 << 24)
#define IMAGE_PATH_MAX	  4096
#define IMAGES_OTHER_FDS  256		      /* open files of the rest of the process */
#define IMAGE_INLINES_MAX (UINT64_C(1) << 21) /* of all packed addresses: two bytes become 72 */

/* The names of one address. */
struct answer {
	const struct coati_name *names;
	uint32_t nr;
	uint32_t asked; /* COATI_RESOLVE_* that were tried for it */
	bool packed;	/* came with the recording */
};

struct code_section {
	uint64_t start, end;
	const char *name;
};

/* Where names of code without a file come from, the best first. */
enum image_jit {
	IMAGE_JIT_DUMP = 0, /* a jitdump file */
	IMAGE_JIT_TOLD,	    /* records */
	IMAGE_JIT_MAP,	    /* a perf map */
	IMAGE_JITS,
};

#define IMAGE_SEGMENTS_MAX 16u
struct image_segment {
	uint64_t offset, size, vaddr;
};

struct coati_image {
	struct coati_images *all;
	enum coati_image_kind kind;
	uint32_t build_id_size;
	uint8_t build_id[COATI_BUILD_ID_MAX];
	int32_t pid;
	uint32_t maj, min;
	uint64_t map_start, map_end, ino, ino_generation;
	const char *path, *name;
	/* the first file with the same build ID under another path, whose names are ours, too;
	 * NULL */
	struct coati_image *same;
	const char *opened, *debug, *why; /* see struct coati_image_info */
	bool looked;			  /* for the file */
	bool loaded;			  /* its functions are indexed */
	bool is_part;			  /* those near the addresses that were asked for */
	bool packed;			  /* names came with the recording */
	bool kernel_fits;		  /* all->kernel is that of the recording */
	uint64_t kernel_shift;		  /* how far it was from where it is now */
	bool looked_for_debug;
	bool has_plt; /* plt is filled in */

	struct arena arena; /* names, strings and answers of this image */
	struct map answers; /* vaddr to struct answer */
	/* answers of code that is replaced: with the recording, by us */
	struct versions told, made;
	struct map functions;	    /* start to struct coati_name, for answers without lines */
	struct map texts, readable; /* of DWARF: kept once, and what is made of them */

	struct jit *jits[IMAGE_JITS]; /* NULL: no such source */

	int held_fd;	    /* the file, open since it was mapped (hold.h); -1: not held */
	uint8_t hold_tries; /* failed attempts to hold it */
	bool hold_refused;  /* because of the limit; counted */
	struct copy file, debug_file, mini; /* mini: what .gnu_debugdata holds */
	struct symbols symbols;
	/* the addresses for which the symbols are complete; none: for all */
	struct symbols_near near;
	struct fdes fdes;
	struct plt plt; /* when an address in it was asked for */
	struct demangler demangler;
	struct code_section *sections; /* executable ones, by address */
	uint32_t nr_sections;
	/* with code, as they came with the recording or were read from the file: where the file
	 * is not open, they tell its layout */
	struct image_segment segments[IMAGE_SEGMENTS_MAX];
	uint32_t nr_segments;
};

/* Its segments with code: of the file, or as they came with the recording. */
uint32_t coati_image_segments(const struct coati_image *im,
			      struct image_segment ret[IMAGE_SEGMENTS_MAX]);

struct coati_images {
	uint32_t flags, nr_threads;
	const char *root, *debug_dirs, *cache_dir, *kallsyms, *procfs;
	uint64_t cache_bytes;
	struct arena arena;
	ARRAY(struct coati_image *) v;
	uint64_t most, over;	 /* images, and those that were refused */
	struct map by_key;	 /* text that tells images apart, to their number */
	uint64_t packed_inlines; /* inlined functions that came with recordings, of all addresses */
	uint32_t hold_limit, nr_held; /* files that are kept open (hold.h) */
	uint64_t give_back_bytes;     /* of a file that was read for names; 0: they are kept */
	bool hold_limit_known;
	uint64_t nr_over_limit;
	pthread_mutex_t lock; /* over the first reading of what follows */
	struct kernel kernel; /* for all images of the kernel and its modules */
};

/* At least so many images may be asked for. */
void coati_images_allow(struct coati_images *images, uint64_t most);
/* How often there were more. */
uint64_t coati_images_over(const struct coati_images *images);
/* NULL: no such image. */
struct coati_image *coati_image_at(const struct coati_images *images, uint32_t image);
/* As coati_images_give_back() of hold.h, for one of them. */
uint64_t coati_image_give_back(struct coati_image *im, uint64_t least_bytes);
/* A sentence for coati_image_info.why; the first one stays. */
void coati_image_blame(struct coati_image *im, const char *fmt, ...) COATI_PRINTF(2, 3);
/* Find and open the file, once: for those who want no names. Fails as coati_image_load() does. */
int coati_image_open_file(struct coati_image *im);
/* The same, and index its functions. Only -ENOMEM fails: `why` reports everything else. */
int coati_image_load(struct coati_image *im);
/* The same for @near alone, which it takes over: of large symbol tables only what is near them is
 * kept. Other addresses may be asked for later: then all of it is read. */
int coati_image_load_near(struct coati_image *im, struct symbols_near *near);
/* The last symbol that begins at or before @vaddr, NULL: none. May read the whole table: symbols
 * that were given out before are not there any more. */
const struct symbol *coati_image_symbol_before(struct coati_image *im, uint64_t vaddr);

/* Read the kernel's symbols if that was not done yet, and see whether they are those of the
 * recording. Fails as coati_image_load() does. */
int coati_image_load_kernel(struct coati_image *im);
/* All of the kernel's symbols, in place of those that were read for some addresses. -ENOMEM. */
int coati_images_read_kernel(struct coati_images *all);
/* The function of the kernel or of the module at @addr. */
int coati_image_kernel_function(struct coati_image *im, uint64_t addr,
				const struct coati_name **ret);
/* The untrusted @symbol as a name of this image, safe to print; demangled unless that is switched
 * off. NULL: out of memory. */
const char *coati_image_readable(struct coati_image *im, const char *symbol);
/* In place: what a terminal would obey becomes a question mark. */
void coati_make_printable(char *text);

/* Put an answer in place of what is there. The names must live in the image's arena (or as long).
 * -ENOMEM. */
int coati_image_put_answer(struct coati_image *im, uint64_t vaddr, const struct answer *a);
/* The one function that covers @vaddr, by symbol or by FDE; never fails but for -ENOMEM. */
int coati_image_function(struct coati_image *im, uint64_t vaddr, const struct coati_name **ret);
/* NULL: not asked yet. */
const struct answer *coati_image_get_answer(const struct coati_image *im, uint64_t vaddr);

/* The function of a JIT, or one from a record, at @addr and @time (0: at the end); NULL when there
 * is none. *ret_since: from when that is the answer, 0: since ever. -ENOMEM alone fails. */
int coati_image_jit_function(struct coati_image *im, uint64_t addr, uint64_t time,
			     const struct coati_name **ret, uint64_t *ret_since);
/* Since when is the code at @addr what it is at @time? *from and *last are moved to the time in
 * which no answer of the image for that address changes. */
uint64_t coati_image_code_since(struct coati_image *im, uint64_t addr, uint64_t time,
				uint64_t *from, uint64_t *last);
/* Is code of that kind replaced while it runs? Its names are kept by time. */
static inline bool is_changing_code(enum coati_image_kind kind)
{
	return kind == COATI_IMAGE_JIT || kind == COATI_IMAGE_ANON || kind == COATI_IMAGE_BPF;
}
void coati_image_jit_fini(struct coati_image *im);
