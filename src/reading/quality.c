/* SPDX-License-Identifier: MIT */
/* The account: what was counted while reading, and what the stacks and names of the profile say
 * about themselves. */
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/sized.h"
#include "reading/parts.h"
#include "reading/profile.h"

/* Each sample counts in one of six kinds: the worst that is true of its stack. */
enum kind {
	KIND_UNKNOWN = 0,
	KIND_COMPLETE,
	KIND_SINGLE,
	KIND_GUESSED,
	KIND_GAP,
	KIND_TRUNCATED,
	KIND_UNROOTED,
};

static enum kind kind_of(const struct coati_profile *p, const struct coati_profile_stack *s)
{
	uint32_t flags = s->flags;

	if (flags & COATI_STACK_SINGLE)
		return KIND_SINGLE;
	if (flags & (COATI_STACK_GAP | COATI_STACK_TRUNCATED) && coati_profile_ends_in_root(p, s))
		return flags & COATI_STACK_GUESSED ? KIND_GUESSED : KIND_COMPLETE;
	if (flags & COATI_STACK_GAP)
		return KIND_GAP;
	if (flags & COATI_STACK_TRUNCATED)
		return KIND_TRUNCATED;
	if (flags & COATI_STACK_GUESSED)
		return KIND_GUESSED;
	/* who unwound it has seen the end, or counted those of which he has not */
	if (flags & COATI_STACK_UNWOUND || (flags & COATI_STACK_RECORDED && !p->told.is_other))
		return KIND_COMPLETE;
	return coati_profile_has_root(p, s) ? KIND_COMPLETE : KIND_UNROOTED;
}

/* The same, by names that are compared once for a stack; @known may be NULL. */
static enum kind kind_of_stack(const struct coati_profile *p, uint32_t stack, uint8_t *known)
{
	if (!known)
		return kind_of(p, &p->stacks.v[stack]);
	if (!known[stack])
		known[stack] = (uint8_t)kind_of(p, &p->stacks.v[stack]);
	return (enum kind)known[stack];
}

static uint64_t *counter_of(struct coati_profile_quality *q, enum kind kind)
{
	uint64_t *const counters[] = {
		[KIND_UNKNOWN] = &q->unrooted,	[KIND_COMPLETE] = &q->complete,
		[KIND_SINGLE] = &q->single,	[KIND_GUESSED] = &q->guessed,
		[KIND_GAP] = &q->gap,		[KIND_TRUNCATED] = &q->truncated,
		[KIND_UNROOTED] = &q->unrooted,
	};

	return counters[kind];
}

static bool is_nameless(const struct location *l)
{
	return l->pub.nr_names && l->pub.names[0].flags & COATI_NAME_SYNTHETIC;
}

/* The chains did not say so: they were counted as complete. A stack with a guessed frame and a gap
 * is in two counts: what is left is complete for sure, and perhaps some more are. */
static void move(uint64_t *complete, uint64_t *to, uint64_t nr)
{
	if (nr > *complete)
		nr = *complete;
	*complete -= nr;
	*to += nr;
}

static void count_all(const struct coati_profile *p, struct coati_profile_quality *ret)
{
	/* without memory it takes longer */
	CLEANUP(freep) uint8_t *kinds = coati_alloc_array(p->stacks.len + 1, sizeof(*kinds));

	*ret = p->quality;
	if (ret->first_time == UINT64_MAX)
		ret->first_time = 0;
	ret->locations = p->locations.len;
	for (size_t i = 0; i < p->locations.len; i++)
		ret->nameless += is_nameless(&p->locations.v[i]);
	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];
		const struct coati_profile_stack *s = &p->stacks.v[e->stack];

		if (p->events.v[e->event].is_off_cpu) {
			if (s->flags & (COATI_STACK_TRUNCATED | COATI_STACK_GAP) &&
			    !coati_profile_ends_in_root(p, s))
				*(s->flags & COATI_STACK_GAP ? &ret->off_gap
							     : &ret->off_truncated) += e->count;
			continue;
		}
		*counter_of(ret, kind_of_stack(p, e->stack, kinds)) += e->count;
		if (s->flags & COATI_STACK_UNWOUND)
			ret->by_unwinder += e->count;
		else if (!(s->flags & COATI_STACK_SINGLE))
			ret->by_kernel += e->count;
		if (is_nameless(&p->locations.v[s->locations[0]]))
			ret->unsymbolized += e->count;
	}
	if (p->told.is_other)
		return;
	move(&ret->complete, &ret->gap, p->told.gap);
	move(&ret->complete, &ret->truncated, p->told.truncated);
	move(&ret->complete, &ret->guessed, p->told.guessed);
}

int coati_profile_quality(const struct coati_profile *p, struct coati_profile_quality *ret)
{
	struct coati_profile_quality q = { .size = sizeof(q) };

	count_all(p, &q);
	return SIZED_FILL(ret, &q);
}
