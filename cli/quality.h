/* SPDX-License-Identifier: MIT */
/* What a report is worth, first in every form of it; and how its numbers are written. */
#pragma once

#include "base/json.h"
#include "cli/report/args.h"

/* One line, and one more for each thing that a reader should know before he believes the rest. */
void coati_report_quality_text(struct report *r);
/* The members "quality", "total", "unit" and "samples" of the object that is open. */
void coati_report_quality_json(const struct report *r, struct json *j);

/* A weight in its unit: 1.20 s, 12,345; and as a share of the whole: 48.0 %. */
void coati_report_weight(const struct report *r, struct strbuf *s, uint64_t weight);
double coati_report_percent(const struct report *r, uint64_t weight);
/* The least weight that --min lets through, of @whole. */
uint64_t coati_report_least(const struct report *r, uint64_t whole);
/* @text as one line of at most @width columns, control characters shown as '?'. What is too long
 * loses the arguments of templates and functions first, then its middle. Its columns. */
size_t coati_report_fit(struct strbuf *s, const char *text, size_t width);
/* @text, which is code and not a name, behind @used columns: cut where the terminal ends, and not
 * shortened anywhere else. */
void coati_report_cut(const struct report *r, struct strbuf *s, const char *text, size_t used);
