/* SPDX-License-Identifier: MIT */
/*
 * Contexts of a program that runs: batches come in as they are written, labels for samples of the
 * last seconds go out. Unlike those of a file, nothing is kept for long.
 *
 *	coati_contexts_new(&c, &err);
 *	coati_contexts_live_begin(c);
 *	coati_contexts_live_feed(c, bytes, size, on_event, ctx);
 *	coati_contexts_source(c)->find(c, pid, tid, time, &labels);
 *	coati_contexts_live_trim(c, time, bytes);
 *	coati_contexts_free(&c);
 */
#pragma once

#include <coati/trace.h>

struct coati_contexts;

/* Each event in order, after the contexts know it. */
typedef void (*coati_live_event_fn)(void *ctx, const struct coati_trace_event *e);

int coati_contexts_live_begin(struct coati_contexts *c);
/* A batch, or NULL: all of them were there. -ENOMEM; -E2BIG: over our limits, it is left out. */
int coati_contexts_live_feed(struct coati_contexts *c, const void *batch, size_t size,
			     coati_live_event_fn fn, void *ctx);
/* Up to when all events are known; 0: there were none. */
uint64_t coati_contexts_live_horizon(const struct coati_contexts *c);
/* Times before @before are not asked for again. When labels take more than @max_bytes, those that
 * no thread has now are dropped. -ENOMEM. */
int coati_contexts_live_trim(struct coati_contexts *c, uint64_t before, size_t max_bytes);
