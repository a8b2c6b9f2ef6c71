/* SPDX-License-Identifier: MIT */
/*
 * Two sorted lists of disjoint ranges come in, one of them lies over the other; the list of what is
 * seen goes out. One pass over both.
 */
#include "base/ranges.h"

/* The part of @m from @start to @end. */
static struct range part(const struct range *m, uint64_t start, uint64_t end)
{
	struct range p = *m;

	p.offset += start - m->start;
	p.start = start;
	p.end = end;
	return p;
}

size_t coati_ranges_overlay(struct range *ret, const struct range_list *over,
			    const struct range_list *under)
{
	size_t nr = 0, i = 0;
	uint64_t covered = 0; /* up to here all is written */

	for (size_t k = 0; k < under->len; k++) {
		const struct range *u = &under->v[k];
		uint64_t at = u->start > covered ? u->start : covered;

		for (; i < over->len && over->v[i].start < u->end; i++) {
			const struct range *o = &over->v[i];

			if (o->start > at)
				ret[nr++] = part(u, at, o->start);
			ret[nr++] = *o;
			covered = o->end;
			at = at > covered ? at : covered;
		}
		if (at < u->end)
			ret[nr++] = part(u, at, u->end);
	}
	for (; i < over->len; i++)
		ret[nr++] = over->v[i];
	return nr;
}
