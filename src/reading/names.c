/* SPDX-License-Identifier: MIT */
/*
 * Names that travel with a recording. They lie at its end and are taken when they come, which is
 * early enough for code that stays what it is. Of code that is replaced they tell when, and that
 * must be known before samples are folded: then the recording is walked once more, for them alone.
 */
#include <errno.h>
#include <string.h>

#include "image/pack.h"
#include "reading/reading.h"
#include "record/batch.h"

int coati_reading_batch(struct reading *r, const struct coati_recording_item *item,
			const struct coati_record *rec)
{
	struct coati_profile *p = r->profile;
	struct coati_batch batch;
	int n = coati_batch_decode(rec, item->raw.swap, &batch);

	if (n == 0 && batch.kind == COATI_BATCH_SYMBOLS)
		n = coati_images_unpack(p->images, batch.payload, batch.payload_size);
	if (n < 0 && n != -ENOMEM) {
		p->quality.damaged++;
		n = 0;
	}
	return n;
}

bool coati_reading_is_live(const struct coati_recording *rec, uint32_t event)
{
	const struct coati_recording_event *e = coati_recording_event(rec, event);

	return e && !strcmp(e->name, COATI_LIVE_EVENT);
}

/* Who wrote batches has an event for them. */
static bool has_batches(const struct coati_recording *rec)
{
	for (uint32_t i = 0; coati_recording_event(rec, i); i++)
		if (coati_reading_is_live(rec, i))
			return true;
	return false;
}

static int take_batches(struct reading *r, struct coati_recording *rec)
{
	const struct coati_format_table *formats = coati_recording_formats(rec);
	struct coati_recording_item item;
	struct coati_record sample;
	int n = 0;

	while (n == 0 && coati_recording_next(rec, &item) > 0) {
		if (item.raw.type != COATI_RECORD_SAMPLE ||
		    item.flags & COATI_RECORDING_ITEM_NO_EVENT ||
		    !coati_reading_is_live(rec, item.event))
			continue;
		if (coati_record_decode(&item.raw, coati_format_table_get(formats, item.event),
					&sample) == 0)
			n = coati_reading_batch(r, &item, &sample);
		else
			r->profile->quality.damaged++;
	}
	return n;
}

int coati_reading_names(struct reading *r)
{
	struct coati_recording_opts opts = { .size = sizeof(opts),
					     .flags = COATI_RECORDING_FILE_ORDER };
	const char *path = strcmp(r->path, "-") ? r->path : "/proc/self/fd/0";
	struct coati_recording *again = NULL;
	int n;

	if (r->has_names || coati_recording_info(r->recording)->is_pipe ||
	    !has_batches(r->recording))
		return 0;
	/* who cannot read it twice takes them as they come */
	if (coati_recording_open(path, &opts, &again, NULL) < 0)
		return 0;
	r->has_names = true;
	n = take_batches(r, again);
	coati_recording_close(&again);
	return n;
}
