/* SPDX-License-Identifier: MIT */
/* Event lists in tests: one call that parses or fails the test, and one that wants a failure. */
#pragma once

#include <coati/event.h>

#include "lib/test.h"

/* A list over the trees @sysfs and @tracefs (NULL: such that do not exist). */
struct coati_event_list *events_new(const char *sysfs, const char *tracefs);
/* Parse @text into a new list over trees that do not exist. */
struct coati_event_list *events_parse(const char *text);
/* The only event of @list. */
const struct coati_event_desc *events_one(struct coati_event_list *list);

/* @text is refused with @code at @column, and the message has @part. */
void events_refused(struct coati_event_list *list, const char *text, int code, int column,
		    const char *part);
