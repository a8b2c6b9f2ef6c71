/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel refused to open an event, and what to do. In: the errno, what was asked for, and facts about this
 * machine. Out: one sentence that names the event, the cause, the setting as it was found and the command that helps.
 */
#pragma once

#include <coati/event.h>

#include "event/calls.h"

struct explain_case {
	int code; /* negative errno */
	const struct coati_attr *attr;
	struct coati_target target;
	const char *label;
	uint32_t open_flags;
	const struct coati_attr *leader; /* NULL: not in a group */
	struct coati_target leader_target;
};

/* Look at the machine and explain; returns c->code. */
int coati_explain_open(const struct explain_case *c, const struct event_calls *calls,
		       struct coati_error *err);
