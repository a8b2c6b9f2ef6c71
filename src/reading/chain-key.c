/* SPDX-License-Identifier: MIT */
/* see chain-key.h */
#include "reading/chain-key.h"

#include "record/chain-end.h"
#include "record/record.h"

/* Frames that the kernel takes at most when the event does not say: kernel.perf_event_max_stack as
 * it is born. */
#define DEFAULT_MAX_STACK 127

struct chain_way coati_chain_way(const struct coati_attr *attr, bool may_unwind, bool is_told)
{
	uint64_t type = attr->sample_type;

	return (struct chain_way){
		.has_chain = type & COATI_SAMPLE_CALLCHAIN,
		.unwinds = may_unwind && type & COATI_SAMPLE_REGS_USER &&
			   type & COATI_SAMPLE_STACK_USER,
		.is_told = is_told,
		.max_stack = attr->sample_max_stack ? attr->sample_max_stack : DEFAULT_MAX_STACK,
	};
}

/* Is the chain as long as the recorder allowed? Markers do not count. */
static bool is_full(const struct chain_key *key, uint32_t max)
{
	uint32_t nr = 0;

	if (key->nr < max)
		return false;
	for (uint32_t i = 0; i < key->nr; i++)
		nr += key->words[i] < COATI_CONTEXT_MAX;
	return nr >= max;
}

/* What the recorder wrote behind the last address of the chain, which it unwound. */
static void take_end(const struct chain_way *way, struct chain_key *key)
{
	switch (chain_end_of(key->words, key->nr, &key->nr)) {
	case CHAIN_END_COMPLETE:
		key->mode |= way->is_told ? CHAIN_RECORDED : 0;
		break;
	case CHAIN_END_CUT:
		key->mode |= CHAIN_RECORDED | CHAIN_FULL;
		break;
	case CHAIN_END_GAP:
		key->mode |= CHAIN_RECORDED | CHAIN_GAP;
		break;
	case CHAIN_END_GUESSED:
		key->mode |= CHAIN_RECORDED | CHAIN_GUESSED;
		break;
	default: /* its last frame tells */
		key->mode |= CHAIN_CONTINUED;
		break;
	}
}

void coati_chain_key(const struct chain_way *way, const struct coati_sample *s, uint64_t *room,
		     struct chain_key *key)
{
	uint32_t first = 0;

	if (way->has_chain && s->callchain.count) {
		key->words = coati_u64_array(&s->callchain, room);
		key->nr = s->callchain.count;
		while (first < key->nr && key->words[first] >= COATI_CONTEXT_MAX)
			first++;
	}
	if (first < key->nr) {
		if (s->present & COATI_SAMPLE_IP && key->words[first] != s->ip)
			key->leaf = s->ip;
		if (is_full(key, way->max_stack))
			key->mode |= CHAIN_FULL;
		take_end(way, key);
		return;
	}
	/* no stack was taken, or it is empty */
	room[0] = s->present & COATI_SAMPLE_IP ? s->ip : 0;
	key->words = room;
	key->nr = 1;
	key->mode |= way->has_chain ? 0 : CHAIN_SINGLE;
}
