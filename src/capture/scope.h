/* SPDX-License-Identifier: MIT */
/*
 * Of how many threads events are opened. Each thread that is watched has an event of each kind on
 * each CPU: 40,000 descriptors for 10,000 threads on two CPUs. Of many threads, and of those that
 * switch often (switching.h), the events are those of the CPUs, as far as what they say of others
 * can be left out.
 */
#pragma once

#include <stdbool.h>

#define SCOPE_FILTER_THREADS 256 /* as many have events of their own */

struct coati_capture;

enum coati_scope {
	SCOPE_THREADS, /* all events are those of threads, or the machine is watched */
	SCOPE_SIDE,    /* side-band events are those of the CPUs: they tell of the whole machine */
	SCOPE_CPUS,    /* all are, and the walker lets samples of targets through (filter.h) */
};

/* @can_filter: the walker may be used. */
enum coati_scope coati_scope_choose(const struct coati_capture *cap, bool can_filter);
