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

/* Markers do not count. */
bool coati_chain_is_full(const struct chain_key *key, uint32_t max)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < key->nr; i++)
		nr += key->words[i] < COATI_CONTEXT_MAX;
	return nr >= max;
}

/* What the recorder wrote behind the last address of the chain, which it unwound. */
void coati_chain_take_end(const struct chain_way *way, struct chain_key *key)
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
	const uint64_t *words = way->has_chain ? coati_u64_array(&s->callchain, room) : NULL;

	chain_key_fill(way, s, words, room, key);
}
