/* SPDX-License-Identifier: MIT */
/* The table of a report: rows by function, line, image, thread ... as text, CSV or JSON. The exit
 * code. */
#pragma once

#include "cli/report/args.h"

int coati_report_table(struct report *r);
