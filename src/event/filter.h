/* SPDX-License-Identifier: MIT */
/*
 * The kernel's filter language, checked before the kernel sees it: there a wrong filter is a bare
 * EINVAL.
 *
 *	or    := and { '||' and }
 *	and   := not { '&&' not }
 *	not   := '!' not | '(' or ')' | FIELD ['.ustring' | '.function'] OPERATOR VALUE
 *	VALUE := number | 'text' | "text" | CPUS{list} | symbol behind .function
 *
 * Texts go with == != ~ (a glob), numbers with all but ~. A filter that passes here may still be
 * refused by the kernel (unknown function, CPU that it does not have); one that is refused here
 * would be refused there or mean something else than it says.
 */
#pragma once

#include <coati/error.h>

#include "base/arena.h"
#include "record/format.h"

#define FILTER_TEXT_MAX	 4095 /* the kernel takes one page with its terminator */
#define FILTER_DEPTH_MAX 64
#define FILTER_VALUE_MAX 255

/* Check @text against the fields of @format; NULL: any field of any kind. err->column points into
 * @text. */
int coati_filter_check(const char *text, const struct coati_tp_format *format,
		       struct coati_error *err);
/* Both must hold: "(old) && (new)" in @arena; @old may be "". -E2BIG over FILTER_TEXT_MAX. */
int coati_filter_join(const char *old, const char *new, struct arena *arena, const char **ret);
/* What every probe can be filtered by: the common fields. */
extern const struct coati_tp_format coati_probe_format;
