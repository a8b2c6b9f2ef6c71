/* SPDX-License-Identifier: MIT */
/* What COATI_PROFILE asks for: a profile of CPU or wall time, by the sampler. */
#include <signal.h>

#include "live/auto/auto.h"
#include "live/sampler/sampler.h"

/* Which signal samples come with: programs are kept from blocking it. */
static void note_signal(void)
{
	struct sigaction now;
	int sig = SIGTRAP;

	if (coati_sampler_sigaction(SIGPROF, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
	    now.sa_sigaction == coati_sampler_handler)
		sig = SIGPROF;
	atomic_store_explicit(&coati_auto_words.signal, sig, memory_order_relaxed);
}

int coati_auto_subject_start(const struct auto_config *c, bool apart, struct coati_error *err)
{
	struct coati_sampler_opts opts = {
		.size = sizeof(opts),
		.rate_hz = c->rate_hz,
		.engine = c->engine,
		.max_depth = c->max_depth,
		.stacks = c->stacks,
		.clock = c->clock,
		.flags = c->flags | (apart ? COATI_SAMPLER_OWN_FILES : 0),
	};
	int r = coati_sampler_start(&opts, err);

	if (r == 0)
		note_signal();
	return r;
}

int coati_auto_subject_stop(const struct auto_config *c, int fd, bool *ret_any,
			    struct coati_error *err)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	int r = coati_sampler_stop(fd, &stats, err);

	(void)c;
	*ret_any = stats.samples;
	return r;
}

void coati_auto_subject_forget(void)
{
	coati_sampler_forget();
}
