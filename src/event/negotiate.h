/* SPDX-License-Identifier: MIT */
/*
 * Opening an event on a kernel that may not know all that is asked for. In: the request as wanted.
 * Out: a descriptor and what had to be left out; or the error, with the request as it was.
 *
 * Two kinds of steps. Where the kernel or its settings name the cause (attribute too long, rate or
 * stack depth over the sysctl, kernel part refused) exactly that is changed. A bare EINVAL names
 * nothing: then features are left out one after the other, newest first, in the order of the
 * COATI_DROP_* bits, and given back as far as possible once it opened.
 */
#pragma once

#include <stdbool.h>

#include "event/calls.h"

struct negotiation {
	const struct event_calls *calls;
	struct open_args args;
	uint32_t flags;	    /* COATI_EVENT_* */
	bool lost_optional; /* COATI_READ_LOST (6.0) may be left out whatever the flags say */
	uint32_t dropped;   /* out: COATI_DROP_* */
};

/* A descriptor, or a negative errno. */
int coati_negotiate(struct negotiation *n);
