/* SPDX-License-Identifier: MIT */
/* The few DWARF expressions that compilers, linkers and assembler programs use in unwind data,
 * known by their shape. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum table_expr_kind {
	EXPR_OTHER = 0,
	EXPR_REG,    /* reg + off */
	EXPR_AT_REG, /* *(reg + off) + post */
	EXPR_PLT,    /* reg + off + ((pc & 15) >= post ? 8 : 0) */
};

struct table_expr {
	enum table_expr_kind kind;
	uint32_t reg;
	int64_t off, post;
};

/* EXPR_OTHER for everything else, damage included. */
void coati_table_expr(const uint8_t *bytes, size_t size, struct table_expr *ret);
