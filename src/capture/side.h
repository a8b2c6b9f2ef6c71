/* SPDX-License-Identifier: MIT */
/*
 * Whose side-band records are taken. Each thread that is watched has an event for them on each CPU:
 * of many threads these are half of all that is opened. Events of the CPUs themselves tell the
 * same, and more, of the whole machine.
 */
#pragma once

#include <stdbool.h>

#include "capture/capture.h"

/* Are there enough threads that the events of the CPUs are cheaper? Not where rings must end with
 * the process alone, or where records of other processes cannot be left out. */
bool coati_side_is_wide(const struct coati_capture *cap);
