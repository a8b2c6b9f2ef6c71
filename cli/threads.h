/* SPDX-License-Identifier: MIT */
/* How many threads read recordings: by the option, COATI_THREADS in the environment, or the CPUs
 * that are there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "recording/threads.h"

/* Before the process is confined. @given: by the option, 0: it was not given. False: it was said
 * why not. */
bool coati_threads_choose(uint32_t given);

#define OPT_THREADS(type, member)                                              \
	OPT_U32(0, "threads", type, member, "N",                               \
		"threads that read a recording (default: CPUs, at most 4)", 1, \
		RECORDING_THREADS_MAX)
