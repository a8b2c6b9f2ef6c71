/* SPDX-License-Identifier: MIT */
/* A file that is named twice counts twice, and would pass for two runs that do not differ. */
#pragma once

#include "base/options.h"

/* One of them that is named twice, whatever its names; NULL: none, or out of memory. Before a
 * sandbox is entered. */
const char *coati_twin_find(const struct option_texts *files);
