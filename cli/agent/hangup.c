/* SPDX-License-Identifier: MIT */
/* see hangup.h */
#include "cli/agent/hangup.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t hangups;

static void on_hangup(int sig)
{
	(void)sig;
	hangups = 1;
}

void coati_agent_hangup_catch(void)
{
	struct sigaction act = { .sa_handler = on_hangup };

	hangups = 0;
	sigaction(SIGHUP, &act, NULL);
}

bool coati_agent_hangup_came(void)
{
	return hangups != 0;
}
