/* SPDX-License-Identifier: MIT */
/*
 * Names that travel with a recording. They lie at its end and are taken when they come, which is
 * early enough for code that stays what it is. Of code that is replaced they tell when, and that
 * must be known before samples are folded: then the recording is walked once more, for them alone.
 */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "image/pack.h"
#include "process/service.h"
#include "reading/reading.h"
#include "record/batch.h"

#define FACT_MAX 1100

static bool is_text(const char *text, const char *bytes, size_t len)
{
	return strlen(text) == len && !memcmp(text, bytes, len);
}

/* "label.region=eu": a label of the machine. */
static int take_host_label(struct reading *r, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	struct coati_profile *p = r->profile;
	struct coati_label *label;

	if (!equals || equals == line)
		return -EBADMSG;
	/* batches may be read twice */
	for (size_t i = 0; i < r->host_labels.len; i++)
		if (is_text(r->host_labels.v[i].key, line, (size_t)(equals - line)))
			return 0;
	label = ARRAY_ADD(&r->host_labels);
	if (!label)
		return -ENOMEM;
	label->key = coati_arena_strndup(&p->arena, line, (size_t)(equals - line));
	label->value =
		coati_arena_strndup(&p->arena, equals + 1, len - (size_t)(equals + 1 - line));
	r->task_epoch++;
	if (label->key && label->value)
		return 0;
	r->host_labels.len--;
	return -ENOMEM;
}

/* "wall_ns=..." and "clock_ns=...": the same instant on two clocks. */
static int take_clock(struct reading *r, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	size_t key = equals ? (size_t)(equals - line) : 0, digits = equals ? len - key - 1 : 0;
	bool is_wall = key && is_text("wall_ns", line, key);
	uint64_t value;
	char number[32];

	if (!digits || digits >= sizeof(number) || !(is_wall || is_text("clock_ns", line, key)))
		return 0;
	memcpy(number, equals + 1, digits);
	number[digits] = '\0';
	if (coati_parse_u64(number, 0, UINT64_MAX, &value) < 0)
		return -EBADMSG;
	*(is_wall ? &r->told_wall_ns : &r->told_clock_ns) = value;
	return 0;
}

/* A line of facts that an agent wrote: "rule=drop x*", "label.region=eu"; others are left alone.
 * Recordings of one agent repeat its rules. */
static int take_fact(struct reading *r, const char *line, size_t len)
{
	char rule[FACT_MAX];
	int n = 0;

	if (len > 6 && !memcmp(line, "label.", 6))
		return take_host_label(r, line + 6, len - 6);
	if (len <= 5 || memcmp(line, "rule=", 5))
		return take_clock(r, line, len);
	if (len - 5 >= sizeof(rule))
		return -EBADMSG;
	memcpy(rule, line + 5, len - 5);
	rule[len - 5] = '\0';
	n = coati_service_rules_has(&r->profile->rules, rule)
		    ? 0
		    : coati_service_rules_add(&r->profile->rules, rule, NULL);
	return n == -EINVAL || n == -E2BIG ? -EBADMSG : n;
}

static int take_facts(struct reading *r, const struct coati_batch *batch)
{
	const char *p = (const char *)batch->payload, *end = p + batch->payload_size;
	int n = 0;

	while (n == 0 && p < end) {
		const char *line = memchr(p, '\n', (size_t)(end - p));
		size_t len = line ? (size_t)(line - p) : (size_t)(end - p);

		n = take_fact(r, p, len);
		p += len + 1;
	}
	return n;
}

int coati_reading_batch(struct reading *r, const struct coati_recording_item *item,
			const struct coati_record *rec)
{
	struct coati_profile *p = r->profile;
	struct coati_batch batch;
	int n = coati_batch_decode(rec, item->raw.swap, &batch);

	if (n == 0 && batch.kind == COATI_BATCH_SYMBOLS)
		n = coati_images_unpack(p->images, batch.payload, batch.payload_size);
	else if (n == 0 && batch.kind == COATI_BATCH_META)
		n = take_facts(r, &batch);
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
