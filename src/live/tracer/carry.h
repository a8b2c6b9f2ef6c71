/* SPDX-License-Identifier: MIT */
/* Batches as a recording: a perf.data for pipes, which every reader of recordings takes. Ordinary code. */
#pragma once

#include <stddef.h>

#include "base/strbuf.h"

/* What comes first, once. */
void coati_tracer_carry_head(struct strbuf *out);
/* A batch as a record: @head, then head->used bytes from behind the head at @there on. */
struct live_batch;
void coati_tracer_carry(struct strbuf *out, const struct live_batch *head,
			const struct live_batch *there);
