/* SPDX-License-Identifier: MIT */
/* Where windows go besides the directory: one line for each kind of sink. */
#include <errno.h>

#include "base/error.h"
#include "cli/agent/session.h"

static int add(struct agent_sinks *s, struct agent_sink sink, struct coati_error *err)
{
	if (s->nr == AGENT_SINKS_MAX)
		return coati_fail(err, -E2BIG, "more than %d destinations for windows",
				  AGENT_SINKS_MAX);
	s->v[s->nr++] = sink;
	return 0;
}

int coati_agent_sinks_open(const struct agent_args *a, struct agent_sinks *s,
			   struct coati_error *err)
{
	int r = 0;

	if (a->print)
		r = add(s, coati_agent_print_sink(), err);
	if (r == 0)
		r = coati_agent_fleet_open(a, s, err);
	return r;
}

void coati_agent_sinks_close(struct agent_sinks *s, uint64_t deadline_ns)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->v[i].close)
			s->v[i].close(s->v[i].ctx, deadline_ns);
	s->nr = 0;
}
