/* SPDX-License-Identifier: MIT */
/*
 * When the weight of each entry came, for those who compare profiles over time
 * (COATI_PROFILE_SERIES). An entry with weight in many bins would be as many entries, each of which
 * is looked for in a table that is too large for the caches. Samples come in the order of time, so
 * that an entry's last bin is known and a new one goes to the end of a list: nothing is looked for,
 * and who reads the list reads it in the order of time.
 */
#pragma once

#include <stdint.h>

/* Weight of an entry in a bin. An entry may have several in one bin where records come late. */
struct series_item {
	uint32_t entry, bin;
	uint64_t count, weight;
};

/* The newest item of an entry. */
struct series_tail {
	uint32_t item; /* plus 1; 0: none */
	uint32_t bin;  /* of it: the last in which the entry has weight */
};

struct coati_profile;
struct coati_profile_entry;

/* Count and weight of @e go to its bin, as those of entry @number. -ENOMEM, -E2BIG over a
 * ceiling.  Hot. */
int coati_series_add(struct coati_profile *p, uint32_t number, const struct coati_profile_entry *e);
/* Bins became twice as long: items of an entry that are now in one bin become one. */
void coati_series_join(struct coati_profile *p);
