/* SPDX-License-Identifier: MIT */
/* see report/figures.h */
#include "cli/report/figures.h"

#include "reading/parts.h"

static void set_stacks(const struct coati_profile_quality *q, struct figures *f)
{
	uint64_t all = coati_profile_with_stacks(q);

	coati_figure_set(f, FIGURE_COMPLETE, q->complete, all);
	coati_figure_set(f, FIGURE_TRUNCATED, q->truncated, all);
	coati_figure_set(f, FIGURE_GAP, q->gap, all);
	coati_figure_set(f, FIGURE_GUESSED, q->guessed, all);
	coati_figure_set(f, FIGURE_ROOT_UNKNOWN, q->unrooted, all);
	coati_figure_set(f, FIGURE_NO_STACK, q->single, q->samples);
	coati_figure_set(f, FIGURE_UNSYMBOLIZED, q->unsymbolized, q->samples);
}

static void set_off_cpu(const struct coati_profile_quality *q, struct figures *f)
{
	coati_figure_set(f, FIGURE_OFF_NO_STACK, q->off_no_stack, q->off_intervals);
	coati_figure_set(f, FIGURE_OFF_TRUNCATED, q->off_truncated, q->off_intervals);
	coati_figure_set(f, FIGURE_OFF_GAP, q->off_gap, q->off_intervals);
	coati_figure_set(f, FIGURE_OFF_UNPAIRED, q->off_unpaired,
			 q->off_intervals + q->off_unpaired);
}

void coati_report_figures(const struct coati_profile_quality *q, struct figures *ret)
{
	uint64_t taken = q->samples + q->filtered;

	*ret = (struct figures){ 0 };
	coati_figure_set(ret, FIGURE_SAMPLES, q->samples, 0);
	coati_figure_set(ret, FIGURE_LOST, q->lost, taken + q->lost);
	coati_figure_set(ret, FIGURE_THROTTLED, q->throttled, 0);
	if (q->counted)
		coati_figure_set(ret, FIGURE_SAMPLED,
				 q->sampled < q->counted ? q->sampled : q->counted, q->counted);
	/* of no stacks and no waits nothing is known */
	if (q->samples)
		set_stacks(q, ret);
	if (q->off_intervals || q->off_unpaired)
		set_off_cpu(q, ret);
	coati_figure_set(ret, FIGURE_DAMAGED, q->damaged, q->records + q->damaged);
	coati_figure_set(ret, FIGURE_LATE, q->late, q->records);
	coati_figure_set(ret, FIGURE_REFUSED, q->refused, q->samples + q->refused);
	coati_figure_set(ret, FIGURE_NO_EVENT, q->no_event, taken + q->no_event);
}
