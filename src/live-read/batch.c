/* SPDX-License-Identifier: MIT */
/* see batch.h */
#include "live-read/batch.h"

#include <string.h>

#include "record/live-format.h"
#include "record/record.h"
#include "recording/recording.h"

bool coati_live_batch(const struct coati_recording *r, const struct coati_recording_item *item,
		      struct coati_batch *ret)
{
	const struct coati_recording_event *event = coati_recording_event(r, item->event);
	const struct coati_sample_format *fmt =
		coati_format_table_get(coati_recording_formats(r), item->event);
	struct coati_record rec;

	return item->raw.type == COATI_RECORD_SAMPLE &&
	       !(item->flags & COATI_RECORDING_ITEM_NO_EVENT) && event && fmt &&
	       strcmp(event->name, COATI_LIVE_EVENT) == 0 &&
	       coati_record_decode(&item->raw, fmt, &rec) == 0 &&
	       coati_batch_decode(&rec, item->raw.swap, ret) == 0 && ret->kind == COATI_BATCH_TRACE;
}
