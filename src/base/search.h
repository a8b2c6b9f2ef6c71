/* SPDX-License-Identifier: MIT */
/* The binary search of the project. */
#pragma once

/* The first index in [@from, @to) for which @before is false, @to when there is none. @before is an
 * expression with the index @i; it must be true for all indexes in front of one for which it is,
 * as "v[i].time <= time" is where v is sorted by time. */
#define SEARCH(i, from, to, before)                                                              \
	({                                                                                       \
		__typeof__((to) + 0) search_low_ = (from), search_high_ = (to);                  \
                                                                                                 \
		while (search_low_ < search_high_) {                                             \
			__typeof__((to) + 0) i = search_low_ + (search_high_ - search_low_) / 2; \
                                                                                                 \
			if (before)                                                              \
				search_low_ = i + 1;                                             \
			else                                                                     \
				search_high_ = i;                                                \
		}                                                                                \
		search_low_;                                                                     \
	})
