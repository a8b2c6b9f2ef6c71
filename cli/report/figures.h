/* SPDX-License-Identifier: MIT */
/* The figures of a profile's data quality, for --fail-if. */
#pragma once

#include <coati/profile.h>

#include "cli/figures.h"

/* All but live_lost, which the timeline has. */
#define REPORT_FIGURES (((UINT32_C(1) << FIGURE_COUNT) - 1) & ~(UINT32_C(1) << FIGURE_LIVE_LOST))

void coati_report_figures(const struct coati_profile_quality *q, struct figures *ret);
