/* SPDX-License-Identifier: MIT */
/* see quality-advice.h */
#include "cli/quality-advice.h"

#include <string.h>

#include "base/clock.h"

#define ENOUGH 0.8 /* no advice from this share of the CPU time on */
#define FEW    20  /* nor when no more than so many samples are missing */

/* How much is missing; 0: not enough of it to speak of. */
static uint64_t missing_of(const struct seen *n)
{
	uint64_t missing = n->counted > n->sampled ? n->counted - n->sampled : 0;

	if (!n->counted || !n->period || (double)n->sampled >= ENOUGH * (double)n->counted)
		return 0;
	return missing / n->period >= FEW ? missing : 0;
}

/* A thread misses up to a period at its end, and all of its time when that is shorter. */
static bool ends_explain(const struct seen *n, uint64_t missing)
{
	return n->exits && n->exits >= missing / n->period / 2;
}

static void add_period(struct strbuf *s, const struct seen *n)
{
	if (n->event)
		coati_strbuf_grouped(s, n->period);
	else
		coati_format_duration(s, n->period);
}

bool coati_advise_sampled(struct strbuf *s, const struct seen *n, const char *verb)
{
	uint64_t missing = missing_of(n);
	const char *of = n->event ? n->event : "the CPU time";

	if (!missing)
		return false;
	coati_strbuf_printf(s, "%.0f %% of ", 100 * (double)missing / (double)n->counted);
	coati_strbuf_clean(s, of, strlen(of));
	coati_strbuf_adds(s, " has no samples: ");
	if (ends_explain(n, missing)) {
		coati_strbuf_grouped(s, n->exits);
		coati_strbuf_adds(
			s, " processes and threads ended, and those that ran less than a sampling "
			   "period (");
		add_period(s, n);
		coati_strbuf_printf(s,
				    ") have none; %s-F 10000 makes it shorter, -a samples the CPUs "
				    "instead of threads",
				    verb);
	} else if (n->is_part) {
		coati_strbuf_printf(
			s, "only user space or only the kernel was sampled; run as root or set "
			   "sysctl kernel.perf_event_paranoid=1 for both");
	} else if (n->throttled) {
		coati_strbuf_printf(
			s, "the kernel throttled the sampling; %s-F with a lower rate helps", verb);
	} else if (n->lost) {
		coati_strbuf_adds(s, "records were lost");
	} else {
		coati_strbuf_adds(s, "timers fired late, as on a host that takes CPU time away; "
				     "record again when it is quiet");
	}
	return true;
}

bool coati_advise_lost(struct strbuf *s, const struct seen *n, const char *verb)
{
	if (!n->lost)
		return false;
	coati_strbuf_grouped(s, n->lost);
	coati_strbuf_printf(
		s,
		" records were lost because a ring buffer was full: %s--ring-size (-m) 16M makes "
		"it larger, a lower --freq (-F) or --stacks (-g) fp writes less into it",
		verb);
	return true;
}
