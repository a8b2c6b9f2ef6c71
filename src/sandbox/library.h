/* SPDX-License-Identifier: MIT */
/*
 * Libraries that are loaded when they are first needed (dlopen), by a process that will not be able
 * to open files. Loading all of them beforehand would take longer than most reports.
 */
#pragma once

#include "sandbox/landlock.h"

/* Let the loader find them later: @l allows to read exactly their files. Those that it would look
 * for elsewhere, and all when @l is NULL, are loaded now. */
void coati_libraries_keep(struct landlock *l, const char *const *names);
