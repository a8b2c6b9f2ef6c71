/* SPDX-License-Identifier: MIT */
/* Stacks as text, as Go's debug=1 has them: for people; that of the heap pprof reads too. */
#pragma once

#include "base/strbuf.h"
#include "live/pprof/maps.h"

struct text_stack {
	const uint64_t *frames;
	uint32_t nr_frames;
	bool leaf_is_call; /* as in struct pprof_sample */
	const struct coati_labels *labels;
};

/* " @ 0x1 0x2", without a line end. */
void coati_text_addresses(const struct text_stack *stack, struct strbuf *ret);
/* A line for the labels, when there are any, and one for each frame, with @before in front. */
void coati_text_frames(struct live_maps *maps, const struct text_stack *stack, const char *before,
		       struct strbuf *ret);
/* What is mapped where, at the end. */
void coati_text_mappings(const struct live_maps *maps, struct strbuf *ret);
