/* SPDX-License-Identifier: MIT */
/*
 * What COATI_HEAP asks for: a heap profile. libcoati-preload-heap does not look for other runtimes:
 * a program that has one does something else with it, and the two do not know each other's samples.
 */
#include <errno.h>

#include <coati/heap.h>

#include "base/error.h"
#include "live/auto/auto.h"
#include "live/preload/heap.h"
#include "live/profiles/heap.h"

#define MAX_LIVE 1048576u /* address space alone, until it is used */

const bool coati_auto_preloaded = true;
static bool is_inherited; /* from the parent, and on */

bool coati_auto_is_elsewhere(void)
{
	return false;
}

int coati_auto_subject_start(const struct auto_config *c, bool apart, struct coati_error *err)
{
	struct coati_heap_opts opts = { .size = sizeof(opts),
					.rate_bytes = c->rate_bytes,
					.max_live = MAX_LIVE,
					.stacks = c->stacks };

	(void)apart;
	if (!coati_preload_heap_is_called())
		return coati_fail(
			err, -EOPNOTSUPP,
			"the program has a malloc() of its own inside, which cannot be replaced; "
			"link it with the allocator as a library");
	if (is_inherited) {
		is_inherited = false;
		return 0;
	}
	return coati_heap_start(&opts, err);
}

int coati_auto_subject_stop(const struct auto_config *c, int fd, bool *ret_any,
			    struct coati_error *err)
{
	struct coati_heap_stats stats = { .size = sizeof(stats) };

	coati_heap_stop();
	coati_heap_stats(&stats);
	*ret_any = stats.samples;
	return coati_heap_write(fd, c->flags & COATI_SAMPLER_NAMES ? COATI_HEAP_NAMES : 0, err);
}

/* The child has the blocks of its parent, and goes on. */
void coati_auto_subject_forget(void)
{
	is_inherited = heap_is_on();
}
