/* SPDX-License-Identifier: MIT */
/*
 * Station 4, from where: registers and a piece of stack to the frames of the callers, for code
 * without frame pointers. Compact tables are made once for each file from .eh_frame (or
 * .debug_frame) and kept on disk by build id; a walk needs nothing else.
 *
 *	coati_unwinder_new(images, NULL, &u, &err);
 *	struct coati_unwind_input in = { .size = sizeof(in), .machine = COATI_MACHINE_X86_64, .find
 *	= my_find, .ctx = ctx,
 *					 .regs = regs, .reg_mask = mask, .stack = bytes, .stack_size
 *					 = n, .stack_addr = sp };
 *	struct coati_unwind_frame frames[128];
 *	int n = coati_unwind(u, &in, frames, 128, &end);
 *
 * No frame is guessed silently: each says how it was found, and the walk says why it ended. "End"
 * (the outermost frame, where the unwind data says so), "gap" (no rule for this address),
 * "truncated" (the copy of the stack ends) and "limit" are different things. Wrong unwind data ends
 * a walk, it never makes it loop or read outside what it was given.
 */
#ifndef COATI_UNWIND_H
#define COATI_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/image.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

enum coati_machine {
	COATI_MACHINE_NONE = 0,
	COATI_MACHINE_X86_64,
	COATI_MACHINE_AARCH64,
};

/* How a frame was found. */
enum coati_frame_how {
	COATI_FRAME_REGS = 0, /* the interrupted instruction itself */
	COATI_FRAME_TABLE,    /* by a rule of the unwind tables */
	/* what a signal interrupted: its address is exact, not a return address */
	COATI_FRAME_SIGNAL,
	/* by frame pointer, where there are no tables or no rule (code made at run time, assembly):
	 * the record of the frame leads on to the next one, and the return address lies behind a
	 * call as far as the code is known */
	COATI_FRAME_POINTER,
	/* no rule: a value that was checked to lie right behind a call instruction */
	COATI_FRAME_GUESS,
};

/* Why a walk ended. */
enum coati_unwind_end {
	COATI_UNWIND_END = 0,	/* complete */
	COATI_UNWIND_GAP,	/* the address has no rule, and no guess held */
	COATI_UNWIND_UNMAPPED,	/* the address lies in nothing that is known */
	COATI_UNWIND_TRUNCATED, /* the rest lies outside the copied piece of stack */
	COATI_UNWIND_LIMIT,	/* more frames than there is room for */
	/* the rule cannot be followed: a register or an expression that is not there, or the stack
	 * does not grow */
	COATI_UNWIND_BAD,
	COATI_UNWIND_END_COUNT,
};
COATI_API const char *coati_unwind_end_name(enum coati_unwind_end end);

struct coati_unwind_frame {
	uint64_t pc;	/* as found: a return address unless how is REGS or SIGNAL */
	uint64_t sp;	/* stack pointer in that frame */
	uint32_t image; /* COATI_IMAGE_NONE: not known */
	uint32_t how;	/* enum coati_frame_how */
	uint64_t vaddr; /* in the image's terms, of pc (not pc - 1) */
};

/* What lies at an address of the process: filled by the caller's function. */
struct coati_unwind_place {
	uint32_t image; /* COATI_IMAGE_NONE: anonymous code; frame pointers are tried there */
	uint32_t reserved;
	uint64_t start, end; /* of the mapping: answers are kept for all of it during a walk */
	uint64_t bias;	     /* address in the process minus the image's own address */
};
/* 0, or -ENOENT. */
typedef int (*coati_unwind_find_fn)(void *ctx, uint64_t addr, struct coati_unwind_place *ret);
/* Eight bytes of the process' memory outside the copied stack, or negative; NULL function: nothing
 * is readable there. */
typedef int (*coati_unwind_read_fn)(void *ctx, uint64_t addr, uint64_t *ret);

struct coati_unwind_input {
	uint64_t size;
	enum coati_machine machine;
	uint32_t reserved;
	coati_unwind_find_fn find;
	coati_unwind_read_fn read; /* may be NULL */
	void *ctx;
	/* Registers in the kernel's perf numbering (bit in reg_mask, lowest first), at least pc, sp
	 * and the frame pointer. */
	const uint64_t *regs;
	uint64_t reg_mask;
	const uint8_t *stack; /* bytes from @stack_addr on */
	uint64_t stack_size;
	uint64_t stack_addr; /* normally the stack pointer */
};

struct coati_unwinder;

/* coati_unwinder_opts.flags */
/* tables are neither read from disk nor kept there */
#define COATI_UNWINDER_NO_CACHE (UINT32_C(1) << 0)

struct coati_unwinder_opts {
	uint64_t size;
	uint32_t flags;
	uint32_t reserved;
	const char *cache_dir; /* NULL: as the images' */
	/* of tables in memory, 0: 256 MiB; those not used for longest go first */
	uint64_t max_bytes;
};

/* @images must outlive it. */
COATI_API int coati_unwinder_new(struct coati_images *images,
				 const struct coati_unwinder_opts *opts,
				 struct coati_unwinder **ret, struct coati_error *err);
COATI_API void coati_unwinder_free(struct coati_unwinder **u);
/* Make the table of @image now rather than at the first frame in it. 0; negative errno and a
 * sentence when it has none. */
COATI_API int coati_unwinder_prepare(struct coati_unwinder *u, uint32_t image,
				     struct coati_error *err);
/* The walk: number of frames, at least 1 (the pc itself) or negative: -EINVAL without pc and sp.
 * Hot: no allocation but for tables not seen before. */
COATI_API int coati_unwind(struct coati_unwinder *u, const struct coati_unwind_input *in,
			   struct coati_unwind_frame *frames, uint32_t max_frames,
			   enum coati_unwind_end *ret_end);

struct coati_unwinder_stats {
	uint64_t walks, frames;
	uint64_t ends[8]; /* by enum coati_unwind_end */
	uint64_t guesses;
	uint64_t tables, table_rows, table_bytes, table_build_ns;
	uint64_t from_cache, without_table;
};
COATI_API void coati_unwinder_get_stats(const struct coati_unwinder *u,
					struct coati_unwinder_stats *ret);

#ifdef __cplusplus
}
#endif
#endif
