/* SPDX-License-Identifier: MIT */
/* Batches as a recording: a perf.data for pipes, which every reader of recordings takes. Ordinary
 * code. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* What comes first, once. */
void coati_tracer_carry_head(struct strbuf *out);
/* Name and mappings of this process, as of @time_ns; 0: for everything that follows. */
void coati_tracer_carry_maps(struct strbuf *out, uint64_t time_ns);
/* Grows with every library that is loaded. */
uint64_t coati_tracer_loaded(void);
/* A batch as a record: @head, then head->used bytes from behind the head at @there on. */
struct live_batch;
void coati_tracer_carry(struct strbuf *out, const struct live_batch *head,
			const struct live_batch *there);
/* Of the batches that were carried into the @size bytes at @bytes: those of which less than all is
 * among the first @written bytes, one call each. */
void coati_tracer_carry_rest(const char *bytes, size_t size, size_t written,
			     void (*fn)(void *ctx, const struct live_batch *head), void *ctx);
