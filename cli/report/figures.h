/* SPDX-License-Identifier: MIT */
/* The figures of a profile's data quality, for --fail-if. */
#pragma once

#include <coati/profile.h>

#include "cli/figures.h"

/* All but those of live events, which the timeline and flight recorders have. */
#define REPORT_FIGURES ((UINT32_C(1) << FIGURE_LIVE_LOST) - 1)

void coati_report_figures(const struct coati_profile_quality *q, struct figures *ret);
