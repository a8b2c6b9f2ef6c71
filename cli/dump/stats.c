/* SPDX-License-Identifier: MIT */
/* Counting and printing the kinds. */
#include "cli/dump/stats.h"

#include <string.h>

#include <coati/event.h>

#include "base/json.h"
#include "reading/profile.h"
#include "record/record.h"
#include "recording/recording.h"

void coati_dump_stats_add(struct dump_stats *st, const struct coati_recording_item *item)
{
	uint32_t at = item->raw.type < STATS_TYPES ? item->raw.type : STATS_TYPES - 1;

	st->records[at]++;
	st->bytes[at] += item->raw.size;
	if (item->raw.type != COATI_RECORD_SAMPLE)
		return;
	if (item->flags & COATI_RECORDING_ITEM_NO_EVENT)
		st->no_event++;
	else
		st->samples[item->event < STATS_EVENTS ? item->event : STATS_EVENTS - 1]++;
}

static const char *type_name(uint32_t type)
{
	const char *name = coati_record_name(type);

	return name ? name : "other";
}

static void print_json(const struct dump_stats *st, const struct coati_recording *rec,
		       const struct coati_recording_stats *rs, struct strbuf *out)
{
	struct json j = json_to(out);

	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.dump.stats.v1");
	coati_json_ku64(&j, "records", rs->records);
	coati_json_ku64(&j, "bytes", rs->bytes);
	coati_json_ku64(&j, "lost", coati_reading_lost(rec, rs));
	coati_json_ku64(&j, "throttled", rs->throttled);
	coati_json_ku64(&j, "late", rs->late);
	coati_json_ku64(&j, "damaged", rs->damaged);
	coati_json_ku64(&j, "no_event", st->no_event);
	coati_json_key(&j, "types");
	coati_json_object(&j);
	for (uint32_t t = 0; t < STATS_TYPES; t++)
		if (st->records[t])
			coati_json_ku64(&j, type_name(t), st->records[t]);
	coati_json_end(&j);
	coati_json_key(&j, "events");
	coati_json_array(&j);
	for (uint32_t e = 0; e < coati_recording_event_count(rec) && e < STATS_EVENTS; e++) {
		coati_json_object(&j);
		coati_json_kstr(&j, "event", coati_recording_event(rec, e)->name);
		coati_json_ku64(&j, "samples", st->samples[e]);
		coati_json_end(&j);
	}
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(out, '\n');
}

static void add_count(struct strbuf *out, uint64_t v, size_t width)
{
	struct strbuf number = STRBUF_INIT(64);

	coati_strbuf_grouped(&number, v);
	coati_strbuf_pad(out, ' ', number.len < width ? width - number.len : 0);
	coati_strbuf_add(out, number.text, number.len);
	coati_strbuf_fini(&number);
}

static void print_text(const struct dump_stats *st, const struct coati_recording *rec,
		       const struct coati_recording_stats *rs, struct strbuf *out)
{
	const char *name;

	coati_strbuf_adds(out, "       records           bytes  kind\n");
	for (uint32_t t = 0; t < STATS_TYPES; t++) {
		if (!st->records[t])
			continue;
		add_count(out, st->records[t], 14);
		add_count(out, st->bytes[t], 16);
		coati_strbuf_printf(out, "  %s\n", type_name(t));
	}
	coati_strbuf_adds(out, "\n       samples  event\n");
	for (uint32_t e = 0; e < coati_recording_event_count(rec) && e < STATS_EVENTS; e++) {
		add_count(out, st->samples[e], 14);
		name = coati_recording_event(rec, e)->name;
		coati_strbuf_adds(out, "  ");
		coati_strbuf_clean(out, name, strlen(name));
		coati_strbuf_addc(out, '\n');
	}
	if (st->no_event) {
		add_count(out, st->no_event, 14);
		coati_strbuf_adds(out, "  (event not in the file)\n");
	}
	coati_strbuf_printf(out, "\nlost %llu, throttled %llu, late %llu, damaged %llu\n",
			    (unsigned long long)coati_reading_lost(rec, rs),
			    (unsigned long long)rs->throttled, (unsigned long long)rs->late,
			    (unsigned long long)rs->damaged);
}

void coati_dump_stats_print(const struct dump_stats *st, const struct coati_recording *rec,
			    bool json, struct strbuf *out)
{
	struct coati_recording_stats rs = { .size = sizeof(rs) };

	coati_recording_get_stats(rec, &rs);
	if (json)
		print_json(st, rec, &rs, out);
	else
		print_text(st, rec, &rs, out);
}
