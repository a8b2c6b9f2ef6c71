/* SPDX-License-Identifier: MIT */
/*
 * A recording of some seconds out of the spool: samples, context switches and losses of that time,
 * and everything that says what they mean: events, processes, mappings, live events, symbols. Parts
 * follow each other without a gap, so that only the first one's description of what ran already is
 * needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/record/output.h"
#include "cli/record/pack.h"
#include "cli/top/spool.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "recording/writer.h"

#define ROUND_BYTES (UINT64_C(4) << 20)
#define AROUND_NS   (15 * NSEC_PER_SEC) /* live events are written so long after they happened */

struct saving {
	struct top_save *save;
	struct coati_writer *to;
	struct coati_recording *from;
	bool is_first; /* of the parts */
	uint64_t next_round;
	uint64_t first_time, last_time, lost;
};

static int open_part(const struct top_part *p, struct coati_recording **ret,
		     struct coati_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	return coati_recording_open(path, NULL, ret, err);
}

/* ---- what is copied once ---- */

static bool is_made_anew(uint32_t bit)
{
	return bit == COATI_FEATURE_EVENT_DESC || bit == COATI_FEATURE_GROUP_DESC ||
	       bit == COATI_FEATURE_COMPRESSED || bit == COATI_FEATURE_SAMPLE_TIME;
}

static int copy_head(struct coati_recording *facts, struct coati_writer *to,
		     struct coati_error *err)
{
	struct coati_recording_item item;
	int r = 0;

	/* in a stream they come between the records */
	while (coati_recording_next(facts, &item) > 0)
		;
	for (uint32_t i = 0; r == 0 && i < coati_recording_event_count(facts); i++) {
		const struct coati_recording_event *e = coati_recording_event(facts, i);

		r = coati_writer_add_event(to, e, err);
	}
	for (uint32_t bit = 0; r == 0 && bit < COATI_FEATURE_MAX; bit++) {
		uint64_t size = 0;
		const uint8_t *bytes =
			is_made_anew(bit) ? NULL : coati_recording_feature(facts, bit, &size);

		if (bytes && size)
			r = coati_writer_feature(to, bit, bytes, size);
	}
	return r;
}

/* ---- records ---- */

static bool is_in_time(const struct saving *s, uint64_t time)
{
	return time >= s->save->from_ns && time < s->save->to_ns;
}

static bool is_wanted_sample(struct saving *s, const struct coati_recording_item *item)
{
	const struct coati_recording_event *e = coati_recording_event(s->from, item->event);

	if (item->flags & COATI_RECORDING_ITEM_NO_EVENT || !e)
		return false;
	if (!strcmp(e->name, COATI_LIVE_EVENT))
		return true;
	if (!is_in_time(s, item->time))
		return false;
	if (!s->first_time)
		s->first_time = item->time;
	s->last_time = item->time;
	s->save->samples += strcmp(e->name, COATI_OFF_CPU_EVENT) != 0 &&
			    strcmp(e->name, COATI_OFF_CPU_WAKING) != 0;
	return true;
}

static bool is_wanted(struct saving *s, const struct coati_recording_item *item)
{
	switch (item->raw.type) {
	case COATI_RECORD_SAMPLE:
		return is_wanted_sample(s, item);
	case COATI_RECORD_SWITCH:
	case COATI_RECORD_SWITCH_CPU_WIDE:
	case COATI_RECORD_LOST:
	case COATI_RECORD_THROTTLE:
	case COATI_RECORD_UNTHROTTLE:
		return is_in_time(s, item->time);
	case COATI_RECORD_LOST_SAMPLES: /* of the whole part */
	case COATI_RECORD_FINISHED_INIT:
		return false;
	default:
		break;
	}
	if (item->raw.type >= COATI_RECORD_HEADER_ATTR)
		return false;
	return (item->time || s->is_first) && item->time < s->save->to_ns;
}

static int put_record(struct saving *s, const struct coati_raw *raw)
{
	uint8_t record[UINT16_MAX + 1];
	int r;

	memcpy(record, &raw->type, 4);
	memcpy(record + 4, &raw->misc, 2);
	memcpy(record + 6, &raw->size, 2);
	memcpy(record + COATI_RAW_HEADER, raw->body, raw->size - COATI_RAW_HEADER);
	r = coati_writer_record(s->to, record, raw->size);
	if (r == 0 && coati_writer_bytes(s->to) > s->next_round) {
		s->next_round += ROUND_BYTES;
		r = coati_writer_round(s->to);
	}
	return r;
}

static int copy_part(struct saving *s, const struct top_part *p, struct coati_error *err)
{
	struct coati_recording_item item;
	int r = open_part(p, &s->from, err);

	while (r == 0 && coati_recording_next(s->from, &item) > 0)
		if (is_wanted(s, &item))
			r = put_record(s, &item.raw);
	coati_recording_close(&s->from);
	s->is_first = false;
	return r;
}

/* ---- the end ---- */

static int put_account(struct saving *s)
{
	struct coati_capture_stats st = { .size = sizeof(st) };
	uint64_t times[2] = { s->first_time, s->last_time };
	char text[512];
	int n, r;

	coati_capture_get_stats(*s->save->cap, &st);
	n = snprintf(text, sizeof(text),
		     "samples=%llu\nbegin_ns=%llu\nend_ns=%llu\nwhole_processes=%d\n",
		     (unsigned long long)s->save->samples, (unsigned long long)s->save->from_ns,
		     (unsigned long long)s->save->to_ns, s->save->whole);
	r = coati_writer_feature(s->to, COATI_FEATURE_RECORDER, text, (size_t)n);
	return r < 0 ? r
		     : coati_writer_feature(s->to, COATI_FEATURE_SAMPLE_TIME, times, sizeof(times));
}

static int copy_all(struct saving *s, const struct top_spool *spool, struct coati_error *err)
{
	struct coati_recording *facts = NULL;
	size_t first = 0;
	int r;

	while (first + 1 < spool->parts.len &&
	       spool->parts.v[first].end_ns + AROUND_NS < s->save->from_ns)
		first++;
	r = open_part(&spool->parts.v[first], &facts, err);
	if (r == 0)
		r = copy_head(facts, s->to, err);
	if (r == 0)
		r = coati_writer_start(s->to, err);
	coati_recording_close(&facts);
	s->is_first = true;
	for (size_t i = first; r == 0 && i < spool->parts.len; i++)
		if (spool->parts.v[i].begin_ns < s->save->to_ns + AROUND_NS)
			r = copy_part(s, &spool->parts.v[i], err);
	if (r == 0)
		r = coati_writer_round(s->to);
	if (r == 0)
		r = coati_record_pack(s->save->cap, s->to);
	return r == 0 ? put_account(s) : r;
}

/* Something that is no file cannot be written at its start once more at the end. */
static int reserve(struct record_output *out, struct coati_error *err)
{
	int r = coati_record_output_reserve(out, err);

	if (r == 0 && (out->pipe || out->special))
		r = coati_fail(err, -EINVAL, "%s is not a regular file; choose one with -o",
			       out->path);
	return r;
}

/* The file has its name when all of it is written. */
int coati_top_spool_save(const struct top_spool *spool, struct top_save *save,
			 struct coati_error *err)
{
	struct record_output out = { .path = save->path, .unnamed = -1 };
	struct saving s = { .save = save, .next_round = ROUND_BYTES };
	int r, closed;

	save->samples = 0;
	if (coati_top_spool_since(spool) > save->from_ns)
		return coati_fail(err, -ERANGE,
				  "the samples of that time have left memory; --memory keeps more");
	r = reserve(&out, err);
	if (r == 0)
		r = coati_record_output_next(&out, &s.to, err);
	if (r == 0)
		r = copy_all(&s, spool, err);
	closed = s.to ? coati_writer_close(&s.to, r < 0 ? NULL : err) : 0;
	r = r < 0 ? r : closed;
	if (r == 0)
		r = coati_record_output_publish(&out, err);
	snprintf(save->name, sizeof(save->name), "%.255s", out.name);
	coati_record_output_fini(&out);
	if (r < 0 && !err->code)
		coati_fail(err, r, "writing %s: %m", save->path);
	return r;
}
