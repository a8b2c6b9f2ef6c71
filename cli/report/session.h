/* SPDX-License-Identifier: MIT */
/* A report from its arguments to its last line: find the recording, read it, choose the view. The
 * exit code. */
#pragma once

#include "cli/report/args.h"

int coati_report_session(const struct report_args *args);
/* Before the first byte of an input is read; @newest: the one that is read when none is named.
 * False: it was said why not. */
bool coati_report_confine(const struct report_args *a, const char *newest);
