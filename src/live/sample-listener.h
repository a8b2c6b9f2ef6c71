/* SPDX-License-Identifier: MIT */
/* Who else wants the samples that the sampler takes: in a file of its own, so that neither the
 * sampler nor the tracer brings the other along. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* A sample of this thread, from a signal handler: frames innermost first, nanoseconds that it
 * stands for. */
typedef void (*sample_listener_fn)(const uint64_t *frames, uint32_t count, uint64_t weight_ns);

/* NULL: no listener. */
extern _Atomic(sample_listener_fn) coati_sample_listener;
