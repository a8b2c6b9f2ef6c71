/* SPDX-License-Identifier: MIT */
/* What is to be known before the numbers: the verdict in one line, and whether the two sides can be
 * compared at all. */
#pragma once

#include "cli/diff/args.h"

/* Did something change, or do the recordings allow to say that nothing did? */
bool coati_diff_is_judged(const struct diff *d);
/* Fills d->verdict. */
void coati_diff_find_verdict(struct diff *d);
/* Fills d->warnings: a line each. */
void coati_diff_find_warnings(struct diff *d);
