/* SPDX-License-Identifier: MIT */
/*
 * Live events in a Firefox profile: markers of the thread that reported them, with a schema for
 * each kind. Regions, tasks and states of resources are intervals, the others instants. Tasks are
 * on the thread that began them. Counters are the profile's own, whose samples say how much the
 * value has changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "format/firefox.h"
#include "reading/parts.h"

/* By enum live_item_kind: what a marker is, and its name where the program gives none. */
static const char *const types[ITEM_KINDS] = {
	[ITEM_REGION] = "region", [ITEM_TASK] = "task",	      [ITEM_STATE] = "resource",
	[ITEM_LOG] = "log",	  [ITEM_INSTANT] = "instant", [ITEM_ENTER] = "works on",
	[ITEM_LABELS] = "labels", [ITEM_LOSS] = "live loss",  [ITEM_COUNTER] = "counter",
	[ITEM_FLOW] = "flow",
};

/* ---- which are whose ---- */

static uint64_t key_of(uint32_t file, int32_t pid, int32_t tid)
{
	const uint32_t key[3] = { file, (uint32_t)pid, (uint32_t)tid };

	return coati_hash_bytes(key, sizeof(key), 2);
}

int coati_firefox_live_init(struct firefox *x)
{
	struct firefox_live *f = &x->live;
	const struct live *l = x->in->live;

	f->thread = LIVE_NONE;
	coati_map_init(&f->index, FIREFOX_TABLE_MAX);
	if (!l)
		return 0;
	f->live = l;
	f->place = coati_alloc_array(l->threads.len + 1, sizeof(*f->place));
	if (!f->place)
		return -ENOMEM;
	for (size_t i = 0; i < l->threads.len; i++) {
		const struct live_thread *t = &l->threads.v[i];

		if (coati_map_put(&f->index, key_of(t->file, t->pid, t->tid), i) < 0)
			return -ENOMEM;
	}
	return 0;
}

void coati_firefox_live_fini(struct firefox *x)
{
	coati_map_fini(&x->live.index);
	coati_free(x->live.place);
}

/* One that changed its name is two; the first that is written has them. */
void coati_firefox_live_thread(struct firefox *x, const struct coati_profile_thread *t)
{
	struct firefox_live *f = &x->live;
	uint64_t thread;

	f->thread = LIVE_NONE;
	if (!f->live || !coati_map_get(&f->index, key_of(t->file, t->pid, t->tid), &thread) ||
	    f->place[thread])
		return;
	f->thread = (uint32_t)thread;
	f->place[thread] = x->threads_put + 1;
}

bool coati_firefox_live_next(struct firefox *x, struct coati_profile_thread *ret)
{
	const struct firefox_live *f = &x->live;

	for (size_t i = 0; f->live && i < f->live->threads.len; i++) {
		const struct live_thread *t = &f->live->threads.v[i];

		if (f->place[i] || !t->tells)
			continue;
		*ret = (struct coati_profile_thread){ .file = t->file,
						      .pid = t->pid,
						      .tid = t->tid,
						      .comm = t->name,
						      .process_comm = t->process_name };
		return true;
	}
	return false;
}

size_t coati_firefox_live_count(const struct firefox *x)
{
	const struct firefox_live *f = &x->live;

	return f->thread == LIVE_NONE ? 0 : (size_t)f->live->threads.v[f->thread].items.nr;
}

static uint64_t time_of(const struct firefox *x, uint64_t time)
{
	return firefox_time_ns(x, timeline_since_ns(&x->timeline, time));
}

uint64_t coati_firefox_live_last_ns(const struct firefox *x)
{
	const struct firefox_live *f = &x->live;

	return f->thread == LIVE_NONE ? 0 : time_of(x, f->live->threads.v[f->thread].last);
}

/* ---- schema ---- */

#define PLACE                               \
	{                                   \
		"place", "Source", "string" \
	}
#define REMARK                               \
	{                                    \
		"remark", "Remark", "string" \
	}
#define SCHEMA(kind, label, ...)                                                       \
	do {                                                                           \
		static const char *const fields[][3] = { __VA_ARGS__, PLACE, REMARK }; \
		coati_firefox_schema(j, types[kind], label, fields,                    \
				     sizeof(fields) / sizeof(*fields));                \
	} while (0)

void coati_firefox_live_schema(struct json *j)
{
	SCHEMA(ITEM_REGION, "{marker.name}", { "category", "Category", "string" });
	SCHEMA(ITEM_TASK, "{marker.name} {marker.data.task}", { "task", "Task", "string" },
	       { "parent", "Parent", "string" });
	SCHEMA(ITEM_STATE, "{marker.data.resource}: {marker.data.state}",
	       { "resource", "Resource", "string" }, { "state", "State", "string" },
	       { "reason", "Reason", "string" });
	SCHEMA(ITEM_LOG, "{marker.data.text}", { "text", "Text", "string" },
	       { "category", "Category", "string" });
	SCHEMA(ITEM_INSTANT, "{marker.data.fields}", { "fields", "Fields", "string" },
	       { "category", "Category", "string" });
	SCHEMA(ITEM_ENTER, "{marker.name} {marker.data.task}", { "task", "Task", "string" });
	SCHEMA(ITEM_LABELS, "{marker.data.fields}", { "fields", "Labels", "string" });
	SCHEMA(ITEM_LOSS, "{marker.data.what}: {marker.data.count}", { "what", "What", "string" },
	       { "count", "Number", "integer" });
	SCHEMA(ITEM_FLOW, "{marker.name} {marker.data.flow}", { "flow", "Flow", "string" },
	       { "step", "Step", "string" });
}

/* ---- columns ---- */

/* Behind the names of losses: a name for each kind, then those of places in the program. */
void coati_firefox_live_strings(struct firefox *x)
{
	const struct live *l = x->live.live;

	for (uint32_t i = 0; i < ITEM_KINDS; i++)
		coati_json_str(&x->json, types[i]);
	for (size_t i = 0; i < l->sites.len; i++) {
		coati_json_str(&x->json, l->sites.v[i]->name);
		format_output_drain(x->out);
	}
}

static void put_name(struct firefox *x, const struct live_item *i)
{
	uint64_t base = x->functions.len + x->images.len + x->sources.len + FIREFOX_LOSS_NAMES;
	bool named = i->site && *i->site->name && i->kind != ITEM_STATE;

	coati_json_u64(&x->json, named ? base + ITEM_KINDS + i->site->number : base + i->kind);
}

static void put_start(struct firefox *x, const struct live_item *i)
{
	coati_json_fixed(&x->json, time_of(x, i->begin), FIREFOX_DECIMALS);
}

static void put_end(struct firefox *x, const struct live_item *i)
{
	if (live_is_slice(i))
		coati_json_fixed(&x->json, time_of(x, i->end), FIREFOX_DECIMALS);
	else
		coati_json_null(&x->json);
}

static void put_phase(struct firefox *x, const struct live_item *i)
{
	coati_json_u64(&x->json, live_is_slice(i));
}

static void put_category(struct firefox *x, const struct live_item *i)
{
	coati_json_u64(&x->json, i->kind == ITEM_LOSS ? FIREFOX_OTHER : FIREFOX_USER);
}

/* "a=1 b=x". */
static void put_fields(struct firefox *x, const struct live_item *i)
{
	struct strbuf s = STRBUF_INIT(64 << 20);

	for (uint32_t n = 0; n < i->nr_args; n++) {
		const struct live_arg *a = &i->args[n];

		coati_strbuf_printf(&s, "%s%s=", n ? " " : "", a->name);
		if (a->letter == 's')
			coati_strbuf_adds(&s, a->text);
		else if (a->letter == 'd')
			coati_strbuf_printf(&s, "%.17g", a->real);
		else if (a->letter == 'x')
			coati_strbuf_printf(&s, "0x%" PRIx64, (uint64_t)a->number);
		else if (a->letter == 'u')
			coati_strbuf_printf(&s, "%" PRIu64, (uint64_t)a->number);
		else
			coati_strbuf_printf(&s, "%" PRId64, a->number);
	}
	coati_json_kstr(&x->json, "fields", s.text);
	coati_strbuf_fini(&s);
}

/* Numbers that do not fit into one of JavaScript's. */
static void put_id(struct firefox *x, const char *key, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	coati_json_kstr(&x->json, key, text);
}

static void put_remark(struct firefox *x, const struct live_item *i)
{
	char text[160];

	snprintf(text, sizeof(text), "%s%s%s%s%s%s",
		 i->flags & ITEM_OPEN_BEGIN ? "began before; " : "",
		 i->flags & ITEM_OPEN_END ? "has no end; " : "",
		 i->flags & ITEM_CLOCK_UNKNOWN ? "time is a guess; " : "",
		 i->flags & ITEM_CUT ? "text was cut; " : "",
		 i->flags & ITEM_ILLEGAL ? "illegal transition; " : "",
		 i->flags & ITEM_HANDLER ? "in a signal handler; " : "");
	if (!*text)
		return;
	text[strlen(text) - 2] = 0;
	coati_json_kstr(&x->json, "remark", text);
}

static void put_place(struct firefox *x, const struct live_site *site)
{
	struct strbuf s = STRBUF_INIT(1 << 20);

	if (!site || !*site->file)
		return;
	coati_strbuf_printf(&s, *site->function ? "%s (%s:%u)" : "%s%s:%u", site->function,
			    site->file, site->line);
	coati_json_kstr(&x->json, "place", s.text);
	coati_strbuf_fini(&s);
}

static void put_resource(struct firefox *x, const struct live_item *i)
{
	const struct live_resource *r = &x->live.live->resources.v[i->place];
	struct strbuf s = STRBUF_INIT(1 << 20);

	coati_strbuf_printf(&s, "%s %" PRIu64 "%s%s", r->type, r->id, *r->name ? " " : "", r->name);
	coati_json_kstr(&x->json, "resource", s.text);
	coati_json_kstr(&x->json, "state", i->name);
	if (i->nr_args)
		coati_json_kstr(&x->json, "reason", i->args[0].text);
	coati_strbuf_fini(&s);
}

static void put_own(struct firefox *x, const struct live_item *i)
{
	static const char *const steps[] = { "begin", "step", "end" };
	struct json *j = &x->json;

	if (i->kind == ITEM_TASK || i->kind == ITEM_ENTER)
		put_id(x, "task", i->id);
	if (i->kind == ITEM_TASK && i->parent)
		put_id(x, "parent", i->parent);
	if (i->kind == ITEM_STATE)
		put_resource(x, i);
	if (i->kind == ITEM_LOG)
		coati_json_kstr(j, "text", i->name);
	if (i->kind == ITEM_INSTANT || i->kind == ITEM_LABELS)
		put_fields(x, i);
	if (i->kind == ITEM_LOSS) {
		coati_json_kstr(j, "what", i->name);
		coati_json_ku64(j, "count", (uint64_t)i->number);
	}
	if (i->kind == ITEM_FLOW) {
		put_id(x, "flow", i->id);
		coati_json_kstr(j, "step", steps[i->number >= 0 && i->number < 3 ? i->number : 1]);
	}
}

static void put_data(struct firefox *x, const struct live_item *i)
{
	struct json *j = &x->json;

	coati_json_object(j);
	coati_json_kstr(j, "type", types[i->kind]);
	put_own(x, i);
	if (i->site && *i->site->category)
		coati_json_kstr(j, "category", i->site->category);
	put_place(x, i->site);
	put_remark(x, i);
	coati_json_end(j);
}

void coati_firefox_live_column(struct firefox *x, const char *key)
{
	static const struct {
		const char *key;
		void (*cell)(struct firefox *, const struct live_item *);
	} columns[] = { { "name", put_name },	      { "startTime", put_start },
			{ "endTime", put_end },	      { "phase", put_phase },
			{ "category", put_category }, { "data", put_data } };
	struct firefox_live *f = &x->live;
	struct live_unpack u;
	struct live_item item;

	for (size_t n = 0; n < sizeof(columns) / sizeof(*columns); n++) {
		if (strcmp(columns[n].key, key) != 0)
			continue;
		coati_unpack_init(&u, &f->live->threads.v[f->thread].items, f->live->sites.v);
		while (coati_unpack_next(&u, &item)) {
			columns[n].cell(x, &item);
			format_output_drain(x->out);
		}
		f->failed |= u.failed;
		coati_unpack_fini(&u);
	}
}

/* ---- counters ---- */

static void put_changes(struct firefox *x, uint32_t counter, bool times)
{
	struct firefox_live *f = &x->live;
	struct live_unpack u;
	struct live_item item;
	double last = 0;

	coati_json_key(&x->json, times ? "time" : "count");
	coati_json_array(&x->json);
	coati_unpack_init(&u, &f->live->counters.v[counter].items, f->live->sites.v);
	while (coati_unpack_next(&u, &item)) {
		double value = item.flags & ITEM_IS_REAL ? item.real : (double)item.number;

		if (times)
			put_start(x, &item);
		else
			coati_json_double(&x->json, value - last);
		last = value;
		format_output_drain(x->out);
	}
	f->failed |= u.failed;
	coati_unpack_fini(&u);
	coati_json_end(&x->json);
}

/* The values themselves are drawn: without this word the profiler takes changes for a rate. It
 * keeps what it finds here when it brings a file up to its own version. */
static void put_display(struct json *j, const struct live_counter *c)
{
	bool is_bytes = !strcmp(c->unit, "bytes");

	coati_json_key(j, "display");
	coati_json_object(j);
	coati_json_kstr(j, "graphType", "line-accumulated");
	coati_json_kstr(j, "unit", c->unit);
	coati_json_kstr(j, "color", "grey");
	coati_json_key(j, "markerSchemaLocation");
	coati_json_null(j);
	coati_json_ku64(j, "sortWeight", 50);
	coati_json_kstr(j, "label", c->name);
	coati_json_key(j, "tooltipRows");
	coati_json_array(j);
	coati_json_object(j);
	coati_json_kstr(j, "type", "value");
	coati_json_kstr(j, "source", "accumulated");
	coati_json_key(j, "format");
	coati_json_object(j);
	coati_json_kstr(j, "unit", is_bytes ? "bytes" : "number");
	coati_json_end(j);
	coati_json_kstr(j, "label", is_bytes || !*c->unit ? c->name : c->unit);
	coati_json_end(j);
	coati_json_end(j);
	coati_json_end(j);
}

static void put_counter(struct firefox *x, uint32_t counter)
{
	const struct live_counter *c = &x->live.live->counters.v[counter];
	uint32_t place = x->live.place[c->thread];
	struct json *j = &x->json;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", c->pid);
	coati_json_object(j);
	coati_json_kstr(j, "name", c->name);
	coati_json_kstr(j, "category", "live");
	coati_json_kstr(j, "description", c->unit);
	coati_json_kstr(j, "pid", pid);
	coati_json_ku64(j, "mainThreadIndex", place ? place - 1 : 0);
	put_display(j, c);
	coati_json_key(j, "samples");
	coati_json_object(j);
	coati_json_ku64(j, "length", c->nr);
	put_changes(x, counter, true);
	put_changes(x, counter, false);
	coati_json_end(j);
	coati_json_end(j);
}

void coati_firefox_live_counters(struct firefox *x)
{
	coati_json_key(&x->json, "counters");
	coati_json_array(&x->json);
	for (uint32_t i = 0; i < x->live.live->counters.len; i++)
		if (x->live.live->counters.v[i].nr)
			put_counter(x, i);
	coati_json_end(&x->json);
}
