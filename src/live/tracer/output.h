/* SPDX-License-Identifier: MIT */
/* A generation as bytes that can be read without any other. Ordinary code. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct tracer_generation;

/* A complete generation, kept until it is unpinned; NULL when it is not there any more. @of: a
 * recorder that takes it, or 0; NULL also when it was refused for that one. */
struct tracer_generation *coati_tracer_pin(uint64_t number, uint32_t of);
/* @taken: recorders that have a copy of it now, and do not want it any more. */
void coati_tracer_unpin(struct tracer_generation *g, uint32_t taken);
/* All batches of a pinned generation, each as a record, behind what @out holds. @of 0: with the
 * losses of the shared memory; else a recorder, with the losses of its own account, which counts
 * as written then. */
int coati_tracer_generation_bytes(const struct tracer_generation *g, uint32_t of,
				  struct strbuf *out);
/* What the account of the recorder @of has not written yet, as a generation without any event.
 * @again: it is written again the next time. */
int coati_tracer_loss_bytes(uint64_t number, uint32_t of, bool again, struct strbuf *out);
