/* SPDX-License-Identifier: MIT */
/* What the kernel prints for %p and its extensions: functions, network addresses, bit maps,
 * identifiers. */
#pragma once

#include <coati/record.h>

#include "record/expr.h"
#include "record/fields.h"
#include "record/output.h"

/* The letters behind %p that belong to it, into @ret; their number. */
size_t coati_address_extension(const char *at, char ret[8]);
/* Can it be printed from what @e gives? */
bool coati_address_known(const char *extension, const struct expr *e);
void coati_address_number(const struct conversion *c, uint64_t v,
			  const struct coati_symbol_source *symbols, struct output *o);
void coati_address_bytes(const struct conversion *c, const struct field_bytes *bytes, bool swap,
			 struct output *o);
