/* SPDX-License-Identifier: MIT */
/*
 * Live events as Chrome's trace events: regions are complete events (X) of their thread, those that
 * do not nest there and tasks and states of resources are asynchronous pairs (b, e) whose number is
 * the process' own (id2), what a thread works on is an n of the task and an instant of the thread;
 * logs, instants, labels and losses are instants (i), counters C, flows s, t and f. A pair stands
 * together; the reader sorts by time.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/chrome.h"
#include "format/live-events.h"

struct writer {
	struct json *j;
	const struct timeline *timeline;
	const struct live *live;
	struct format_output *out;
};

static const struct live_thread *thread_of(const struct writer *w, const struct live_item *i)
{
	return &w->live->threads.v[i->thread];
}

static void put_time(struct writer *w, const char *key, uint64_t since_ns)
{
	coati_json_key(w->j, key);
	coati_json_fixed(w->j, since_ns, CHROME_DECIMALS);
}

/* ---- arguments ---- */

static void put_arg(struct json *j, const struct live_arg *a)
{
	switch (a->letter) {
	case 'i':
		coati_json_ki64(j, a->name, a->number);
		break;
	case 'u':
		coati_json_ku64(j, a->name, (uint64_t)a->number);
		break;
	case 'x':
		coati_json_key(j, a->name);
		coati_json_hex(j, (uint64_t)a->number);
		break;
	case 'd':
		coati_json_kdouble(j, a->name, a->real);
		break;
	default:
		coati_json_kstr(j, a->name, a->text);
	}
}

static void put_flags(struct json *j, const struct live_item *i)
{
	if (i->flags & ITEM_OPEN_BEGIN)
		coati_json_kbool(j, "began before", true);
	if (i->flags & ITEM_OPEN_END)
		coati_json_kbool(j, "has no end", true);
	if (i->flags & ITEM_CLOCK_UNKNOWN)
		coati_json_kbool(j, "time is a guess", true);
	if (i->flags & ITEM_CUT)
		coati_json_kbool(j, "text was cut", true);
	if (i->flags & ITEM_ILLEGAL)
		coati_json_kbool(j, "illegal transition", true);
	if (i->flags & ITEM_HANDLER)
		coati_json_kbool(j, "in a signal handler", true);
}

static void put_site(struct json *j, const struct live_site *s)
{
	if (!s || !*s->file)
		return;
	coati_json_kstr(j, "file", s->file);
	coati_json_ku64(j, "line", s->line);
	coati_json_kstr(j, "function", s->function);
}

/* Fields come in an object of their own: they may be called as ours. */
static void put_args(struct writer *w, const struct live_item *i)
{
	struct json *j = w->j;

	coati_json_key(j, "args");
	coati_json_object(j);
	if (i->kind == ITEM_TASK || i->kind == ITEM_ENTER)
		coati_json_ku64(j, "task", i->id);
	if (i->kind == ITEM_TASK && i->parent)
		coati_json_ku64(j, "parent", i->parent);
	if (i->kind == ITEM_LOSS)
		coati_json_ku64(j, "count", (uint64_t)i->number);
	if (i->kind == ITEM_STATE)
		coati_json_kstr(j, "resource", w->live->resources.v[i->place].name);
	if (i->nr_args) {
		coati_json_key(j, i->kind == ITEM_LABELS ? "labels" : "fields");
		coati_json_object(j);
		for (uint32_t n = 0; n < i->nr_args; n++)
			put_arg(j, &i->args[n]);
		coati_json_end(j);
	}
	put_flags(j, i);
	put_site(j, i->site);
	coati_json_end(j);
}

/* ---- events ---- */

static const char *category_of(const struct live_item *i, const char *otherwise)
{
	return i->site && *i->site->category ? i->site->category : otherwise;
}

static const char *name_of(const struct live_item *i, const char *otherwise)
{
	return i->site && *i->site->name ? i->site->name : otherwise;
}

static void begin(struct writer *w, const struct live_item *i, const char *phase, const char *name,
		  const char *category)
{
	const struct live_thread *t = thread_of(w, i);

	chrome_begin_event(w->j, phase, name, t->pid, t->tid);
	coati_json_kstr(w->j, "cat", category);
}

static void end(struct writer *w)
{
	coati_json_end(w->j);
	format_output_drain(w->out);
}

static void put_region(struct writer *w, const struct live_item *i)
{
	begin(w, i, "X", name_of(i, "region"), category_of(i, "region"));
	put_time(w, "ts", timeline_since_ns(w->timeline, i->begin));
	put_time(w, "dur", i->end - i->begin);
	put_args(w, i);
	end(w);
}

/* A number of the process' own. */
static void put_id(struct writer *w, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)id);
	coati_json_key(w->j, "id2");
	coati_json_object(w->j);
	coati_json_kstr(w->j, "local", text);
	coati_json_end(w->j);
}

static void put_pair(struct writer *w, const struct live_item *i, const char *name,
		     const char *category, uint64_t id)
{
	for (int last = 0; last < 2; last++) {
		begin(w, i, last ? "e" : "b", name, category);
		put_id(w, id);
		put_time(w, "ts", timeline_since_ns(w->timeline, last ? i->end : i->begin));
		if (!last)
			put_args(w, i);
		end(w);
	}
}

static void put_instant(struct writer *w, const struct live_item *i, const char *name,
			const char *category)
{
	begin(w, i, "i", name, category);
	coati_json_kstr(w->j, "s", "t"); /* of its thread */
	put_time(w, "ts", timeline_since_ns(w->timeline, i->begin));
	put_args(w, i);
	end(w);
}

static void put_enter(struct writer *w, const struct live_item *i)
{
	put_instant(w, i, i->id ? name_of(i, "task") : "no task", "task");
	if (!i->id)
		return;
	begin(w, i, "n", name_of(i, "task"), "task");
	put_id(w, i->id);
	put_time(w, "ts", timeline_since_ns(w->timeline, i->begin));
	end(w);
}

static void put_counter(struct writer *w, const struct live_item *i)
{
	const struct live_counter *c = &w->live->counters.v[i->place];

	begin(w, i, "C", c->name, category_of(i, "counter"));
	put_time(w, "ts", timeline_since_ns(w->timeline, i->begin));
	coati_json_key(w->j, "args");
	coati_json_object(w->j);
	coati_json_key(w->j, *c->unit ? c->unit : "value");
	if (i->flags & ITEM_IS_REAL)
		coati_json_double(w->j, i->real);
	else
		coati_json_i64(w->j, i->number);
	coati_json_end(w->j);
	end(w);
}

static void put_flow(struct writer *w, const struct live_item *i)
{
	static const char *const phases[] = { "s", "t", "f" };
	uint32_t phase = i->number >= 0 && i->number < 3 ? (uint32_t)i->number : 1;
	char id[48];

	begin(w, i, phases[phase], name_of(i, "flow"), "flow");
	snprintf(id, sizeof(id), "%d.0x%llx", thread_of(w, i)->pid, (unsigned long long)i->id);
	coati_json_kstr(w->j, "id", id);
	if (phase == 2)
		coati_json_kstr(w->j, "bp", "e"); /* at the slice around, not at the next */
	put_time(w, "ts", timeline_since_ns(w->timeline, i->begin));
	put_args(w, i);
	end(w);
}

static void put_item(struct writer *w, const struct live_item *i)
{
	switch (i->kind) {
	case ITEM_REGION:
		if (i->lane)
			put_pair(w, i, name_of(i, "region"), "what does not nest", i->order);
		else
			put_region(w, i);
		break;
	case ITEM_TASK:
		put_pair(w, i, name_of(i, "task"), "task", i->id);
		break;
	case ITEM_STATE:
		put_pair(w, i, i->name, w->live->resources.v[i->place].type, i->place);
		break;
	case ITEM_LOG:
		put_instant(w, i, *i->name ? i->name : "log", category_of(i, "log"));
		break;
	case ITEM_INSTANT:
		put_instant(w, i, name_of(i, "instant"), category_of(i, "instant"));
		break;
	case ITEM_ENTER:
		put_enter(w, i);
		break;
	case ITEM_LABELS:
		put_instant(w, i, "labels", "labels");
		break;
	case ITEM_LOSS:
		put_instant(w, i, i->name, "loss");
		break;
	case ITEM_COUNTER:
		put_counter(w, i);
		break;
	case ITEM_FLOW:
		put_flow(w, i);
		break;
	}
}

/* From the sample on that would come behind the last: those before have the names that they were
 * taken under. */
static void put_names(struct writer *w, const struct live_thread *t)
{
	const char *const names[2] = { t->process_name, t->name };

	for (int n = 0; n < 2; n++) {
		chrome_begin_event(w->j, "M", n ? "thread_name" : "process_name", t->pid, t->tid);
		coati_json_key(w->j, "args");
		coati_json_object(w->j);
		coati_json_kstr(w->j, "name", names[n]);
		coati_json_ku64(w->j, "sample", w->timeline->in->nr_samples);
		coati_json_end(w->j);
		end(w);
	}
}

int coati_chrome_live(struct json *j, const struct timeline *t, struct format_output *out)
{
	struct writer w = { .j = j, .timeline = t, .live = t->in->live, .out = out };
	struct live_unpack u;
	struct live_item item;
	bool failed;

	for (size_t i = 0; i < w.live->threads.len; i++)
		if (w.live->threads.v[i].tells)
			put_names(&w, &w.live->threads.v[i]);
	coati_unpack_init(&u, &w.live->items, w.live->sites.v);
	while (coati_unpack_next(&u, &item))
		put_item(&w, &item);
	failed = u.failed;
	coati_unpack_fini(&u);
	return failed ? -ENOMEM : 0;
}
