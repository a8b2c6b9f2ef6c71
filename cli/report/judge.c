/* SPDX-License-Identifier: MIT */
/* The exit status by the figures of the data quality line; see report/figures.h. */
#include "cli/faults.h"
#include "cli/report/figures.h"

int coati_report_judge(const struct coati_profile *p, const struct judgment *j)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct figures figures;
	struct faults faults;
	int sound = EXIT_DONE, ret;

	coati_profile_quality(p, &q);
	coati_report_figures(&q, &figures);
	ret = coati_conditions_judge(j->fail_if, &figures);
	if (j->is_strict) {
		coati_faults_of_profile(p, &faults);
		sound = coati_faults_judge(&faults, j->input);
	}
	return sound != EXIT_DONE ? sound : ret;
}
