/* SPDX-License-Identifier: MIT */
/*
 * A session of coati stat: starts the command or attaches to the targets, counts until the end (of
 * the command, of the targets, of the duration, or until asked to stop), and reports runs and
 * intervals.
 */
#pragma once

#include "cli/stat/args.h"

/* Do what @args asks; returns the exit code of the tool. Everything was said. */
int coati_stat_session(const struct stat_args *args);
