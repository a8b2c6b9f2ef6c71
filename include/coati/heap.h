/* SPDX-License-Identifier: MIT */
/*
 * A heap profiler inside the program, part of libcoati-live: which code allocated the memory in use
 * now, and all memory allocated so far.
 *
 *	coati_heap_start(NULL, &err);
 *	...
 *	p = coati_heap_malloc(size);	or malloc(size) with <coati/heap-hook.h>
 *	...
 *	coati_heap_write(fd, COATI_HEAP_NAMES, &err);
 *
 * Allocated bytes are sampled at random, one per 512 KiB on average. The block that contains a
 * sampled byte is a sample: its stack, the labels of its thread (<coati/live.h>) and its size are
 * kept until it is freed. Each sample is weighted by the inverse of its probability, so that the
 * numbers of the profile are unbiased estimates for blocks of any size. Small numbers are
 * imprecise: of 10,000 blocks of 100 bytes (1 MB) about 2 are sampled. Rate 1 samples every block.
 *
 * The profile has the same values as Go's: alloc_objects, alloc_space, inuse_objects and
 * inuse_space. `go tool pprof` reads it.
 *
 * Nothing is intercepted automatically. The profile sees allocations by the functions below, by the
 * usual names where <coati/heap-hook.h> is included (C) or <coati/heap-new.h> is in the program
 * (C++), and those that an allocator reports by coati_heap_note_alloc() and coati_heap_note_free().
 * Blocks may be freed by any means; a sampled block whose free was not seen stays in use in the
 * profile until its address is allocated again.
 *
 * Stacks are unwound with tables that coati_heap_start() builds from the unwind data of all loaded
 * files (<coati/sampler.h>), and by frame pointers through code without unwind data. Libraries that
 * are loaded later are found when the profile is written, while a CPU profile runs, or by
 * coati_stacks_refresh(); until then frame pointers are used for them.
 *
 * Cost: an allocation that is not sampled costs a subtraction, the free of a block that is not a
 * sample costs one byte read; neither takes a lock. A sample costs a stack walk and a lock. No
 * memory is used before coati_heap_start(), then some MiB of address space, filled as samples
 * arrive, with a limit: stacks over 32768 and live samples over max_live are counted, and the
 * profile reports them.
 *
 * The child of a fork() continues with a copy of the samples.
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
	uint64_t size;	     /* sizeof(struct coati_heap_opts) */
	uint64_t rate_bytes; /* bytes per sample, on average; 1: every block; 0: 512 KiB */
	uint64_t seed;	     /* of the random numbers, for tests; 0: random */
	uint32_t max_live;   /* limit of live samples, up to 4194304; 0: 65536 */
	enum coati_sampler_stacks stacks; /* how stacks are unwound, as in <coati/sampler.h> */
	uint64_t max_table_bytes;	  /* for unwind tables; 0: 64 MiB */
};

/* Start sampling. @opts may be NULL.
 *   -EBUSY   it is running already
 *   -EINVAL  invalid options; max_live can be set only at the first start
 *   -ENODATA COATI_SAMPLER_STACKS_TABLES was requested, and there is no unwind table at all
 *   -ENOMEM, ...  no memory for the tables
 * Thread: any.  Signal: not safe. */
COATI_API int coati_heap_start(const struct coati_heap_opts *opts, struct coati_error *err);
/* Stop sampling. Frees are still tracked, and the profile can be written. Samples are kept when it
 * is started again.  Thread: any. */
COATI_API void coati_heap_stop(void);

/* flags of coati_heap_write() */
/* Add function names to the profile, from the symbol tables of the mapped files. */
#define COATI_HEAP_NAMES (UINT32_C(1) << 0)
/* Write text with function names, as Go's debug=1 does. */
#define COATI_HEAP_TEXT (UINT32_C(1) << 1)
/* Make alloc_space the default value that readers show, instead of inuse_space. */
#define COATI_HEAP_ALLOCS (UINT32_C(1) << 2)

/* Write the current profile to @fd: pprof (.pb.gz), or text.
 *   -ESRCH  it was never started
 * Thread: any.  Signal: not safe.  Memory: allocates; other threads do not wait for it. */
COATI_API int coati_heap_write(int fd, uint32_t flags, struct coati_error *err);

struct coati_heap_stats {
	uint64_t size;	   /* sizeof(struct coati_heap_stats) */
	uint64_t samples;  /* total */
	uint64_t live;	   /* in use now */
	uint64_t not_live; /* not tracked because max_live was reached: they count as freed */
	uint64_t stacks;   /* distinct */
	/* samples over the limit of stacks: they are counted without a stack */
	uint64_t over;
};

/* 0; -EINVAL: ret->size is not set.  Thread: any. */
COATI_API int coati_heap_stats(struct coati_heap_stats *ret);

/* ---- allocating ---- */

/* These behave like the C library functions without the prefix coati_heap_: same results, same
 * errno, same memory, which may also be passed to free(). Thread: any.  Signal: not safe.  Hot. */
COATI_API void *coati_heap_malloc(size_t size) __attribute__((malloc));
COATI_API void *coati_heap_calloc(size_t count, size_t size) __attribute__((malloc));
COATI_API void *coati_heap_realloc(void *p, size_t size);
COATI_API void *coati_heap_reallocarray(void *p, size_t count, size_t size);
COATI_API void *coati_heap_aligned_alloc(size_t alignment, size_t size) __attribute__((malloc));
COATI_API int coati_heap_posix_memalign(void **ret, size_t alignment, size_t size);
COATI_API char *coati_heap_strdup(const char *s) __attribute__((malloc));
COATI_API char *coati_heap_strndup(const char *s, size_t size) __attribute__((malloc));
COATI_API void coati_heap_free(void *p);

/* For custom allocators: report that @p with @size bytes was allocated, or is about to be freed.
 * NULL is fine. May be called inside malloc() and with locks held: these functions do not allocate
 * and do not call back. The function that calls coati_heap_note_alloc() is taken for the allocator:
 * the stack begins with its caller.  Hot.  Signal: not safe. */
COATI_API void coati_heap_note_alloc(void *p, size_t size);
COATI_API void coati_heap_note_free(void *p);

#ifdef __cplusplus
}
#endif
#endif
