/* SPDX-License-Identifier: MIT */
/*
 * One function of a report, line by line: its source with the weight of each line, then its
 * instructions where objdump is there. Source files and images are those of this machine, and may
 * have changed since, which a message reports.
 */
#pragma once

#include "cli/report/args.h"

int coati_report_source(struct report *r, const char *function);
