/* SPDX-License-Identifier: MIT */
/*
 * Traces of the hardware (Intel PT, ARM CoreSight) in a recording: how much there is, and a note
 * that it is not decoded. A recording may hold nothing else, and then has no samples for that
 * reason.
 */
#include "base/cursor.h"
#include "reading/reading.h"

/* By the number in AUXTRACE_INFO. */
static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = { "of an unknown kind", "Intel PT",	    "Intel BTS",
					     "CoreSight ETM",	   "ARM SPE",	    "s390 CPUMSF",
					     "HiSilicon PTT",	   "dispatch trace" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

void coati_reading_aux_record(struct reading *r, const struct coati_recording_item *item)
{
	struct cursor c = cursor_over(item->raw.body, item->raw.size - COATI_RAW_HEADER);

	c.swap = item->raw.swap;
	r->profile->quality.trace_records++;
	if (item->raw.type == COATI_RECORD_AUXTRACE_INFO)
		r->aux_kind = cursor_u32(&c);
	else if (item->raw.type == COATI_RECORD_AUXTRACE)
		add_weight(&r->aux_bytes, item->extra_size);
	r->has_aux = true;
}

void coati_reading_aux_end(struct reading *r, const char *path)
{
	if (!r->has_aux)
		return;
	add_weight(&r->profile->quality.trace_bytes, r->aux_bytes);
	coati_profile_add_note(
		r->profile,
		"%s has %llu bytes of trace data of the hardware (%s), which is not "
		"decoded here: samples alone are shown; perf report --itrace=i decodes it",
		path, (unsigned long long)r->aux_bytes, kind_name(r->aux_kind));
}
