/* SPDX-License-Identifier: MIT */
/*
 * Unwinding: find the frames of the callers from registers and a copy of the stack, for code
 * without frame pointers. Compact tables are built once for each file from .eh_frame or
 * .debug_frame and cached on disk by build ID.
 *
 *	#define COATI_EXPERIMENTAL 1
 *	#include <coati/unwind.h>
 *
 *	coati_unwinder_new(images, NULL, &u, &err);
 *	struct coati_unwind_input in = { .size = sizeof(in), .machine = COATI_MACHINE_X86_64,
 *					 .find = my_find, .ctx = ctx, .regs = regs,
 *					 .reg_mask = mask, .stack = bytes, .stack_size = n,
 *					 .stack_addr = sp };
 *	struct coati_unwind_frame frames[128];
 *	int n = coati_unwind(u, &in, frames, 128, &end);
 *
 * Experimental: these functions may still change, see docs/stability.md. They are visible when
 * COATI_EXPERIMENTAL is defined as 1.
 *
 * No frame is guessed silently: each frame records how it was found, and the walk reports why it
 * ended. Wrong unwind data ends a walk; it never causes an endless loop or a read outside the
 * input. One object is used by one thread at a time, and no function may be called from a signal
 * handler. coati-symbols(3) has an example.
 */
#ifndef COATI_UNWIND_H
#define COATI_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/image.h>
#include <coati/visibility.h>

#if defined(COATI_EXPERIMENTAL) && COATI_EXPERIMENTAL
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
	/* the frame that a signal interrupted: an exact address, not a return address */
	COATI_FRAME_SIGNAL,
	/* by frame pointer, where there is no table or no rule (generated code, assembly): the
	 * saved frame pointer leads to the next frame, and where the code is known, the return
	 * address follows a call instruction */
	COATI_FRAME_POINTER,
	/* no rule: a value on the stack that is the address after a call instruction */
	COATI_FRAME_GUESS,
};

/* Why a walk ended. */
enum coati_unwind_end {
	COATI_UNWIND_END = 0,	/* complete: the outermost frame */
	COATI_UNWIND_GAP,	/* the address has no rule, and no guess worked */
	COATI_UNWIND_UNMAPPED,	/* no mapping is known at the address */
	COATI_UNWIND_TRUNCATED, /* the rest is outside of the copy of the stack */
	COATI_UNWIND_LIMIT,	/* more frames than max_frames */
	/* the rule needs a register or memory that is not available, or the stack pointer does not
	 * increase */
	COATI_UNWIND_BAD,
	COATI_UNWIND_END_COUNT,
};

/* One frame. Frozen. */
struct coati_unwind_frame {
	uint64_t pc;	/* a return address unless `how` is REGS or SIGNAL */
	uint64_t sp;	/* stack pointer in that frame */
	uint32_t image; /* COATI_IMAGE_NONE: not known */
	uint32_t how;	/* enum coati_frame_how */
	uint64_t vaddr; /* pc in the file's own addresses */
};

/* The mapping at an address of the process: filled in by the callback. Frozen. */
struct coati_unwind_place {
	uint32_t image; /* COATI_IMAGE_NONE: code without a file; frame pointers are tried there */
	uint32_t reserved;
	uint64_t start, end; /* the mapping */
	uint64_t bias;	     /* address in the process minus address in the file */
};
/* 0 and *ret, or -ENOENT. */
typedef int (*coati_unwind_find_fn)(void *ctx, uint64_t addr, struct coati_unwind_place *ret);
/* Eight bytes of the process' memory outside of the copy of the stack: 0 and *ret, or negative. */
typedef int (*coati_unwind_read_fn)(void *ctx, uint64_t addr, uint64_t *ret);

struct coati_unwind_input {
	uint64_t size; /* sizeof(struct coati_unwind_input) */
	enum coati_machine machine;
	uint32_t reserved;
	coati_unwind_find_fn find;
	coati_unwind_read_fn read; /* or NULL */
	void *ctx;
	/* Registers in the numbering of perf events: those whose bit is in reg_mask, lowest first.
	 * At least pc, sp and the frame pointer. */
	const uint64_t *regs;
	uint64_t reg_mask;
	const uint8_t *stack; /* memory from stack_addr on */
	uint64_t stack_size;
	uint64_t stack_addr; /* normally the stack pointer */
};

struct coati_unwinder;

/* coati_unwinder_opts.flags */
/* Do not use the cache of tables on disk. */
#define COATI_UNWINDER_NO_CACHE (UINT32_C(1) << 0)

struct coati_unwinder_opts {
	uint64_t size;	/* sizeof(struct coati_unwinder_opts) */
	uint32_t flags; /* COATI_UNWINDER_* */
	uint32_t reserved;
	const char *cache_dir; /* NULL: that of the images */
	/* of tables in memory, 0: 256 MiB; the least recently used are dropped */
	uint64_t max_bytes;
};

/* @images must outlive it. @opts may be NULL. */
COATI_API int coati_unwinder_new(struct coati_images *images,
				 const struct coati_unwinder_opts *opts,
				 struct coati_unwinder **ret, struct coati_error *err);
/* *u becomes NULL; NULL is fine. */
COATI_API void coati_unwinder_free(struct coati_unwinder **u);
/* Walk the stack: the number of frames, at least 1 (the pc itself), and in *ret_end why it ended.
 * -EINVAL: no pc or sp. Allocates only for tables that are used for the first time. */
COATI_API int coati_unwind(struct coati_unwinder *u, const struct coati_unwind_input *in,
			   struct coati_unwind_frame *frames, uint32_t max_frames,
			   enum coati_unwind_end *ret_end);

#ifdef __cplusplus
}
#endif
#endif
#endif
