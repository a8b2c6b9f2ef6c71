/* SPDX-License-Identifier: MIT */
/*
 * One stack, found twice: by tables in a copy of it, and by the kernel through frame pointers.
 * Where the tables come to an end before the root (the copy ends, there is no rule, a runtime went
 * on on another stack) the other one may go on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct splice_chain {
	const uint64_t *v;
	uint32_t nr;
};

/* Where two chains of the same stack meet. */
struct splice {
	uint32_t ours;	 /* this many own frames are kept */
	uint32_t theirs; /* then come theirs from this one on */
};

/* Both begin with the interrupted instruction; all others are return addresses. False when theirs
 * has nothing to add. @is_rooted: theirs ends in a root, so that it counts more than the last
 * own frames.
 *
 * Theirs may lack functions that keep no frame record, and may have frames that ours does not know;
 * those that both have come in the same order. So each address of theirs is looked for in the rest
 * of the own frames. */
bool coati_splice(struct splice_chain ours, struct splice_chain theirs, bool is_rooted,
		  struct splice *ret);
