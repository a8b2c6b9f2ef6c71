/* SPDX-License-Identifier: MIT */
/* How the numbers of a comparison are written. */
#pragma once

#include "base/json.h"
#include "cli/diff/args.h"
#include "profile/diff.h"

/* "more", "less", "not distinguishable", "cannot judge", "too few samples". */
const char *coati_diff_word(enum coati_diff_verdict v);
/* A value in its measure: 12.1 %, 1.20 s, 12,345. */
void coati_diff_put_amount(const struct diff *d, struct strbuf *s, double x);
/* A change with its sign: +2.22 pp, -1.20 ms; without a sign: what stands behind a ±. */
void coati_diff_put_change(const struct diff *d, struct strbuf *s, double x, bool sign);
/* "+18 %": after in relation to before; "new" and "gone" where there is no number. */
void coati_diff_put_relative(struct strbuf *s, double ratio);
/* The estimate and its interval: "+18.2 % (+9.1 % to +27.3 %)", in percent or percentage points. */
void coati_diff_put_interval(struct strbuf *s, const struct coati_diff_value *v, bool points);
/* As an object. */
void coati_diff_put_value(struct json *j, const struct coati_diff_value *v);
