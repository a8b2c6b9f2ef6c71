/* SPDX-License-Identifier: MIT */
/* Breakpoints: what the hardware can watch, checked before the kernel answers with a bare
 * EINVAL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>

/* What debug registers can do. */
struct breakpoint_rules {
	bool reads; /* there is a kind that watches reads alone */
	/* any 1 to 8 bytes inside of eight aligned ones, not only aligned 1, 2, 4 or 8 */
	bool parts;
	uint32_t code_align; /* of an instruction */
	/* other than the size of a long, which always means "one instruction"; 0: none */
	uint32_t code_length;
};

extern const struct breakpoint_rules coati_breakpoint_x86;
extern const struct breakpoint_rules coati_breakpoint_arm64;

/* As it was asked for. */
struct breakpoint {
	uint64_t addr;
	uint64_t length;    /* 0: 4 for data, the size of a long for x */
	const char *access; /* any of the letters "r", "w", "x", each once; "" means rw */
};

/* Fill type, bp_type, config1 and config2 of @attr; the rest of it is left alone. Checks length,
 * alignment, x alone, and what this CPU cannot do (x86 has no read-only kind: "r" becomes rw, and
 * *ret_note, may be NULL, says so; otherwise it becomes NULL). How many debug registers are free
 * only the kernel knows. -EINVAL with the reason. */
int coati_breakpoint_attr(const struct breakpoint *bp, struct coati_attr *attr,
			  const char **ret_note, struct coati_error *err);
/* The same with the rules of another CPU; *ret_read_write (may not be NULL): "r" became rw. */
int coati_breakpoint_check(const struct breakpoint_rules *rules, struct coati_attr *attr,
			   bool *ret_read_write, struct coati_error *err);
