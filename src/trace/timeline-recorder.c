/* SPDX-License-Identifier: MIT */
/*
 * What the recorder wrote about itself into the recording, as far as a timeline needs it: CPU time
 * that the host took (steal), and which wakeups were recorded.
 */
#include <string.h>

#include "base/parse.h"
#include "reading/profile.h"
#include "recording/recording.h"
#include "trace/timeline-read.h"
#include "trace/timeline.h"

#define THEFT_BYTES 80

/* "steal=BEGIN END NS": CPU time that the host took between two times. */
static int take_theft(struct load *l, const char *line, size_t len)
{
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_STOLEN };
	uint64_t *numbers[] = { &e.id, &e.time, &e.number };
	char text[THEFT_BYTES], *at = text, *end;

	if (len >= sizeof(text))
		return 0;
	memcpy(text, line, len);
	text[len] = '\0';
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++, at = end + 1) {
		end = at + strcspn(at, " ");
		if ((*end == '\0') != (i == 2))
			return 0;
		*end = '\0';
		if (coati_parse_u64(at, 0, UINT64_MAX, numbers[i]) < 0)
			return 0;
	}
	return e.id < e.time ? coati_timeline_add(l->timeline, &e) : 0;
}

static int take_steal(struct load *l, const struct coati_recording *r)
{
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_STOLEN };
	uint64_t size = 0;
	const uint8_t *bytes = coati_recording_feature(r, COATI_FEATURE_RECORDER, &size);
	const char *at = (const char *)bytes, *end = bytes ? at + size : at;
	int n = 0;

	if (!coati_reading_recorder_value(r, "steal_told"))
		return 0;
	for (; n == 0 && at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);

		if (len > 6 && !memcmp(at, "steal=", 6))
			n = take_theft(l, at + 6, len - 6);
		at += len + 1;
	}
	e.number = coati_reading_recorder_value(r, "steal_most_ns");
	return n < 0 ? n : coati_timeline_add(l->timeline, &e);
}

/* Which wakeups the recorder saw. Older recorders do not say, and saw only those by the recorded
 * processes. */
static void take_wakes(struct load *l, const struct coati_recording *r)
{
	uint32_t *has = &l->timeline->info.has;

	if (coati_reading_recorder_value(r, "wakes_all"))
		*has |= COATI_TIMELINE_ALL_WAKES;
	else if (coati_reading_recorder_value(r, "wakes_own"))
		*has |= COATI_TIMELINE_OWN_WAKES;
	if (coati_reading_recorder_value(r, "wakes_no_ns"))
		*has |= COATI_TIMELINE_OTHER_PID_NS;
}

int coati_load_recorder(struct load *l, const struct coati_recording *r)
{
	take_wakes(l, r);
	return take_steal(l, r);
}
