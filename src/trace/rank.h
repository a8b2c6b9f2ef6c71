/* SPDX-License-Identifier: MIT */
/* The n-th smallest of many numbers, without sorting them: the time grows with their number alone,
 * whatever they are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number that @rank others do not exceed when they are sorted; @rank below @nr. Few numbers may
 * be sorted in place. */
uint64_t coati_rank(uint64_t *v, size_t nr, size_t rank);
