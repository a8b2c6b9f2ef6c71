/* SPDX-License-Identifier: MIT */
/* Which scopes of labels longjmp() has left. Apart, because programs that set no labels need none
 * of it. Safe in signal handlers. */
#include "live/labels.h"

/* Whether longjmp() has left the function of a scope: its variable is below the stack pointer, or
 * holds something else by now. The variable is on the stack of this thread, which may be read
 * wherever it was once used. */
__attribute__((no_sanitize("address", "thread"))) static bool is_left(const struct label_thread *t,
								      const struct label_slot *s,
								      uint64_t sp)
{
	const volatile struct coati_label_scope *variable;

	if (!s->below)
		return false;
	if (s->below > t->stack_top - sp) /* on another stack: more than any scope has */
		return true;
	variable = (const struct coati_label_scope *)(uintptr_t)(t->stack_top - s->below);
	return variable->serial != s->serial || variable->thread != t;
}

uint32_t coati_label_depth(const struct label_thread *t, uint64_t sp, uint32_t below)
{
	uint32_t depth = t->depth, open = depth;

	while (depth--)
		if (is_left(t, &t->slots[depth], sp) || (below && t->slots[depth].below == below))
			open = depth;
	return open;
}
