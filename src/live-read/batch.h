/* SPDX-License-Identifier: MIT */
/* Live events inside a recording: samples of one event carry their batches. */
#pragma once

#include <stdbool.h>

#include <coati/recording.h>

#include "record/batch.h"

/* Is the item a batch of live events? Then what it holds, which lives as long as the item. */
bool coati_live_batch(const struct coati_recording *r, const struct coati_recording_item *item,
		      struct coati_batch *ret);
