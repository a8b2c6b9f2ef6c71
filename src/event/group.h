/* SPDX-License-Identifier: MIT */
/* Groups, as tests see them: with the kernel as a parameter. */
#pragma once

#include <coati/event.h>

#include "event/calls.h"

uint32_t coati_group_count(const struct coati_group *g);

/* Member @i, owned by the group; NULL past the end or when not open. */
struct coati_event *coati_group_event(const struct coati_group *g, uint32_t i);

/* Take member @i out and close it; the others count on. Not the leader (-EINVAL). */
int coati_group_drop(struct coati_group *g, uint32_t i);

int coati_group_reset(struct coati_group *g);

/* Before coati_group_open(): ask @calls instead of the kernel. */
void coati_group_set_calls(struct coati_group *g, const struct event_calls *calls);
