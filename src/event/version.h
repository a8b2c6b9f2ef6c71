/* SPDX-License-Identifier: MIT */
/* The optional parts of this build. */
#pragma once

#include <coati/version.h>

/* Optional part number @i of this build: its name, and in *ret_built whether it is in. NULL past
 * the last.  Thread: any.  Signal: safe.  Memory: never allocates. */
const char *coati_feature(unsigned int i, int *ret_built);
