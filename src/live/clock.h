/* SPDX-License-Identifier: MIT */
/* The clock of the live library, from the readings that it is made of. */
#pragma once

#include <coati/live.h>

#include "arch/clock-pair.h"

/* A clock from two pairs of readings, @a before @b. When they contradict each other, or tell a rate
 * that no counter has, it is clock_gettime() (source 0). */
struct coati_live_clock coati_live_clock_of(const struct arch_pair *a, const struct arch_pair *b);
