/* SPDX-License-Identifier: MIT */
/* Groups, as tests see them: with the kernel as a parameter. */
#pragma once

#include <coati/event.h>

#include "event/calls.h"

/* Before coati_group_open(): ask @calls instead of the kernel. */
void coati_group_set_calls(struct coati_group *g, const struct event_calls *calls);
