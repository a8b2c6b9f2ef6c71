/* SPDX-License-Identifier: MIT */
/* What coati itself put into a recording, between the kernel's records: batches, as samples of the
 * event coati/live. */
#pragma once

#include <coati/recording.h>

#include "cli/dump/sink.h"

/* The fields of a batch: its kind and size, and what it is about. Returns false, and writes
 * nothing, if coati did not write it. */
bool coati_dump_batch(struct sink *s, const struct coati_recording_event *e,
		      const struct coati_record *rec, uint32_t swap);
