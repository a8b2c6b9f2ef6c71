/* SPDX-License-Identifier: MIT */
/*
 * A reader in its sandbox whose code was taken over: a process of a test enters the sandbox as the
 * tool does, and then does what an attacker would do.
 */
#pragma once

#include <stdbool.h>

#include "lib/test.h"
#include "sandbox/sandbox.h"

#define CAPTIVE_RESULTS 128

/* Something that is tried: 0 when it worked, else the errno. */
struct attempt {
	const char *what;
	int (*try)(void);
	int want;
};

/* Skips the test where the kernel confines nobody. */
void need_sandbox(void);
/* In a process of its own that is confined so: @act, whose results come back. No policy: it is not
 * confined, which shows that the same attempts work then. */
void captive_run(const struct sandbox_policy *policy, void (*act)(int *results), int *ret);
/* Each attempt in turn; what did not end as it should is said. */
void captive_try(const struct sandbox_policy *policy, const struct attempt *attempts, size_t nr);
/* The descriptor that leads to the broker. */
int captive_channel(void);
