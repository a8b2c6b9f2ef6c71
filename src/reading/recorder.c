/* SPDX-License-Identifier: MIT */
/*
 * What the recorder wrote about itself into the recording: lines key=value with its counts. From
 * them come the completeness of stacks that it unwound, and how much of the CPU time has samples.
 */
#include <string.h>

#include "base/arena.h"
#include "base/parse.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "reading/reading.h"
#include "recording/recording.h"

#define RECORDER_LINE 128

bool coati_reading_find_recorder_value(const struct coati_recording *rec, const char *key,
				       uint64_t *ret)
{
	uint64_t size = 0;
	const uint8_t *bytes = coati_recording_feature(rec, COATI_FEATURE_RECORDER, &size);
	const char *at = (const char *)bytes, *end = bytes ? at + size : at;
	size_t key_len = strlen(key);

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);
		char text[RECORDER_LINE];

		if (len > key_len && len < sizeof(text) && !memcmp(at, key, key_len) &&
		    at[key_len] == '=') {
			memcpy(text, at + key_len + 1, len - key_len - 1);
			text[len - key_len - 1] = 0;
			return coati_parse_u64(text, 0, UINT64_MAX, ret) == 0;
		}
		at += len + 1;
	}
	return false;
}

uint64_t coati_reading_recorder_value(const struct coati_recording *rec, const char *key)
{
	uint64_t value = 0;

	coati_reading_find_recorder_value(rec, key, &value);
	return value;
}

bool coati_reading_counts_lost(const struct coati_recording *rec)
{
	uint64_t walks;

	return coati_reading_recorder_value(rec, "lost_exact") == 1 &&
	       coati_reading_find_recorder_value(rec, "walks", &walks);
}

/* LOST records of rings and LOST_SAMPLES of the events' own counts report the same loss, the second
 * at the end and not in every recording: the larger one holds. */
uint64_t coati_reading_lost(const struct coati_recording *rec,
			    const struct coati_recording_stats *st)
{
	if (st->lost_samples > st->lost || coati_reading_counts_lost(rec))
		return st->lost_samples;
	return st->lost;
}

/* The number of stacks that the recorder unwound, however they ended. */
static uint64_t count_unwound(const struct coati_recording *rec)
{
	static const char *const keys[] = { "stacks_end",   "stacks_gap",      "stacks_truncated",
					    "stacks_limit", "stacks_unmapped", "stacks_bad",
					    "stacks_none",  "stacks_pointers" };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		add_weight(&sum, coati_reading_recorder_value(rec, keys[i]));
	return sum;
}

/* Whether each chain records how it ended. Those of the first recorders do not. */
static bool is_marked(const struct reading *r)
{
	return coati_reading_recorder_value(r->recording, "stacks_marked");
}

/* Chains of an older recorder do not record how they ended; only its counts over all of them do. */
static void take_stack_account(struct reading *r, uint64_t nr_samples)
{
	const struct coati_recording *rec = r->recording;
	struct coati_profile *p = r->profile;
	struct told_stacks t = {
		/* those that are as long as they may be (stacks_limit) can be seen in the chain */
		.truncated = coati_reading_recorder_value(rec, "stacks_truncated"),
		.gap = coati_reading_recorder_value(rec, "stacks_gap"),
		.guessed = coati_reading_recorder_value(rec, "stacks_guessed"),
	};

	if (!r->is_told)
		return;
	if (is_marked(r)) {
		/* some events have stacks of the kernel's, which say nothing */
		if (count_unwound(rec) < coati_reading_recorder_value(rec, "samples"))
			p->told.is_other = true;
		return;
	}
	add_weight(&t.gap, coati_reading_recorder_value(rec, "stacks_unmapped"));
	add_weight(&t.gap, coati_reading_recorder_value(rec, "stacks_bad"));
	/* it counts over all files that it has written, knows nothing of our filter, and some
	 * events have stacks of the kernel's */
	if (p->quality.filtered > r->filtered_before ||
	    coati_reading_recorder_value(rec, "samples") > nr_samples ||
	    count_unwound(rec) < coati_reading_recorder_value(rec, "samples")) {
		p->told.is_other = true;
		if (t.truncated || t.gap || t.guessed)
			coati_profile_add_note(
				p,
				"of all stacks that the recorder unwound, %llu are truncated, "
				"%llu have a gap and %llu a guessed frame; "
				"how many of those are shown here is not known",
				(unsigned long long)t.truncated, (unsigned long long)t.gap,
				(unsigned long long)t.guessed);
		return;
	}
	add_weight(&p->told.truncated, t.truncated);
	add_weight(&p->told.gap, t.gap);
	add_weight(&p->told.guessed, t.guessed);
}

/* The same for the stacks of context switches. */
static void take_off_account(struct reading *r)
{
	static const char *const gaps[] = { "off_stacks_gap", "off_stacks_unmapped",
					    "off_stacks_bad" };
	struct coati_profile_quality *q = &r->profile->quality;

	if (is_marked(r))
		return;
	add_weight(&q->off_truncated,
		   coati_reading_recorder_value(r->recording, "off_stacks_truncated"));
	for (size_t i = 0; i < sizeof(gaps) / sizeof(*gaps); i++)
		add_weight(&q->off_gap, coati_reading_recorder_value(r->recording, gaps[i]));
	if (r->off.on && coati_reading_recorder_value(r->recording, "switches_fast"))
		coati_profile_add_note(
			r->profile,
			"there were too many context switches to copy all of their stacks: many "
			"are unwound by frame pointers, and callers of code without frame pointers "
			"are missing; coati record --stacks (-g) table copies all stacks");
}

static bool is_clock(const struct coati_attr *attr)
{
	return attr->type == COATI_TYPE_SOFTWARE &&
	       (attr->config == COATI_SW_CPU_CLOCK || attr->config == COATI_SW_TASK_CLOCK);
}

/* The CPU time (or count) that the samples stand for. It is known only when all files that were
 * read have it, for the same event. */
static void take_coverage(struct reading *r)
{
	const struct coati_recording *rec = r->recording;
	struct coati_profile *p = r->profile;
	struct coati_profile_quality *q = &p->quality;
	uint64_t event = 0, counted = coati_reading_recorder_value(rec, "counted");
	const struct coati_recording_event *e = NULL;
	const char *name = NULL;

	if (counted && coati_reading_find_recorder_value(rec, "sampled_event", &event) &&
	    event < coati_recording_event_count(rec))
		e = coati_recording_event(rec, (uint32_t)event);
	if (e && !is_clock(&e->attr))
		name = coati_arena_strdup(&p->arena, e->name);
	if (!e || (!name && !is_clock(&e->attr)) || p->no_coverage ||
	    (q->counted &&
	     (!name != !q->sampled_event || (name && strcmp(name, q->sampled_event) != 0)))) {
		p->no_coverage = true;
		q->sampled = q->counted = q->exits = 0;
		q->sampled_event = NULL;
		q->sampled_part = 0;
		return;
	}
	q->sampled_event = name;
	if (!q->sampled_period) /* of several files that of the first: they differ little */
		q->sampled_period = coati_reading_recorder_value(rec, "sampled_period");
	add_weight(&q->sampled, coati_reading_recorder_value(rec, "sampled"));
	add_weight(&q->counted, counted);
	add_weight(&q->exits, coati_reading_recorder_value(rec, "exits"));
	q->sampled_part |= coati_reading_recorder_value(rec, "sampled_part") != 0;
}

void coati_reading_recorder(struct reading *r, uint64_t nr_samples)
{
	take_stack_account(r, nr_samples);
	take_off_account(r);
	take_coverage(r);
}
