/* SPDX-License-Identifier: MIT */
/* Whether a batch of live events has samples that the program took of itself, without decoding
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: the reader of live events would find none. True: there are some, or it is not known
 * without decoding.  Hot. */
bool coati_live_may_have_samples(const void *bytes, size_t size);
