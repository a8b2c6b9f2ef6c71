/* SPDX-License-Identifier: MIT */
/*
 * coati why as text: the verdict, the comparison that decided it, then the parts in tables. Every
 * sentence names a number and what it was compared with.
 */
#include "cli/why/text.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cli/trace/text.h"
#include "reading/wait.h"
#include "trace/timeline.h"

/* The mean of a hostile recording may not fit into 64 bits. */
static uint64_t whole_ns(double ns)
{
	return ns >= 0x1p63 ? (uint64_t)1 << 63 : ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* "+3.1 ms"; less is with a minus. */
static void put_change(struct strbuf *s, double ns, size_t width)
{
	struct strbuf text = STRBUF_INIT(64);

	coati_strbuf_addc(&text, ns < 0 ? '-' : '+');
	coati_format_duration(&text, whole_ns(fabs(ns)));
	coati_strbuf_pad(s, ' ', text.len < width ? width - text.len : 0);
	coati_strbuf_adds(s, text.text);
	coati_strbuf_fini(&text);
}

/* The task that kept the thread busy for which the slow ones waited. */
static void put_hog(struct trace *t, const struct coati_why_row *row)
{
	struct strbuf *s = &t->out.text;

	if (row->hog == COATI_TIMELINE_NONE)
		return;
	coati_strbuf_adds(s, ", while ");
	coati_trace_thread_name(t, s, row->hog_thread);
	coati_strbuf_adds(s, " worked on ");
	coati_trace_name(s, row->hog_name);
	coati_strbuf_printf(s, " %llu", (unsigned long long)row->hog_id);
	if (row->hog_region) {
		coati_strbuf_adds(s, " in ");
		coati_trace_name(s, row->hog_region);
	}
	coati_strbuf_printf(s, " and others of this type (%.0f %% of the wait)",
			    100 * row->hog_share);
}

static const char *name_of(const struct coati_why_row *row)
{
	return row->kind == COATI_WHY_PART ? coati_trace_part(row->part) : row->name;
}

static void put_name(struct strbuf *s, const struct coati_why_row *row)
{
	coati_trace_name(s, name_of(row));
}

static void put_row(struct trace *t, const struct coati_why_row *row, uint32_t nr_slow)
{
	struct strbuf *s = &t->out.text;
	struct strbuf interval = STRBUF_INIT(128);

	coati_trace_time(s, whole_ns(row->slow), 10);
	coati_trace_time(s, whole_ns(row->typical), 10);
	put_change(s, row->extra, 11);
	put_change(&interval, row->low, 0);
	coati_strbuf_adds(&interval, " to ");
	put_change(&interval, row->high, 0);
	coati_strbuf_printf(s, "  %-24s  ", interval.text);
	coati_strbuf_adds(s, coati_output_style(&t->out, row->verdict == COATI_WHY_CAUSE
								 ? STYLE_BOLD
								 : STYLE_PLAIN));
	put_name(s, row);
	coati_strbuf_adds(s, coati_output_style(&t->out, STYLE_PLAIN));
	if (row->nr_affected && row->nr_affected < nr_slow)
		coati_strbuf_printf(s, ", in %u of %u", row->nr_affected, nr_slow);
	put_hog(t, row);
	if (row->waker != COATI_TIMELINE_NONE) {
		coati_strbuf_adds(s, ", until ");
		coati_trace_thread_name(t, s, row->waker);
	}
	coati_trace_stack_after(t, s, ": ", row->stack, 3);
	coati_strbuf_addc(s, '\n');
	coati_strbuf_fini(&interval);
}

static void put_rows(struct trace *t, const struct coati_why *w, const char *title,
		     enum coati_why_verdict verdict, bool regions)
{
	bool any = false;

	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct coati_why_row *row = &w->rows[i];

		if (row->verdict != verdict || (row->kind == COATI_WHY_REGION) != regions ||
		    (row->slow < 1 && row->typical < 1))
			continue;
		if (!any)
			coati_trace_heading(t, title);
		any = true;
		put_row(t, row, w->nr_slow);
	}
}

/* "running takes the slow ones at least +3.1 ms longer" */
static void put_low(struct trace *t, const struct coati_why_row *row, double ns)
{
	struct strbuf *s = &t->out.text;

	put_name(s, row);
	coati_strbuf_adds(s, " takes the slow ones at least ");
	put_change(s, ns, 0);
	coati_strbuf_adds(s, " longer");
}

static void put_limit(struct trace *t, const char *text, double ns)
{
	coati_strbuf_adds(&t->out.text, text);
	put_change(&t->out.text, ns, 0);
}

/* What a part is whose name alone answers nothing. */
static const char *explain(const struct coati_why_row *row)
{
	if (row->kind != COATI_WHY_PART)
		return "";
	if (row->part == COATI_PART_NOBODY)
		return " (no thread works on them yet, or any more)";
	if (row->part == COATI_WAIT_OTHER)
		return " (they wait; the recording does not show for what)";
	return "";
}

/* ---- these causes ---- */

static void put_causes(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_printf(s, ": %s the slow ones slow: ",
			    w->nr_causes > 1 ? "these causes make" : "this cause makes");
	for (uint32_t i = 0; i < w->nr_causes; i++) {
		const struct coati_why_row *row = &w->rows[i];

		coati_strbuf_printf(s, "%s%s%s%s%s, ", i ? "; " : "",
				    coati_output_style(&t->out, STYLE_BOLD), name_of(row),
				    coati_output_style(&t->out, STYLE_PLAIN), explain(row));
		put_change(s, row->extra, 0);
		coati_strbuf_adds(s, " of ");
		put_change(s, w->slow - w->typical, 0);
	}
	coati_strbuf_adds(s, "\ndecided by: ");
	put_low(t, &w->rows[0], w->number);
	put_limit(t, ", more than the limit of ", w->limit);
	coati_strbuf_addc(s, '\n');
}

/* ---- no difference ---- */

/* What the limit of a row is. */
static const char *name_limit(const struct coati_why_row *row)
{
	if (row->verdict == COATI_WHY_SPREAD)
		return "how far its own distribution may reach";
	if (row->verdict == COATI_WHY_MACHINE)
		return "how much sharing a core can add";
	return "half the time of a typical one";
}

static void put_no_difference(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_adds(
		s,
		": no difference: chance and the load of the machine explain why the slow ones are "
		"longer\n");
	if (w->row == COATI_TIMELINE_NONE)
		return;
	coati_strbuf_adds(s, "decided by: ");
	put_low(t, &w->rows[w->row], w->number);
	put_limit(t, ", no more than the limit of ", w->limit);
	coati_strbuf_printf(s, " (%s)\n", name_limit(&w->rows[w->row]));
}

/* ---- cannot tell ---- */

static void put_steal(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_adds(
		s,
		"the host of this virtual machine may have taken the additional time\ndecided by: "
		"");
	if (w->seen >= 0)
		coati_strbuf_printf(s, "samples cover %.0f %% of it, ", 100 * w->seen);
	else
		coati_strbuf_adds(s, "without the time that the host took in these intervals, ");
	coati_strbuf_adds(s, "at least ");
	put_change(s, fmax(0, w->number), 0);
	coati_strbuf_adds(s, w->seen >= 0 ? " are certain of " : " remain of ");
	put_change(s, w->rows[w->row].extra, 0);
	put_limit(t, ", and a cause takes more than ", w->limit);
	coati_strbuf_adds(s, "; record again when the host is less busy\n");
}

static void put_cannot_tell(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_adds(s, ": cannot tell: ");
	if (w->reason == COATI_WHY_BY_COUNT)
		coati_strbuf_printf(
			s,
			"%u instances have %u slow and %u typical ones, and %d and %d are needed: "
			"record longer, or lower the limit with --slow\n",
			w->nr, w->nr_slow, w->nr_typical, 5, 20);
	else if (w->reason == COATI_WHY_BY_UNKNOWN)
		coati_strbuf_printf(
			s,
			"the recording does not show what threads did in %.0f %% of the slow ones' "
			"time (limit: %.0f %%): coati record --trace records it\n",
			100 * w->number, 100 * w->limit);
	else if (w->reason == COATI_WHY_BY_STEAL)
		put_steal(t, w);
	else if (w->reason == COATI_WHY_BY_MIXTURE)
		coati_strbuf_printf(
			s,
			"the instances are of two kinds: %.0f %% are much longer than the others "
			"(limit: %.0f %% on either side): give each kind its own task type\n",
			100 * w->number, 100 * w->limit);
	else
		coati_strbuf_printf(
			s,
			"%s stands out in %.0f of the %u slow ones, and %.0f are needed: record "
			"longer, or lower the limit with --slow\n",
			w->rows[w->row].name, w->number, w->nr_slow, w->limit);
}

/* ---- the whole ---- */

/* What else was longer, and why it is no cause. */
static void put_reasons(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct coati_why_row *row = &w->rows[i];

		if (row->kind == COATI_WHY_REGION)
			continue;
		if (row->verdict == COATI_WHY_SPREAD) {
			put_name(s, row);
			coati_strbuf_adds(s,
					  " varies this much by itself: from its distribution, ");
			coati_format_duration(s, whole_ns(row->tail));
			coati_strbuf_adds(s, " are expected in the slow ones, and they have ");
			coati_format_duration(s, whole_ns(row->slow));
			coati_strbuf_addc(s, '\n');
		} else if (row->verdict == COATI_WHY_MACHINE && row->part == COATI_WAIT_RUNNING) {
			coati_strbuf_adds(s, "the slow ones ran ");
			put_change(s, row->extra, 0);
			coati_strbuf_adds(
				s,
				" longer: sharing a core can make them take up to twice as long\n");
		}
	}
}

static void put_verdict(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	coati_trace_name(s, w->name);
	if (w->answer == COATI_WHY_CAUSES)
		put_causes(t, w);
	else if (w->answer == COATI_WHY_NO_DIFFERENCE)
		put_no_difference(t, w);
	else
		put_cannot_tell(t, w);
	coati_strbuf_printf(s, "%u instances; the slow ones are the %u above ", w->nr, w->nr_slow);
	coati_format_duration(s, w->threshold);
	coati_strbuf_printf(s, "%s, compared with %u around the median\n",
			    w->without_cpu ? " without waiting for a CPU" : "", w->nr_typical);
	if (w->without_cpu)
		coati_strbuf_printf(
			s,
			"%.0f %% of the additional time of the slowest is waiting for a CPU or "
			"interrupts: the machine was busy\n",
			100 * w->machine);
	put_reasons(t, w);
}

#define HEADING "\n      slow   typical      extra  interval (99 %)           "

void coati_why_text(struct trace *t, const struct coati_why *w)
{
	coati_trace_quality(t);
	put_verdict(t, w);
	put_rows(t, w, HEADING "causes", COATI_WHY_CAUSE, false);
	if (w->nr_causes)
		put_rows(t, w, HEADING "where", COATI_WHY_CAUSE, true);
	put_rows(t, w, HEADING "not sure", COATI_WHY_UNSURE, false);
	put_rows(t, w, HEADING "the host may have taken it", COATI_WHY_STOLEN, false);
	put_rows(t, w, HEADING "the machine was busy", COATI_WHY_MACHINE, false);
	put_rows(t, w, HEADING "own spread", COATI_WHY_SPREAD, false);
	put_rows(t, w, HEADING "no difference", COATI_WHY_SAME, false);
}
