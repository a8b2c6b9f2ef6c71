/* SPDX-License-Identifier: MIT */
/*
 * coati_profile_new(): a profile, with the labels, tasks and regions of live events when they are
 * asked for. It stands here because live events are read here, on top of profiles.
 */
#include <coati/profile.h>

#include "base/error.h"
#include "base/sized.h"
#include "profile/hooks.h"
#include "trace/contexts.h"

static void free_contexts(void *ctx)
{
	struct coati_contexts *c = ctx;

	coati_contexts_free(&c);
}

int coati_profile_new(const struct coati_profile_opts *opts, struct coati_profile **ret,
		      struct coati_error *err)
{
	struct coati_profile_hooks hooks = { .free_contexts = free_contexts };
	struct coati_contexts *c = NULL;
	struct coati_profile_opts o;
	int r = SIZED_COPY(&o, opts);

	if (r < 0)
		return coati_fail(err, r, "options of a newer library, or a wrong size field");
	if (!(o.flags & COATI_PROFILE_LIVE))
		return coati_profile_make(opts, NULL, ret, err);
	r = coati_contexts_new(&c, err);
	if (r < 0)
		return r;
	hooks.contexts = coati_contexts_source(c);
	r = coati_profile_make(opts, &hooks, ret, err);
	if (r < 0)
		coati_contexts_free(&c);
	return r;
}
