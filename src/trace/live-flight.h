/* SPDX-License-Identifier: MIT */
/* The inside of struct coati_flight: where in a file the memory of a flight recorder lies, and what its head said when it was checked. */
#pragma once

#include <stdbool.h>

#include <coati/trace.h>

#include "base/array.h"
#include "record/live-format.h"

/* Where the memory lies. */
struct flight_place {
	int fd;
	uint64_t at, bytes;
	uint32_t signal;
	bool is_core;
};

/* Whether @fd is a core file: 1 and where the recorder's memory is (*ret->fd may be another file, which the caller closes), 0: it is none; negative with the sentence. */
int coati_flight_core(int fd, struct flight_place *ret, struct coati_error *err);
