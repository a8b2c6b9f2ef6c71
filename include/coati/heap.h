/* SPDX-License-Identifier: MIT */
/*
 * A heap profile inside the program, part of libcoati-live: who allocated what is in use now, and
 * what was allocated in all.
 *
 *	coati_heap_start(NULL, &err);
 *	...
 *	p = coati_heap_malloc(size);	or malloc(size) with <coati/heap-hook.h>
 *	...
 *	coati_heap_write(fd, COATI_HEAP_NAMES, &err);
 *
 * Of the bytes that are allocated one in 512 KiB on average is drawn by chance, and the block that
 * it lies in is a sample: its stack, the labels of its thread (<coati/live.h>) and its size are
 * kept, until it is freed. Each sample stands for as many blocks as its chance to be drawn says, so
 * that the numbers of the profile are estimates without bias, whatever the sizes: of 10,000 blocks
 * of 100 bytes in a profile of 1 MB about 2 are drawn, so small numbers are rough. Rate 1 takes
 * every block.
 *
 * The profile is what Go's is: alloc_objects, alloc_space, inuse_objects and inuse_space, read by
 * `go tool pprof`.
 *
 * Nothing is hooked by itself. What is to be seen is allocated by the functions below, or by the
 * usual names where <coati/heap-hook.h> is included (C) or <coati/heap-new.h> is in the program
 * (C++), or an allocator says by coati_heap_note_alloc() and coati_heap_note_free() what it does.
 * Blocks may be freed by whoever knows them; a sample whose block was freed behind our back stays
 * in use in the profile until its address is given out again.
 *
 * Stacks are followed by tables that coati_heap_start() makes from the unwind data of everything
 * that is loaded (<coati/sampler.h>), and through code that has none by frame pointers. What is
 * loaded later is found when the profile is written, while a CPU profile is taken, or by
 * coati_stacks_refresh(); until then it is followed by frame pointers.
 *
 * Cost: a block that is not drawn costs a subtraction, a block that is freed and is no sample one
 * byte that is looked at; no lock. A sample costs a stack walk and a lock. Before
 * coati_heap_start() there is no memory, afterwards some MiB of address space that are used as
 * samples come, with a ceiling: stacks over 32768 and samples in use over max_live are counted, and
 * the profile says so.
 *
 * A child after fork() goes on with the samples that it inherited.
 */
#ifndef COATI_HEAP_H
#define COATI_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/sampler.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coati_heap_opts {
	uint64_t size; /* of this struct, set by the caller */
	/* one sample for so many bytes on average; 1: every block; 0: 512 KiB */
	uint64_t rate_bytes;
	uint64_t seed;			  /* the same draws again, for tests; 0: by chance */
	uint32_t max_live;		  /* samples in use at most, up to 4194304; 0: 65536 */
	enum coati_sampler_stacks stacks; /* how they are followed, as in <coati/sampler.h> */
	uint64_t max_table_bytes;	  /* for unwind tables; 0: 64 MiB */
};

/* Start to sample. @opts may be NULL.
 *   -EBUSY   it is on already
 *   -EINVAL  options that cannot be; max_live can be set at the first start only
 *   -ENODATA COATI_SAMPLER_STACKS_TABLES is asked for, and there is no table at all
 *   -ENOMEM, ...  no memory for the tables
 * Thread: any.  Signal: not safe. */
COATI_API int coati_heap_start(const struct coati_heap_opts *opts, struct coati_error *err);
/* Take no more samples. Frees are followed as before, and the profile can be written. What was
 * sampled stays when it is started again.  Thread: any. */
COATI_API void coati_heap_stop(void);

/* flags of coati_heap_write() */
/* Put the names of functions into the profile, from the symbol tables of the files that are
 * mapped. */
#define COATI_HEAP_NAMES (UINT32_C(1) << 0)
/* As text with names: Go's debug=1. */
#define COATI_HEAP_TEXT (UINT32_C(1) << 1)
/* Readers show alloc_space first, not inuse_space. */
#define COATI_HEAP_ALLOCS (UINT32_C(1) << 2)

/* Write the profile of now to @fd: pprof (.pb.gz), or text.
 *   -ESRCH  it was never started
 * Thread: any.  Signal: not safe.  Memory: allocates; nobody waits for it. */
COATI_API int coati_heap_write(int fd, uint32_t flags, struct coati_error *err);

struct coati_heap_stats {
	uint64_t size;	   /* of this struct, set by the caller: so much is written */
	uint64_t samples;  /* taken in all */
	uint64_t live;	   /* in use now */
	uint64_t not_live; /* not followed, as there were max_live of them: they count as freed */
	uint64_t stacks;   /* different ones */
	/* samples whose stack was one too many: they are in the sums without a stack */
	uint64_t over;
};

/* 0; -EINVAL: ret->size is not set.  Thread: any. */
COATI_API int coati_heap_stats(struct coati_heap_stats *ret);

/* ---- allocating ---- */

/* As the functions of the C library without coati_heap_ in front: the same results, the same errno,
 * the same memory, which free() may free, too. Thread: any.  Signal: not safe.  Hot. */
COATI_API void *coati_heap_malloc(size_t size) __attribute__((malloc));
COATI_API void *coati_heap_calloc(size_t count, size_t size) __attribute__((malloc));
COATI_API void *coati_heap_realloc(void *p, size_t size);
COATI_API void *coati_heap_reallocarray(void *p, size_t count, size_t size);
COATI_API void *coati_heap_aligned_alloc(size_t alignment, size_t size) __attribute__((malloc));
COATI_API int coati_heap_posix_memalign(void **ret, size_t alignment, size_t size);
COATI_API char *coati_heap_strdup(const char *s) __attribute__((malloc));
COATI_API char *coati_heap_strndup(const char *s, size_t size) __attribute__((malloc));
COATI_API void coati_heap_free(void *p);

/* For allocators: @p with @size bytes was given out, is about to be taken back. NULL is fine. May
 * be called inside of malloc() and with locks held: nothing is allocated, and no function of the
 * caller's is called. The stack begins with who called the caller of coati_heap_note_alloc(), as it
 * stands for malloc().  Hot.  Signal: not safe. */
COATI_API void coati_heap_note_alloc(void *p, size_t size);
COATI_API void coati_heap_note_free(void *p);

#ifdef __cplusplus
}
#endif
#endif
