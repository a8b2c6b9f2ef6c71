/* SPDX-License-Identifier: MIT */
/* The figures of a flight recorder's data quality; see autopsy.h. */
#include "cli/autopsy/autopsy.h"

void coati_autopsy_figures(const struct autopsy *a, struct figures *ret)
{
	const struct coati_trace_quality *q = &a->quality;
	uint64_t damaged = q->damaged + a->info.nr_damaged;

	*ret = (struct figures){ 0 };
	coati_figure_set(ret, FIGURE_EVENTS, q->events, 0);
	coati_figure_set(ret, FIGURE_LOST, q->lost, q->events + q->lost);
	coati_figure_set(ret, FIGURE_LATE, q->late, q->events);
	coati_figure_set(ret, FIGURE_UNRESOLVED, q->unresolved, q->events + q->unresolved);
	coati_figure_set(ret, FIGURE_DAMAGED, damaged, q->batches + damaged);
	coati_figure_set(ret, FIGURE_MISSING_BATCHES, q->missing, q->batches + q->missing);
	coati_figure_set(ret, FIGURE_CLOCK_UNKNOWN, q->clock_unknown, q->batches);
	coati_figure_set(ret, FIGURE_INCOMPLETE_GENERATIONS, q->incomplete, q->generations);
	/* behind regions that are nested too deeply nothing is checked */
	if (!a->too_deep)
		coati_figure_set(ret, FIGURE_CONTRADICTIONS, a->findings, q->events);
}

/* Its oldest events were overwritten, as those of every flight recorder: that is no fault. */
void coati_autopsy_faults(const struct autopsy *a, struct faults *ret)
{
	const struct coati_trace_quality *q = &a->quality;

	*ret = (struct faults){ .damaged = a->info.nr_damaged,
				.late = q->late,
				.live_lost = q->lost,
				.batches_missing = q->missing + a->info.nr_changed,
				.batches_damaged = q->damaged };
}
