/* SPDX-License-Identifier: MIT */
/* What a person should know about the events before the numbers come: which are not counted, and
 * which only in part. */
#pragma once

#include "cli/stat/meter.h"

/* Lines on stderr about the opened events of @m. */
void coati_stat_announce(const struct stat_meter *m);
