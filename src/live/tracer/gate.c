/* SPDX-License-Identifier: MIT */
/* The gate, alone: programs that test it and have no event to write, as those with labels, are not
 * given the tracer. */
#include <coati/tracer.h>

uint64_t coati_tracer_gate __attribute__((aligned(64)));
