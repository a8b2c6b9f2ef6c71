/* SPDX-License-Identifier: MIT */
/*
 * The unwind data itself, evaluated for all registers: the row of one address, and DWARF
 * expressions. Slow and complete, where the compact rules are fast and know three registers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/table/cfi.h"
#include "unwind/table/walk.h"

enum full_kind {
	FULL_SAME = 0,
	FULL_UNDEFINED,
	FULL_OFFSET,	 /* memory at CFA + off */
	FULL_VAL_OFFSET, /* CFA + off */
	FULL_REGISTER,
	FULL_EXPR,     /* memory at what the expression gives */
	FULL_VAL_EXPR, /* what it gives */
};

struct full_rule {
	uint8_t kind;
	uint32_t reg;
	int64_t off;
	const uint8_t *expr;
	size_t expr_size;
};

struct full_row {
	struct full_rule cfa; /* FULL_REGISTER with off, or FULL_VAL_EXPR */
	struct full_rule regs[WALK_REGS];
};

/* Registers of a frame, and the memory behind them. */
struct full_frame {
	uint64_t regs[WALK_REGS];
	uint64_t known;
	const struct walk_input *in;
	bool is_short; /* memory was wanted behind the end of the copied stack */
};

bool coati_full_read(struct full_frame *f, uint64_t addr, unsigned int size, uint64_t *ret);
/* The row that holds at @vaddr; 0 or -EBADMSG. */
int coati_full_row(const struct cfi_section *s, const struct cfi_cie *cie,
		   const struct cfi_fde *fde, uint64_t vaddr, struct full_row *ret);
/* An expression: @start is pushed first when not NULL. 0, -EBADMSG (damaged), -EOPNOTSUPP (an
 * operation that has no place here), -ENODATA (memory or a register that is not there). */
int coati_full_expr(struct full_frame *f, const struct full_rule *e, const uint64_t *start,
		    uint64_t *ret);
