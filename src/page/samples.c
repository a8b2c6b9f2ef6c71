/* SPDX-License-Identifier: MIT */
/*
 * Samples of a page, by time. Where there are too many, those of one thread, call path and event
 * that are close together become one: sums stay exact, times become coarser, and a note says so.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "page/page.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/profile.h"

#define BIN_FIRST_NS UINT64_C(1000000)

static int by_time(const void *a, const void *b)
{
	const struct page_sample *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_bin(const void *a, const void *b)
{
	const struct page_sample *x = a, *y = b;
	const uint64_t keys[][2] = {
		{ x->time, y->time },	  { x->thread, y->thread },
		{ x->node, y->node },	  { x->event, y->event },
		{ x->labels, y->labels }, { (uint32_t)x->cpu, (uint32_t)y->cpu }
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* Samples come as they were taken, which is in the order of time: to find that out costs one pass,
 * and to sort them a second array. */
static void sort(struct page_sample *v, size_t nr)
{
	size_t i = 1;

	while (i < nr && by_time(&v[i - 1], &v[i]) <= 0)
		i++;
	if (i < nr)
		qsort(v, nr, sizeof(*v), by_time);
}

/* Times on CPUs become those of their bins, and what is equal then becomes one. */
static size_t join(struct page_sample *v, size_t nr, uint64_t bin)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		v[i].time -= v[i].time % bin;
	qsort(v, nr, sizeof(*v), by_bin);
	for (size_t i = 0; i < nr; i++) {
		if (kept && by_bin(&v[kept - 1], &v[i]) == 0) {
			add_weight(&v[kept - 1].weight, v[i].weight);
			add_weight(&v[kept - 1].count, v[i].count);
		} else {
			v[kept++] = v[i];
		}
	}
	return kept;
}

static size_t thin(struct page *p, struct page_sample *v, size_t nr)
{
	uint64_t bin = BIN_FIRST_NS, length = p->end - p->begin;

	if (nr <= page_max_items(p))
		return nr;
	/* the last step has all of a call path in one */
	for (;; bin *= 2) {
		nr = join(v, nr, bin);
		if (nr <= page_max_items(p) || bin > length)
			break;
	}
	coati_page_add_note(p,
			    "the page joins samples of one call path within %.0f ms: there are too "
			    "many for a page; sums are exact",
			    (double)bin / 1e6);
	return nr;
}

/* ---- as they came ---- */

static enum page_mode mode_of(const struct page *p, uint32_t event)
{
	return coati_profile_event(p->profile, event)->is_off_cpu ? PAGE_OFF : PAGE_ON;
}

static int make_stacks(struct page *p)
{
	int r = 0;

	for (int i = 0; i < PAGE_MODES && r == 0; i++)
		r = coati_page_stacks_init(&p->stacks[i], p->views[i], p->profile);
	/* a view leaves out stacks of an event that does not count, as page faults beside times */
	for (uint32_t i = 0; i < coati_profile_event_count(p->profile); i++)
		if (coati_page_counts_event(p, i))
			p->stacks[mode_of(p, i)].event = i;
	return r;
}

uint32_t coati_page_node(const struct page *p, uint32_t event, uint32_t stack)
{
	return coati_page_counts_event(p, event)
		       ? page_known_stack(&p->stacks[mode_of(p, event)], stack)
		       : PAGE_NONE;
}

/* The nodes of all samples. False: the page does not show some of them. */
static bool put_nodes(struct page *p, struct column *node)
{
	struct column_reader stack = column_read(&p->taken.stack),
			     event = column_read(&p->taken.event);
	uint64_t left = taken_count(&p->taken), run;

	for (; left; left -= run) {
		uint32_t e = (uint32_t)column_next_run(&event, left, &run);
		struct page_stacks *stacks = &p->stacks[mode_of(p, e)];

		if (!coati_page_counts_event(p, e))
			return false;
		for (uint64_t i = 0; i < run; i++) {
			uint32_t at = page_stack(&p->names, stacks, (uint32_t)column_next(&stack));

			if (at == PAGE_NONE)
				return false;
			column_put_uint(node, at);
		}
	}
	return true;
}

/* Times are those since the beginning of the page: all but the first are apart as they were. */
static void put_times(struct page *p)
{
	struct column *time = coati_columns_add(&p->columns, "s.time", COLUMN_DELTA);
	const struct column *from = &p->taken.time;

	if (!from->count)
		return;
	column_put_delta(time, page_time(p, p->taken.first));
	coati_strbuf_add(&time->bytes, from->bytes.text + 1, from->bytes.len - 1);
	time->count = from->count;
}

/* Where samples are in the order of time, all are shown and there is room for them, their columns
 * are those of the page. */
static bool put_as_they_came(struct page *p)
{
	struct column node = COLUMN_INIT(COLUMN_UINT);
	struct taken *t = &p->taken;

	if (t->is_unordered || taken_count(t) > page_max_items(p))
		return false;
	if (!put_nodes(p, &node)) {
		coati_strbuf_fini(&node.bytes);
		return false;
	}
	put_times(p);
	coati_columns_move(&p->columns, "s.node", &node);
	coati_columns_move(&p->columns, "s.thread", &t->thread);
	coati_columns_move(&p->columns, "s.weight", &t->weight);
	coati_columns_move(&p->columns, "s.count", &t->count);
	coati_columns_move(&p->columns, "s.event", &t->event);
	coati_columns_move(&p->columns, "s.labels", &t->labels);
	coati_columns_move(&p->columns, "s.cpu", &t->cpu);
	return true;
}

/* ---- one by one ---- */

/* Stacks to nodes and times to those of the page, and what it does not show is left out. */
static int gather(struct page *p, struct page_sample **ret, size_t *ret_nr)
{
	struct taken_reader from = coati_taken_read(&p->taken);
	struct page_sample s, *v = coati_alloc_array(taken_count(&p->taken) + 1, sizeof(*v));
	size_t nr = 0;

	if (!v)
		return -ENOMEM;
	while (coati_taken_next(&from, &s)) {
		uint32_t node =
			coati_page_counts_event(p, s.event)
				? page_stack(&p->names, &p->stacks[mode_of(p, s.event)], s.node)
				: PAGE_NONE;

		if (node == PAGE_NONE)
			continue;
		s.time = page_time(p, s.time);
		s.node = node;
		v[nr++] = s;
	}
	coati_taken_fini(&p->taken);
	*ret = v;
	*ret_nr = nr;
	return 0;
}

static void put_labels(struct page *p)
{
	struct column *c = coati_columns_add(&p->columns, "labels", COLUMN_JSON);
	struct json j = json_to(&c->bytes);
	const struct coati_label *labels;
	uint32_t nr;

	coati_json_array(&j);
	for (uint32_t i = 0; (labels = coati_profile_labels(p->profile, i, &nr)) || i == 0; i++) {
		coati_json_array(&j);
		for (uint32_t n = 0; labels && n < nr; n++) {
			coati_json_u64(&j, coati_page_text(&p->names, labels[n].key));
			coati_json_u64(&j, coati_page_text(&p->names, labels[n].value));
		}
		coati_json_end(&j);
	}
	coati_json_end(&j);
}

static void put(struct page *p, const struct page_sample *v, size_t nr)
{
	struct column *time = coati_columns_add(&p->columns, "s.time", COLUMN_DELTA);
	struct column *node = coati_columns_add(&p->columns, "s.node", COLUMN_UINT);
	struct column *thread = coati_columns_add(&p->columns, "s.thread", COLUMN_RUNS);
	struct column *weight = coati_columns_add(&p->columns, "s.weight", COLUMN_RUNS);
	struct column *count = coati_columns_add(&p->columns, "s.count", COLUMN_RUNS);
	struct column *event = coati_columns_add(&p->columns, "s.event", COLUMN_RUNS);
	struct column *labels = coati_columns_add(&p->columns, "s.labels", COLUMN_RUNS);
	struct column *cpu = coati_columns_add(&p->columns, "s.cpu", COLUMN_RUNS);

	for (size_t i = 0; i < nr; i++) {
		column_put_delta(time, v[i].time);
		column_put_uint(node, v[i].node);
		column_put_run(thread, v[i].thread);
		column_put_run(weight, v[i].weight);
		column_put_run(count, v[i].count);
		column_put_run(event, v[i].event);
		column_put_run(labels, v[i].labels);
		column_put_run(cpu, v[i].cpu < 0 ? 0 : (uint64_t)v[i].cpu + 1);
	}
}

static int put_one_by_one(struct page *p)
{
	struct page_sample *v = NULL;
	size_t nr = 0;
	int r = gather(p, &v, &nr);

	if (r < 0)
		return r;
	nr = thin(p, v, nr);
	sort(v, nr);
	put(p, v, nr);
	coati_free(v);
	return 0;
}

int coati_page_put_samples(struct page *p)
{
	int r = make_stacks(p);

	if (r == 0 && !put_as_they_came(p))
		r = put_one_by_one(p);
	coati_taken_fini(&p->taken);
	if (r == 0)
		put_labels(p);
	return r;
}
