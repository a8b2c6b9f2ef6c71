/* SPDX-License-Identifier: MIT */
/* Making the tracing data blob: the mirror of tracing.c. */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"

/* A tracepoint of the recording: its id, and its name "system:name" where the event is called so
 * (modifiers may follow). */
struct tracing_event {
	uint64_t id;
	const char *name;
};

/* Append the blob for @events to @blob, from the tracefs mounted at @tracefs. -ENOENT names a
 * tracepoint that is not there. */
int coati_tracing_data(const char *tracefs, const struct tracing_event *events, uint32_t nr,
		       struct strbuf *blob, struct coati_error *err);
