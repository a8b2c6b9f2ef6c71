/* SPDX-License-Identifier: MIT */
/* How many records of each kind and samples of each event a recording has. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/recording.h>

#include "base/strbuf.h"

#define STATS_TYPES  128
#define STATS_EVENTS 4096

struct dump_stats {
	uint64_t records[STATS_TYPES], bytes[STATS_TYPES]; /* by type; the last one is all others */
	uint64_t samples[STATS_EVENTS];			   /* by event; likewise */
	uint64_t malformed, no_event;			   /* samples of no event in the file */
};

void coati_dump_stats_add(struct dump_stats *st, const struct coati_recording_item *item);
void coati_dump_stats_print(const struct dump_stats *st, const struct coati_recording *rec,
			    bool json, struct strbuf *out);
