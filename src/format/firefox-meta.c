/* SPDX-License-Identifier: MIT */
/* The description of a Firefox profile, and its markers: what the recording lacks, where it says
 * so. */
#include <string.h>

#include <coati/version.h>

#include "format/firefox.h"
#include "reading/hooks.h"

static void put_category(struct json *j, const char *name, const char *color)
{
	coati_json_object(j);
	coati_json_kstr(j, "name", name);
	coati_json_kstr(j, "color", color);
	coati_json_key(j, "subcategories");
	coati_json_array(j);
	coati_json_str(j, "Other");
	coati_json_end(j);
	coati_json_end(j);
}

static void put_categories(struct json *j)
{
	coati_json_key(j, "categories");
	coati_json_array(j);
	put_category(j, "Other", "grey"); /* in the order of enum firefox_category */
	put_category(j, "User", "yellow");
	put_category(j, "Kernel", "orange");
	coati_json_end(j);
}

static void put_field(struct json *j, const char *key, const char *label, const char *format)
{
	coati_json_object(j);
	coati_json_kstr(j, "key", key);
	coati_json_kstr(j, "label", label);
	coati_json_kstr(j, "format", format);
	coati_json_end(j);
}

void coati_firefox_schema(struct json *j, const char *name, const char *label,
			  const char *const (*fields)[3], size_t nr)
{
	coati_json_object(j);
	coati_json_kstr(j, "name", name);
	coati_json_kstr(j, "tooltipLabel", "{marker.name}");
	coati_json_kstr(j, "tableLabel", label);
	coati_json_kstr(j, "chartLabel", label);
	coati_json_key(j, "display");
	coati_json_array(j);
	coati_json_str(j, "marker-chart");
	coati_json_str(j, "marker-table");
	coati_json_str(j, "timeline-overview");
	coati_json_end(j);
	coati_json_key(j, "fields");
	coati_json_array(j);
	for (size_t i = 0; i < nr; i++)
		put_field(j, fields[i][0], fields[i][1], fields[i][2]);
	coati_json_end(j);
	coati_json_end(j);
}

static void put_marker_schema(struct firefox *x)
{
	static const char *const fields[][3] = { { "count", "Number", "integer" },
						 { "cpu", "CPU", "string" } };

	coati_json_key(&x->json, "markerSchema");
	coati_json_array(&x->json);
	coati_firefox_schema(&x->json, "loss", "{marker.name}: {marker.data.count}", fields, 2);
	if (x->live.live)
		coati_firefox_live_schema(&x->json);
	coati_json_end(&x->json);
}

static void put_entry(struct json *j, const char *label, const char *value)
{
	coati_json_object(j);
	coati_json_kstr(j, "label", label);
	coati_json_kstr(j, "format", "string");
	coati_json_kstr(j, "value", value);
	coati_json_end(j);
}

/* What it is worth: shown with the profile's information. */
static void put_extra(struct firefox *x)
{
	struct json *j = &x->json;

	coati_json_key(j, "extra");
	coati_json_array(j);
	coati_json_object(j);
	coati_json_kstr(j, "label", "Recording");
	coati_json_key(j, "entries");
	coati_json_array(j);
	put_entry(j, "quality", x->in->account);
	put_entry(j, "unit of weights", x->in->info.unit);
	if (*x->in->comment)
		put_entry(j, "comment", x->in->comment);
	for (size_t i = 0; i < x->in->notes->v.len; i++)
		put_entry(j, "note", x->in->notes->v.v[i]);
	coati_json_end(j);
	coati_json_end(j);
	coati_json_end(j);
}

uint64_t coati_firefox_interval_ns(const struct firefox *x)
{
	uint64_t ns =
		x->is_time && x->in->info.samples ? x->in->info.total / x->in->info.samples : 0;

	return ns ? ns : TIMELINE_STEP_NS;
}

uint64_t coati_firefox_lead_ns(const struct firefox *x)
{
	const struct timeline *t = &x->timeline;
	uint64_t last = x->in->live ? timeline_since_ns(t, x->in->live->last) : 0;

	for (size_t i = 0; i < x->in->nr_samples; i++)
		if (timeline_time_ns(t, i) > last)
			last = timeline_time_ns(t, i);
	for (size_t i = 0; i < x->in->nr_losses; i++)
		if (timeline_since_ns(t, x->in->losses[i].time) > last)
			last = timeline_since_ns(t, x->in->losses[i].time);
	last = UINT64_MAX - 1 - last; /* UINT64_MAX itself means that there is no time */
	return x->interval_ns < last ? x->interval_ns : last;
}

/* The time at which the profile begins, as that of the first sample is known. */
static uint64_t begin_of(const struct firefox *x, uint64_t first)
{
	return first > x->lead_ns ? first - x->lead_ns : first;
}

void coati_firefox_meta(struct firefox *x)
{
	struct json *j = &x->json;

	coati_json_key(j, "meta");
	coati_json_object(j);
	coati_json_key(j, "interval");
	coati_json_fixed(j, x->interval_ns, FIREFOX_DECIMALS);
	coati_json_key(j, "startTime");
	coati_json_fixed(j, begin_of(x, x->in->start_wall_ns), FIREFOX_DECIMALS);
	if (x->in->quality.clockid == 1) /* CLOCK_MONOTONIC */
		coati_json_ku64(j, "startTimeAsClockMonotonicNanosecondsSinceBoot",
				begin_of(x, x->timeline.start_ns));
	coati_json_ku64(j, "processType", 0);
	coati_json_kstr(j, "product", *x->in->comment ? x->in->comment : "coati");
	coati_json_kstr(j, "importedFrom", "coati");
	coati_json_kstr(j, "platform", "Linux");
	coati_json_ku64(j, "stackwalk", 1);
	coati_json_ku64(j, "version", 24);
	coati_json_ku64(j, "preprocessedProfileVersion", FIREFOX_VERSION);
	coati_json_kbool(j, "symbolicated", true);
	coati_json_kbool(j, "usesOnlyOneStackType", true);
	coati_json_kbool(j, "sourceCodeIsNotOnSearchfox", true);
	coati_json_key(j, "sampleUnits");
	coati_json_object(j);
	coati_json_kstr(j, "time", "ms");
	coati_json_kstr(j, "eventDelay", "ms");
	coati_json_kstr(j, "threadCPUDelta", "ns");
	coati_json_end(j);
	put_categories(j);
	put_marker_schema(x);
	put_extra(x);
	coati_json_end(j);
}

/* ---- markers ---- */

/* By enum coati_loss_kind. */
static const char *const loss_names[FIREFOX_LOSS_NAMES] = { "lost records", "lost samples",
							    "throttled" };

void coati_firefox_marker_names(struct firefox *x)
{
	for (size_t i = 0; i < sizeof(loss_names) / sizeof(*loss_names); i++)
		coati_json_str(&x->json, loss_names[i]);
	if (x->live.live)
		coati_firefox_live_strings(x);
}

static void loss_name(struct firefox *x, const struct coati_profile_loss *l)
{
	coati_json_u64(&x->json,
		       x->functions.len + x->images.len + x->sources.len + (uint64_t)l->kind);
}

static uint64_t time_of(const struct firefox *x, const struct coati_profile_loss *l)
{
	return firefox_time_ns(x, timeline_since_ns(&x->timeline, l->time));
}

uint64_t coati_firefox_last_loss_ns(const struct firefox *x)
{
	uint64_t last = 0;

	for (size_t i = 0; i < x->in->nr_losses; i++)
		if (time_of(x, &x->in->losses[i]) > last)
			last = time_of(x, &x->in->losses[i]);
	return last;
}

static void loss_time(struct firefox *x, const struct coati_profile_loss *l)
{
	coati_json_fixed(&x->json, time_of(x, l), FIREFOX_DECIMALS);
}

static void loss_null(struct firefox *x, const struct coati_profile_loss *l)
{
	(void)l;
	coati_json_null(&x->json);
}

/* No duration; and of no category. */
static void loss_zero(struct firefox *x, const struct coati_profile_loss *l)
{
	(void)l;
	coati_json_u64(&x->json, 0);
}

static void loss_data(struct firefox *x, const struct coati_profile_loss *l)
{
	struct json *j = &x->json;
	char cpu[16] = "unknown";

	if (l->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%d", l->cpu);
	coati_json_object(j);
	coati_json_kstr(j, "type", "loss");
	coati_json_ku64(j, "count", l->count);
	coati_json_kstr(j, "cpu", cpu);
	coati_json_end(j);
}

static void column(struct firefox *x, const char *key, size_t nr,
		   void (*cell)(struct firefox *, const struct coati_profile_loss *))
{
	coati_json_key(&x->json, key);
	coati_json_array(&x->json);
	for (size_t i = 0; i < nr; i++) {
		cell(x, &x->in->losses[i]);
		format_output_drain(x->out);
	}
	if (x->live.thread != LIVE_NONE)
		coati_firefox_live_column(x, key);
	coati_json_end(&x->json);
}

void coati_firefox_markers(struct firefox *x, bool all)
{
	size_t nr = all ? x->in->nr_losses : 0;

	coati_json_key(&x->json, "markers");
	coati_json_object(&x->json);
	coati_json_ku64(&x->json, "length", nr + coati_firefox_live_count(x));
	column(x, "name", nr, loss_name);
	column(x, "startTime", nr, loss_time);
	column(x, "endTime", nr, loss_null);
	column(x, "phase", nr, loss_zero);
	column(x, "category", nr, loss_zero);
	column(x, "data", nr, loss_data);
	coati_json_end(&x->json);
}
