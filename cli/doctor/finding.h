/* SPDX-License-Identifier: MIT */
/*
 * What the doctor finds: one line about one facility of the machine, with the consequence and the
 * exact remedy where something is wanting. The checks turn facts of event/host.h into findings and
 * touch nothing themselves, so that tests can give them machines that do not exist.
 */
#pragma once

#include <stdint.h>

#include "event/host.h"

#include "sandbox/sandbox.h"

enum finding_state { FINDING_UNKNOWN = 0, FINDING_OK, FINDING_LIMITED, FINDING_MISSING };

#define FINDING_TEXT 320

struct finding {
	enum finding_state state;
	const char *topic;
	char found[FINDING_TEXT];  /* what is there */
	char means[FINDING_TEXT];  /* the consequence, "" when all is well */
	char remedy[FINDING_TEXT]; /* the command or step that helps, "" when there is none */
};

/* "ok", "limited", "missing" */
const char *coati_finding_word(enum finding_state state);
/* What the kernel offers to confine readers. */
void coati_finding_sandbox(const struct sandbox_support *s, struct finding *f);
/* Finding @i about what coati agent needs on @host; 0 past the last. Looks at the machine. */
int coati_finding_agent(const struct coati_host *host, uint32_t i, struct finding *ret);
/* Finding @i about @host; 0 past the last. */
int coati_finding_get(const struct coati_host *host, uint32_t i, struct finding *ret);
