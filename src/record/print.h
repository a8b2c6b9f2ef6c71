/* SPDX-License-Identifier: MIT */
/* The print format of a tracepoint, taken apart once and then run over each of its records. */
#pragma once

#include <coati/record.h>

#include "base/arena.h"
#include "record/expr.h"
#include "record/format.h"
#include "record/output.h"

#define PRINT_ITEMS_MAX 512

/* Text, and behind it one conversion with its arguments. */
struct print_item {
	const char *text;
	uint32_t len;
	bool has_conversion;
	struct conversion conversion;
	const struct expr *width, *precision; /* for '*' */
	const struct expr *value;
};

struct print_program {
	uint32_t nr_items;
	const struct print_item *items; /* NULL: not understood */
};

/* -EOPNOTSUPP: not understood, -E2BIG over a limit, -ENOMEM. */
int coati_print_parse(const struct coati_tp_format *format, struct arena *arena,
		      struct print_program *ret);
/* False: a field lies outside the payload. */
bool coati_print_run(const struct print_program *program, const struct coati_payload *p,
		     const struct coati_symbol_source *symbols, struct output *o);
