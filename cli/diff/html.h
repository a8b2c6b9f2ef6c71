/* SPDX-License-Identifier: MIT */
/* A comparison as one HTML file: the flame graphs of both sides, each colored by what became of
 * its frames. */
#pragma once

#include "cli/diff/args.h"

int coati_diff_html(struct diff *d, const char *path);
