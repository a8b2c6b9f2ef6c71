/* SPDX-License-Identifier: MIT */
/*
 * The names that every kernel knows, in all their spellings: hardware, software and cache events
 * (record/event-name.h), and what the tool measures itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/event.h>

#include "base/match.h"
#include "event/lexer.h"
#include "record/event-name.h"

/* As the others in record/event-name.h. */
#define TOOL_NAMES(X)                                                                        \
	X(COATI_TOOL_DURATION, "duration_time", "", "wall-clock time of the measurement")    \
	X(COATI_TOOL_USER, "user_time", "", "time in user space, as the kernel accounts it") \
	X(COATI_TOOL_SYSTEM, "system_time", "", "time in the kernel, as the kernel accounts it")

struct event_symbol {
	enum coati_event_kind kind;
	uint32_t type;
	uint64_t config;
	const char *name, *alias, *description;
};

/* Row @i of the hardware, software and tool tables, NULL past the end. */
const struct event_symbol *coati_symbol_get(size_t i);
/* By name or other spelling, cache events included in all their spellings.
 * 1 found; 0 no such name; -EINVAL: a cache event that cannot be, *ret_why says why. */
int coati_symbol_find(struct slice name, struct event_symbol *ret, const char **ret_why);
/* Offer every name to @n. */
void coati_symbol_nearest(struct nearest *n);
