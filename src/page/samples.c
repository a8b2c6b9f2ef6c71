/* SPDX-License-Identifier: MIT */
/*
 * Samples of a page, by time. Where there are too many, those of one thread, call path and event
 * that are close together become one: sums stay exact, times become coarser, and a note says so.
 */
#include <stdlib.h>
#include <string.h>

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

/* Stacks to nodes and times to those of the page, and what it does not show is left out. */
static int gather(struct page *p, size_t *ret_nr)
{
	struct page_stacks stacks[PAGE_MODES] = { 0 };
	struct page_sample *v = p->samples.v;
	size_t nr = 0;
	int r = 0;

	for (int i = 0; i < PAGE_MODES && r == 0; i++)
		r = coati_page_stacks_init(&stacks[i], p->views[i], p->profile);
	for (uint32_t i = 0; i < coati_profile_event_count(p->profile); i++)
		stacks[coati_profile_event(p->profile, i)->is_off_cpu ? PAGE_OFF : PAGE_ON].event =
			i;
	for (size_t i = 0; i < p->samples.len && r == 0; i++) {
		struct page_sample s = v[i];
		bool off = coati_profile_event(p->profile, s.event)->is_off_cpu;
		uint32_t node =
			coati_page_counts_event(p, s.event)
				? coati_page_stack(&p->names, &stacks[off ? PAGE_OFF : PAGE_ON],
						   s.node)
				: PAGE_NONE;

		if (node == PAGE_NONE)
			continue;
		s.time = page_time(p, s.time);
		s.node = node;
		v[nr++] = s;
	}
	for (int i = 0; i < PAGE_MODES; i++)
		coati_page_stacks_fini(&stacks[i]);
	*ret_nr = nr;
	return r;
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
	struct column *thread = coati_columns_add(&p->columns, "s.thread", COLUMN_UINT);
	struct column *weight = coati_columns_add(&p->columns, "s.weight", COLUMN_UINT);
	struct column *count = coati_columns_add(&p->columns, "s.count", COLUMN_UINT);
	struct column *event = coati_columns_add(&p->columns, "s.event", COLUMN_UINT);
	struct column *labels = coati_columns_add(&p->columns, "s.labels", COLUMN_UINT);
	struct column *cpu = coati_columns_add(&p->columns, "s.cpu", COLUMN_UINT);

	for (size_t i = 0; i < nr; i++) {
		coati_column_put(time, v[i].time);
		coati_column_put(node, v[i].node);
		coati_column_put(thread, v[i].thread);
		coati_column_put(weight, v[i].weight);
		coati_column_put(count, v[i].count);
		coati_column_put(event, v[i].event);
		coati_column_put(labels, v[i].labels);
		coati_column_put(cpu, v[i].cpu < 0 ? 0 : (uint64_t)v[i].cpu + 1);
	}
}

int coati_page_put_samples(struct page *p)
{
	struct page_sample *v = p->samples.v;
	size_t nr = 0;
	int r = gather(p, &nr);

	p->samples.len = 0;
	if (r < 0)
		return r;
	nr = thin(p, v, nr);
	sort(v, nr);
	put(p, v, nr);
	put_labels(p);
	p->samples.len = nr;
	return 0;
}
