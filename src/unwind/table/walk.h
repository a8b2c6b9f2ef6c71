/* SPDX-License-Identifier: MIT */
/*
 * The walk over tables: registers and stack bytes come in, frames go out one by one, each with how
 * it was found; at the end the reason for it. Needs nothing but the tables and what its functions
 * give: no allocation, no lock, no errno, so that a signal handler can use it on its own stack.
 *
 *	struct walk w;
 *	coati_walk_begin(&w, &in);
 *	while (coati_walk_next(&w))
 *		use(w.frame.pc, w.frame.how);
 *	why(w.end);
 *
 * The stack pointer must grow with every frame, except through a signal frame, of which there may
 * be a few: the walk ends for any bytes and any table. The frame pointer and rbx are kept as the
 * address of where they were saved, and read when a rule needs them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/table/table.h"

#define WALK_REGS      33 /* in DWARF's numbers; x86-64: 16 is rip, arm64: 31 is sp, 32 is pc */
#define WALK_PLACES    8
#define WALK_CACHE_LEN 4096u
#define WALK_CODE_SIZE 8

/* As in <coati/unwind.h>, which says what they mean. */
enum walk_how { WALK_REGISTERS, WALK_TABLE, WALK_SIGNAL, WALK_POINTER, WALK_GUESS };
enum walk_end {
	WALK_END,
	WALK_GAP,
	WALK_UNMAPPED,
	WALK_TRUNCATED,
	WALK_LIMIT,
	WALK_BAD,
	/* a rule that is not compact, or a register that was not followed: a full evaluator may
	 * know more */
	WALK_UNSUPPORTED,
};

struct walk_place {
	uint64_t start, end;	   /* of the mapping */
	uint64_t bias;		   /* address minus the file's own address */
	const struct table *table; /* NULL: code without unwind data; frame pointers are tried */
	uint32_t image;
	uint32_t serial; /* of the table, never used again for another; 0: do not cache */
};

/* 0 or negative. */
typedef int (*walk_find_fn)(void *ctx, uint64_t addr, struct walk_place *ret);
typedef int (*walk_read_fn)(void *ctx, uint64_t addr, uint64_t *ret);
/* The bytes of code right before @addr, which @place holds. */
typedef int (*walk_code_fn)(void *ctx, const struct walk_place *place, uint64_t addr,
			    uint8_t ret[WALK_CODE_SIZE]);

struct walk_slot {
	uint64_t vaddr;
	uint64_t rule;
	uint32_t serial;
	int32_t other;
};

/* Rules found before, by address. Zeroed at first; may serve many walks, one at a time. */
struct walk_cache {
	struct walk_slot slots[WALK_CACHE_LEN];
};

struct walk_input {
	uint32_t machine; /* EM_X86_64, EM_AARCH64 */
	walk_find_fn find;
	walk_read_fn read; /* memory outside the window; NULL: none */
	walk_code_fn code; /* NULL: nothing is guessed */
	void *ctx;
	const uint64_t *regs; /* WALK_REGS of them */
	uint64_t known;	      /* bit by register */
	const uint8_t *stack; /* the window: bytes from @stack_addr on */
	uint64_t stack_size, stack_addr;
	struct walk_cache *cache; /* NULL: none */
};

struct walk_frame {
	uint64_t pc, sp, vaddr;
	uint32_t image, how;
};

/* A register of the frame at hand. */
struct walk_reg {
	uint64_t value;
	uint64_t at; /* 0: the value counts; else where in memory it is */
	bool is_lost;
};

struct walk {
	const struct walk_input *in;
	struct walk_frame frame;
	enum walk_end end;
	/* inside */
	uint64_t pc, sp;
	struct walk_reg fp, other; /* other: rbx, or the link register */
	bool is_exact; /* pc is an instruction that was about to run, not a return address */
	bool is_begun, is_over;
	bool has_regs;	  /* all registers are known: input, or the signal's context */
	uint64_t context; /* address of the registers in a signal frame, 0: the input's */
	uint32_t nr_signals;
	uint32_t nr_places, last_place;
	struct walk_place places[WALK_PLACES];
};

/* @in must stay. False when pc or sp is not among the registers. */
bool coati_walk_begin(struct walk *w, const struct walk_input *in);
/* The next frame in w->frame: true; false at the end, with w->end.  Signal: safe.  Hot. */
bool coati_walk_next(struct walk *w);

/* ---- between the files of the walk ---- */

/* What lies at @addr, NULL: nothing known. Lives until the next call. */
const struct walk_place *coati_walk_place(struct walk *w, uint64_t addr);
/* Eight bytes of memory; false ends the walk as truncated or bad. */
bool coati_walk_read(struct walk *w, uint64_t addr, uint64_t *ret);
bool coati_walk_reg(struct walk *w, struct walk_reg *r, uint64_t *ret);
bool coati_walk_stop(struct walk *w, enum walk_end end);
/* Any register by DWARF number; false (bad) when it is not known in this frame. */
bool coati_walk_any_reg(struct walk *w, uint32_t reg, uint64_t *ret);
/* Over the kernel's signal frame at sp. */
bool coati_walk_signal(struct walk *w);
/* Is there a call right before @addr? 1, 0, or -1: the code is not known. */
int coati_walk_call(struct walk *w, uint64_t addr);
/* Without a rule: by a return address that was checked. */
bool coati_walk_guess(struct walk *w);
/* Code without any unwind data: by frame pointer. */
bool coati_walk_pointer(struct walk *w);
