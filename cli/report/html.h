/* SPDX-License-Identifier: MIT */
/* A report as one HTML file with a flame graph in it: no network, nothing beside it. */
#pragma once

#include "cli/report/args.h"

int coati_report_html(struct report *r, const char *path);
