/* SPDX-License-Identifier: MIT */
/* Pieces of the lines that coati trace prints: times, time breakdowns, threads, functions, and the
 * data quality line. */
#pragma once

#include "base/json.h"
#include "cli/figures.h"
#include "cli/trace/session.h"
#include "trace/timeline.h"

/* The parts of a time breakdown that are shown: running, waiting for a CPU, blocked, queued,
 * unknown. */
enum trace_sum { SUM_RUNNING, SUM_RUNNABLE, SUM_BLOCKED, SUM_NOBODY, SUM_UNKNOWN, SUM_COUNT };
void coati_trace_sums(const struct coati_ledger *l, uint64_t sums[SUM_COUNT]);

/* The first line, and what is missing with the way out: "# ...". */
void coati_trace_quality(struct trace *t);
/* What a timeline knows, for --fail-if. */
#define TRACE_FIGURES                                                                          \
	(1u << FIGURE_SAMPLES | 1u << FIGURE_LOST | 1u << FIGURE_LATE | 1u << FIGURE_REFUSED | \
	 1u << FIGURE_OFF_UNPAIRED | 1u << FIGURE_LIVE_LOST)
void coati_trace_figures(const struct trace *t, struct figures *ret);
/* The exit code that follows from the conditions, when all else is well. */
int coati_trace_judge(const struct trace *t);
#define TRACE_SCHEMA "coati.trace.v1"
/* The head of every JSON answer: schema, file, quality. The object stays open. */
void coati_trace_json_head(struct trace *t, struct json *j, const char *schema, const char *view);
void coati_trace_json_ledger(struct json *j, const struct coati_ledger *l);

/* A duration, right-aligned in @width columns; "-" for none. */
void coati_trace_time(struct strbuf *s, uint64_t ns, size_t width);
/* A time since the beginning, with microseconds: "1.234567". */
void coati_trace_when(const struct trace *t, struct strbuf *s, uint64_t time);
/* The columns of bars: fewer on a terminal that has few. */
static inline size_t bar_columns(const struct trace *t)
{
	size_t width = coati_output_width(&t->out);

	return width && width < 100 ? 10 : 20;
}
/* A bar of @width columns. */
void coati_trace_bar(struct trace *t, const struct coati_ledger *l, size_t width);
/* The name of a part of the breakdown for people: coati_part_name(), but "queued" for "nobody". */
const char *coati_trace_part(uint32_t part);
/* The reasons for blocking, the longest first, as many as fit in @room columns: " futex 1.2 ms,
 * read 300 us". */
void coati_trace_reasons(struct strbuf *s, const struct coati_ledger *l, size_t most, size_t room);
/* "worker 1234"; "interrupt" for NONE. */
void coati_trace_thread_name(const struct trace *t, struct strbuf *s, uint32_t thread);
/* A name in a line, shortened as report does where it is long. */
void coati_trace_name(struct strbuf *s, const char *name);
/* The functions of a stack that say most, innermost first: those of the program, at most @most,
 * with their whole names; nothing for NONE. */
void coati_trace_stack(const struct trace *t, struct strbuf *s, uint32_t stack, size_t most);
/* Likewise in a line: names are shortened, and @before stands in front, or nothing at all where no
 * function is worth a name. */
void coati_trace_stack_after(const struct trace *t, struct strbuf *s, const char *before,
			     uint32_t stack, size_t most);
/* A heading. */
void coati_trace_heading(struct trace *t, const char *text);
/* Columns that are left on the terminal of the line that began at the byte @line of the output;
 * SIZE_MAX: it goes to no terminal. */
size_t coati_trace_room(const struct trace *t, size_t line);
/* The end of that line and a newline: @text loses its middle where there is no room for it. */
void coati_trace_tail(struct trace *t, size_t line, const char *text);
