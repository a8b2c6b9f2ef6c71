/* SPDX-License-Identifier: MIT */
/*
 * The answer to the whole question: these causes, no difference, or cannot tell. Each comes with
 * the comparison that decided it. Causes that were found stand, whatever else is unclear.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "reading/wait.h"
#include "trace/timeline.h"
#include "trace/why.h"

#define UNKNOWN_MOST 0.5 /* of the slow ones' time */

static void set(struct coati_why *w, enum coati_why_answer answer, enum coati_why_reason reason,
		double number, double limit)
{
	w->answer = answer;
	w->reason = reason;
	w->number = number;
	w->limit = limit;
}

static void set_by_row(struct coati_why *w, enum coati_why_answer answer,
		       enum coati_why_reason reason, uint32_t row)
{
	set(w, answer, reason, w->rows[row].number, w->rows[row].limit);
	w->row = row;
}

/* The first row of a verdict that is not about a region; NONE. */
static uint32_t find_row(const struct coati_why *w, enum coati_why_verdict verdict)
{
	for (uint32_t i = 0; i < w->nr_rows; i++)
		if (w->rows[i].kind != COATI_WHY_REGION && w->rows[i].verdict == verdict)
			return i;
	return COATI_TIMELINE_NONE;
}

/* Share of the slow ones' time of which the recording says nothing. */
static double unknown_share(const struct coati_why *w)
{
	for (uint32_t i = 0; i < w->nr_rows; i++)
		if (w->rows[i].kind == COATI_WHY_PART && w->rows[i].part == COATI_WAIT_UNKNOWN)
			return w->slow > 0 ? w->rows[i].slow / w->slow : 0;
	return 0;
}

static int find_mixture(const struct comparison *c, double *ret)
{
	CLEANUP(freep) double *sorted = coati_alloc_array(c->list.len + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < c->list.len; i++)
		sorted[i] = (double)c->order[i].ns;
	*ret = coati_why_mixture(sorted, c->list.len);
	return 0;
}

/* The row that came nearest to being a cause. */
static uint32_t nearest(const struct coati_why *w)
{
	uint32_t best = COATI_TIMELINE_NONE;
	double most = -1;

	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct coati_why_row *row = &w->rows[i];
		double ratio = row->limit > 0 ? row->number / row->limit : 0;

		if (row->kind == COATI_WHY_REGION || why_is_machine(row->part) || ratio <= most)
			continue;
		most = ratio;
		best = i;
	}
	return best;
}

int coati_why_answer(const struct comparison *c, struct coati_why *w)
{
	uint32_t stolen = find_row(w, COATI_WHY_STOLEN), unsure = find_row(w, COATI_WHY_UNSURE);
	double unknown = unknown_share(w), mixture = 0;
	int r = 0;

	w->row = COATI_TIMELINE_NONE;
	if (w->nr_slow < WHY_SLOW_LEAST) {
		set(w, COATI_WHY_CANNOT_TELL, COATI_WHY_BY_COUNT, w->nr_slow, WHY_SLOW_LEAST);
	} else if (w->nr_typical < WHY_TYPICAL_LEAST) {
		set(w, COATI_WHY_CANNOT_TELL, COATI_WHY_BY_COUNT, w->nr_typical, WHY_TYPICAL_LEAST);
	} else if (w->nr_causes) {
		set_by_row(w, COATI_WHY_CAUSES, COATI_WHY_BY_EXTRA, 0);
	} else if (unknown > UNKNOWN_MOST) {
		set(w, COATI_WHY_CANNOT_TELL, COATI_WHY_BY_UNKNOWN, unknown, UNKNOWN_MOST);
	} else if (stolen != COATI_TIMELINE_NONE) {
		set_by_row(w, COATI_WHY_CANNOT_TELL, COATI_WHY_BY_STEAL, stolen);
	} else {
		r = find_mixture(c, &mixture);
		if (mixture > 0) {
			set(w, COATI_WHY_CANNOT_TELL, COATI_WHY_BY_MIXTURE, mixture, WHY_MIXED);
		} else if (unsure != COATI_TIMELINE_NONE) {
			set(w, COATI_WHY_CANNOT_TELL, COATI_WHY_BY_AFFECTED,
			    w->rows[unsure].nr_affected, (double)why_needed(w->nr_slow));
			w->row = unsure;
		} else if (nearest(w) != COATI_TIMELINE_NONE) {
			set_by_row(w, COATI_WHY_NO_DIFFERENCE, COATI_WHY_BY_EXTRA, nearest(w));
		}
	}
	return r;
}
