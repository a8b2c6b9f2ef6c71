/* SPDX-License-Identifier: MIT */
/* The words of coati top, for the screen and for --once. Names are clean: nothing that a terminal
 * would obey is in them. */
#pragma once

#include "base/strbuf.h"
#include "cli/top/rows.h"

const char *coati_top_mode_name(enum top_mode mode);
/* "1,980 samples, 0 lost, 0 throttled, 3 % of stacks truncated". */
void coati_top_quality(struct strbuf *s, const struct top_second *sum, uint64_t refused);
/* The name of a row, in at most @width columns: with its pid and tid where it has them. */
void coati_top_row_name(struct strbuf *s, const struct top_query *q, const struct top_row *row,
			size_t width);
/* A table for --once. */
void coati_top_table_head(struct strbuf *s, const struct top_query *q);
void coati_top_table_row(struct strbuf *s, const struct top_query *q, const struct top_rows *all,
			 const struct top_row *row);
void coati_top_task_line(struct strbuf *s, const struct top_task *t);
/* Share of @part in @whole, in percent. */
double coati_top_percent(uint64_t part, uint64_t whole);
/* 1.2 ms in few columns. */
void coati_top_duration(struct strbuf *s, uint64_t ns);
/* Do its rows have a self and a total? */
bool coati_top_has_frames(enum top_by by);
