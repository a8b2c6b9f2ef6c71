/* SPDX-License-Identifier: MIT */
/* Batches as a recording: a perf.data for pipes, which every reader of recordings takes. Ordinary code. */
#pragma once

#include <stddef.h>

#include "base/strbuf.h"

/* What comes first, once. */
void coati_tracer_carry_head(struct strbuf *out);
/* @size bytes of batches in a row, each as a record. */
void coati_tracer_carry(struct strbuf *out, const void *batches, size_t size);
