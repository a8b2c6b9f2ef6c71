/* SPDX-License-Identifier: MIT */
/*
 * From windows to parcels. The encoder remembers which stacks and contexts it has put into parcels
 * this month, so that each travels once, and folds rare contexts into "other" when a window has
 * more of them than the cap.
 *
 * A context is everything that a row has besides service, event, stack and time: host, agent,
 * process, thread name and labels.
 */
#pragma once

#include <stdint.h>

#include "agent/window.h"
#include "base/map.h"
#include "fleet/parcel.h"

#define ENCODER_CONTEXTS 1000 /* of a window: the default of the cap */
#define ENCODER_OTHER	 "other"

struct encoder {
	struct map stacks;   /* hash of service and low half of the id, to the high half */
	struct map contexts; /* id to 1 */
	uint32_t max_contexts;
	uint64_t month;
	/* Raised when a window does not begin after the one before: the clock was set back, or a
	 * window was shorter than a second. Part of contexts, so that a row is known by (service,
	 * type, stack, time, context). */
	uint64_t epoch, last_time_s;
};

/* @max_contexts 0: the default. */
void coati_encoder_init(struct encoder *e, uint32_t max_contexts);
void coati_encoder_fini(struct encoder *e);
/* The server may not have what was sent: send all stacks and contexts again. */
void coati_encoder_forget(struct encoder *e);
/* @skew_s: what to add to the agent's clock to have the server's. @ret becomes a parcel of its own.
 * -ENOMEM, -E2BIG. */
int coati_encoder_window(struct encoder *e, const struct agent_window *w, int64_t skew_s,
			 struct parcel *ret);
/* A recording that was kept becomes a row of @p. */
void coati_encoder_kept(struct strbuf *s, const struct agent_kept *k, const char *host,
			const char *agent);
