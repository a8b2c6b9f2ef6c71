/* SPDX-License-Identifier: MIT */
/* Live events of a recording on their way into a timeline. */
#include "trace/timeline-read.h"

int coati_load_live(struct load *l, const struct coati_recording_item *item,
		    const struct coati_record *rec)
{
	(void)l;
	(void)item;
	(void)rec;
	return 0;
}

int coati_load_live_end(struct load *l)
{
	(void)l;
	return 0;
}

void coati_load_live_fini(struct load *l)
{
	(void)l;
}
