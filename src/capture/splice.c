/* SPDX-License-Identifier: MIT */
/* see splice.h */
#include "capture/splice.h"

bool coati_splice(const uint64_t *ours, uint32_t nr_ours, const uint64_t *theirs,
		  uint32_t nr_theirs, bool is_rooted, struct splice *ret)
{
	uint32_t next = 0, last = 0; /* of ours to look at; behind the last common one of theirs */

	for (uint32_t j = 0; j < nr_theirs && next < nr_ours; j++) {
		uint32_t k = next;

		while (k < nr_ours && ours[k] != theirs[j])
			k++;
		if (k == nr_ours)
			continue;
		next = k + 1;
		last = j + 1;
	}
	if (!last || last == nr_theirs)
		return false;
	/* the last frame of ours may be of a function without a record: it stays; more than one
	 * means that they disagree */
	if (next + 1 < nr_ours && !is_rooted)
		return false;
	ret->ours = next + 1 < nr_ours ? next : nr_ours;
	ret->theirs = last;
	return true;
}
