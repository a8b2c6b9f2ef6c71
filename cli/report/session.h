/* SPDX-License-Identifier: MIT */
/* A report from its arguments to its last line: find the recording, read it, choose the view. The
 * exit code. */
#pragma once

#include "cli/report/args.h"

int coati_report_session(const struct report_args *args);
