/* SPDX-License-Identifier: MIT */
/* coati diff at work: read both sides, compare, show, and decide how to end. */
#pragma once

#include "cli/diff/args.h"

/* The exit code. */
int coati_diff_session(const struct diff_args *args);
