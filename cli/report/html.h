/* SPDX-License-Identifier: MIT */
/* A recording as one page for the browser: overview, flame graph, timeline, tables. */
#pragma once

#include "cli/report/args.h"

struct page;

/* Read what @args name into a page. The exit code; what failed was said. Freed by the caller. */
int coati_report_page(const struct report_args *args, struct page **ret);
/* coati report --html. The exit code. */
int coati_report_html(const struct report_args *args);
