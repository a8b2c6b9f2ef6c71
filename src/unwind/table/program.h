/* SPDX-License-Identifier: MIT */
/*
 * The instructions of call frame information, followed for the few registers that a compact rule
 * knows. A program comes in, rows (address, rule) go out through a function, in the order of the
 * program, which is ascending for sane ones.
 *
 * What a compact rule cannot say becomes TABLE_CFA_UNSUPPORTED from there on: never a rule that is
 * nearly right.
 */
#pragma once

#include <stdint.h>

#include "unwind/table/cfi.h"
#include "unwind/table/table.h"

/* Columns that are followed; everything else shares the last one. */
enum program_slot { SLOT_FP, SLOT_OTHER, SLOT_RA, SLOT_SP, SLOT_REST, SLOT_COUNT };

enum program_kind {
	PROGRAM_UNSET = 0, /* as in the caller */
	PROGRAM_OFFSET,	   /* memory at CFA + off */
	PROGRAM_AT_FP,	   /* memory at fp + off: realigned frames */
	PROGRAM_AT_SP,
	PROGRAM_UNDEFINED,
	PROGRAM_REGISTER, /* in register off */
	PROGRAM_STRANGE,  /* some expression */
};

struct program_reg {
	int32_t off;
	uint8_t kind;
};

/* The state that a row is made of. */
struct program_state {
	int64_t cfa_off;
	uint32_t cfa_reg;
	uint8_t cfa; /* enum table_cfa: SP stands for any register + offset, AT_SP for its memory */
	uint8_t arg; /* as in a rule */
	bool is_changed; /* since the last row */
	struct program_reg reg[SLOT_COUNT];
};

/* What is the same for all programs of one CIE. */
struct program_cie {
	struct cfi_cie cie;
	const struct cfi_section *section;
	uint32_t machine;
	struct program_state initial;
	bool is_bad; /* its own program is damaged: all of its FDEs are unsupported */
};

/* One row. Called with ascending or equal addresses unless the program jumps back. */
typedef void (*program_row_fn)(void *ctx, uint64_t start, const struct program_state *state);

/* Run the CIE's own program into @p->initial. */
void coati_program_prepare(struct program_cie *p, const struct cfi_cie *cie,
			   const struct cfi_section *section, uint32_t machine);
/* Run an FDE. 0, or -EBADMSG when its instructions are damaged: rows up to there were given.
 * @ret_at: where it was then. */
int coati_program_run(const struct program_cie *p, const struct cfi_fde *fde, program_row_fn fn,
		      void *ctx, uint64_t *ret_at);
/* The rule of a state. */
void coati_program_rule(const struct program_cie *p, const struct program_state *s,
			struct table_packed *ret);
