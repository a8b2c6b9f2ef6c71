/* SPDX-License-Identifier: MIT */
/* see splice.h */
#include "capture/splice.h"

bool coati_splice(struct splice_chain ours, struct splice_chain theirs, bool is_rooted,
		  struct splice *ret)
{
	uint32_t next = 0, last = 0; /* own frames to look at; after the last one that both have */

	for (uint32_t j = 0; j < theirs.nr && next < ours.nr; j++) {
		uint32_t k = next;

		while (k < ours.nr && ours.v[k] != theirs.v[j])
			k++;
		if (k == ours.nr)
			continue;
		next = k + 1;
		last = j + 1;
	}
	if (!last || last == theirs.nr)
		return false;
	/* the last own frame may be of a function without a record: it stays; more than one means
	 * that they disagree */
	if (next + 1 < ours.nr && !is_rooted)
		return false;
	ret->ours = next + 1 < ours.nr ? next : ours.nr;
	ret->theirs = last;
	return true;
}
