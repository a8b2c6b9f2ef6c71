/* SPDX-License-Identifier: MIT */
/* SIGHUP asks an agent to read its configuration again. */
#pragma once

#include <stdbool.h>

/* From now on; what came before is forgotten. */
void coati_agent_hangup_catch(void);
bool coati_agent_hangup_came(void);
