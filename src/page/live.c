/* SPDX-License-Identifier: MIT */
/* Live events besides tasks and regions: logs, counters, states of resources, flows, marks. */
#include <errno.h>

#include "base/json.h"
#include "page/page.h"

struct kinds {
	struct column *counter, *counter_time, *counter_value;
	struct column *resource, *state_begin, *state_length, *state_name;
	struct column *flow_low, *flow_high, *flow_phase, *flow_thread, *flow_time;
	struct column *mark_time, *mark_thread, *mark_name;
	struct column *log_time, *log_thread, *log_text;
};

static void add_columns(struct columns *c, struct kinds *k)
{
	*k = (struct kinds){ coati_columns_add(c, "ct.counter", COLUMN_UINT),
			     coati_columns_add(c, "ct.time", COLUMN_DELTA),
			     coati_columns_add(c, "ct.value", COLUMN_REAL),
			     coati_columns_add(c, "st.resource", COLUMN_UINT),
			     coati_columns_add(c, "st.begin", COLUMN_DELTA),
			     coati_columns_add(c, "st.length", COLUMN_UINT),
			     coati_columns_add(c, "st.name", COLUMN_UINT),
			     coati_columns_add(c, "fl.low", COLUMN_DELTA),
			     coati_columns_add(c, "fl.high", COLUMN_DELTA),
			     coati_columns_add(c, "fl.phase", COLUMN_UINT),
			     coati_columns_add(c, "fl.thread", COLUMN_UINT),
			     coati_columns_add(c, "fl.time", COLUMN_DELTA),
			     coati_columns_add(c, "mk.time", COLUMN_DELTA),
			     coati_columns_add(c, "mk.thread", COLUMN_UINT),
			     coati_columns_add(c, "mk.name", COLUMN_UINT),
			     coati_columns_add(c, "lg.time", COLUMN_DELTA),
			     coati_columns_add(c, "lg.thread", COLUMN_UINT),
			     coati_columns_add(c, "lg.text", COLUMN_UINT) };
}

static uint32_t thread_of(struct page *p, const struct live_item *i)
{
	const struct live_thread *t = &p->live.threads.v[i->thread];
	uint32_t at = coati_page_thread(p, t->pid, t->tid, t->name ? t->name : "");

	return at == PAGE_NONE ? 0 : at;
}

static void put_item(struct page *p, const struct kinds *k, const struct live_item *i)
{
	switch (i->kind) {
	case ITEM_COUNTER:
		coati_column_put(k->counter, i->place);
		coati_column_put(k->counter_time, page_time(p, i->begin));
		coati_column_real(k->counter_value,
				  i->flags & ITEM_IS_REAL ? i->real : (double)i->number);
		break;
	case ITEM_STATE:
		coati_column_put(k->resource, i->place);
		coati_column_put(k->state_begin, page_time(p, i->begin));
		coati_column_put(k->state_length, i->end - i->begin);
		coati_column_put(k->state_name, coati_page_text(&p->names, i->name));
		break;
	case ITEM_FLOW:
		coati_column_put(k->flow_low, i->id & UINT32_MAX);
		coati_column_put(k->flow_high, i->id >> 32);
		coati_column_put(k->flow_phase, (uint64_t)i->number);
		coati_column_put(k->flow_thread, thread_of(p, i));
		coati_column_put(k->flow_time, page_time(p, i->begin));
		break;
	case ITEM_INSTANT:
		coati_column_put(k->mark_time, page_time(p, i->begin));
		coati_column_put(k->mark_thread, thread_of(p, i));
		coati_column_put(k->mark_name, coati_page_text(&p->names, i->name));
		break;
	case ITEM_LOG:
		coati_column_put(k->log_time, page_time(p, i->begin));
		coati_column_put(k->log_thread, thread_of(p, i));
		coati_column_put(k->log_text, coati_page_text(&p->names, i->name));
		break;
	default:
		break;
	}
}

static void put_things(struct page *p)
{
	struct column *c = coati_columns_add(&p->columns, "things", COLUMN_JSON);
	struct json j = json_to(&c->bytes);

	coati_json_object(&j);
	coati_json_key(&j, "counters");
	coati_json_array(&j);
	for (size_t i = 0; i < p->live.counters.len; i++) {
		const struct live_counter *ct = &p->live.counters.v[i];

		coati_json_object(&j);
		coati_json_kstr(&j, "name", ct->name);
		coati_json_kstr(&j, "unit", ct->unit ? ct->unit : "");
		coati_json_ki64(&j, "pid", ct->pid);
		coati_json_end(&j);
	}
	coati_json_end(&j);
	coati_json_key(&j, "resources");
	coati_json_array(&j);
	for (size_t i = 0; i < p->live.resources.len; i++) {
		const struct live_resource *rs = &p->live.resources.v[i];

		coati_json_object(&j);
		coati_json_kstr(&j, "type", rs->type ? rs->type : "");
		coati_json_kstr(&j, "name", rs->name ? rs->name : "");
		coati_json_ki64(&j, "pid", rs->pid);
		coati_json_end(&j);
	}
	coati_json_end(&j);
	coati_json_end(&j);
}

int coati_page_put_live(struct page *p)
{
	struct live_unpack u;
	struct live_item i;
	struct kinds k;
	uint64_t nr = 0;
	int r = 0;

	add_columns(&p->columns, &k);
	coati_unpack_init(&u, &p->live.items, p->live.sites.v);
	while (coati_unpack_next(&u, &i)) {
		if (i.kind != ITEM_COUNTER && i.kind != ITEM_STATE && i.kind != ITEM_FLOW &&
		    i.kind != ITEM_INSTANT && i.kind != ITEM_LOG)
			continue;
		if (++nr <= page_max_items(p))
			put_item(p, &k, &i);
	}
	if (u.failed)
		r = -ENOMEM;
	coati_unpack_fini(&u);
	if (nr > page_max_items(p))
		coati_page_add_note(p,
				    "the page shows %llu of %llu logs, counter values, resource "
				    "states, flows and marks",
				    (unsigned long long)page_max_items(p), (unsigned long long)nr);
	put_things(p);
	return r;
}
