/* SPDX-License-Identifier: MIT */
/*
 * Samples that programs took of themselves, for a summary of a timeline: batches of live events
 * wait in a backlog anyway, and are decoded for samples only from the first on that has some. Most
 * recordings have none.
 */
#pragma once

#include <stdbool.h>

#include "reading/hooks.h"
#include "trace/backlog.h"

struct late_samples {
	struct coati_context_source source;	 /* for coati_profile_hooks.contexts */
	const struct coati_context_source *bare; /* that decodes */
	struct backlog *backlog;		 /* takes every batch */
	bool is_awake;				 /* there are samples */
};

void coati_late_samples_init(struct late_samples *s, const struct coati_context_source *bare,
			     struct backlog *backlog);
