/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel refused to open an event, and what to do. In: the errno, what was asked for, and
 * facts about this machine. Out: one sentence that names the event, the cause, the setting as it
 * was found and the command that helps.
 */
#pragma once

#include <coati/event.h>

#include "event/calls.h"
#include "event/facts.h"

struct explain_case {
	int code; /* negative errno */
	const struct coati_attr *attr;
	struct coati_target target;
	const char *label;
	uint32_t open_flags;
	const struct coati_attr *leader; /* NULL: not in a group */
	struct coati_target leader_target;
};

/* Look at the machine, try smaller requests where that tells causes apart, and explain; returns
 * c->code. */
int coati_explain_open(const struct explain_case *c, const struct event_calls *calls,
		       struct coati_error *err);
/* The explanation itself: uses only the given facts. */
int coati_explain(const struct explain_case *c, const struct facts *f, struct coati_error *err);

/* Its parts: the sentence without the subject, into @buf. */
struct explanation {
	char text[400];
};
void coati_explain_refusal(const struct explain_case *c, const struct facts *f,
			   struct explanation *e);
void coati_explain_invalid(const struct explain_case *c, const struct facts *f,
			   struct explanation *e);
void coati_explanation_set(struct explanation *e, const char *fmt, ...) COATI_PRINTF(2, 3);

/* The event watches a CPU with all that runs on it. */
static inline bool explain_cpu_wide(const struct explain_case *c)
{
	return c->target.pid < 0 || c->target.cgroup_fd >= 0;
}

/* Children are followed, and samples carry counts (the modifier S). */
static inline bool explain_inherited_read(const struct explain_case *c)
{
	return c->attr->flags & COATI_ATTR_INHERIT && c->attr->sample_type & COATI_SAMPLE_READ;
}
