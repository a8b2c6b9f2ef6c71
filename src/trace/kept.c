/* SPDX-License-Identifier: MIT */
/* see kept.h */
#include "trace/kept.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "trace/timeline.h"

#define TASKS_MAX  ((size_t)1 << 26)
#define BYTES_MAX  (SIZE_MAX / 4)
#define HEAD_WORDS 9
#define COUNTS	   5 /* of a breakdown, behind its parts */
#define VALUES	   (COATI_PART_COUNT + COUNTS)
_Static_assert(VALUES < 64, "a bit for each");

struct kept *coati_kept_new(const char *name, bool for_why)
{
	struct kept *k = coati_alloc(sizeof(*k));

	if (!k)
		return NULL;
	k->name = name;
	k->for_why = for_why;
	k->logs[0].bytes = k->logs[1].bytes = (struct strbuf)STRBUF_INIT(BYTES_MAX);
	k->gaps = k->regions = (struct strbuf)STRBUF_INIT(BYTES_MAX);
	k->tasks.max = TASKS_MAX;
	return k;
}

void coati_kept_free(struct kept **kp)
{
	struct kept *k = *kp;

	if (!k)
		return;
	coati_strbuf_fini(&k->logs[0].bytes);
	coati_strbuf_fini(&k->logs[1].bytes);
	coati_strbuf_fini(&k->gaps);
	coati_strbuf_fini(&k->regions);
	ARRAY_FINI(&k->tasks);
	coati_free(k);
	*kp = NULL;
}

int coati_kept_failed(const struct kept *k)
{
	const struct strbuf *all[] = { &k->logs[0].bytes, &k->logs[1].bytes, &k->gaps,
				       &k->regions };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i]->failed)
			return all[i]->failed;
	return 0;
}

/* A difference, so that small ones of both signs are small numbers. */
static uint64_t fold_sign(uint64_t now, uint64_t before)
{
	uint64_t d = now - before;

	return d << 1 ^ (d >> 63 ? UINT64_MAX : 0);
}

static uint64_t unfold_sign(uint64_t before, uint64_t v)
{
	return before + (v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/* ---- a breakdown as a row of numbers ---- */

static void values_of(const struct coati_ledger *l, uint64_t values[VALUES])
{
	uint64_t *counts = values + COATI_PART_COUNT;

	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		values[i] = l->parts[i];
	counts[0] = l->switches;
	counts[1] = l->faults;
	counts[2] = l->wakes;
	counts[3] = l->samples;
	counts[4] = l->fault_samples;
}

static void set_values(struct coati_ledger *l, const uint64_t values[VALUES])
{
	const uint64_t *counts = values + COATI_PART_COUNT;

	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		l->parts[i] = values[i];
	l->switches = counts[0];
	l->faults = counts[1];
	l->wakes = counts[2];
	l->samples = counts[3];
	l->fault_samples = counts[4];
}

/* ---- writing ---- */

static void put_values(struct writer *w, const struct coati_ledger *l)
{
	uint64_t values[VALUES], mask = 0;

	values_of(l, values);
	for (uint32_t i = 0; i < VALUES; i++)
		mask |= (uint64_t)(values[i] != 0) << i;
	writer_uleb(w, mask);
	for (; mask; mask &= mask - 1)
		writer_uleb(w, values[__builtin_ctzll(mask)]);
}

void coati_kept_add_instance(struct kept *k, const struct kept_instance *in)
{
	struct kept_log *log = &k->logs[in->thread != COATI_TIMELINE_NONE];
	const struct kept_instance *last = &log->last;
	uint8_t bytes[(HEAD_WORDS + 1 + VALUES) * LEB128_MAX];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_uleb(&w, fold_sign(in->begin, last->begin));
	writer_uleb(&w, in->end - in->begin);
	writer_uleb(&w, fold_sign(in->id, last->id));
	writer_uleb(&w, fold_sign(in->parent, last->parent));
	writer_uleb(&w, fold_sign((uint32_t)in->pid, (uint32_t)last->pid));
	writer_uleb(&w, fold_sign(in->number, last->number));
	writer_uleb(&w, (uint32_t)(in->thread + 1));
	writer_uleb(&w, in->flags);
	writer_uleb(&w, in->nr_gaps);
	put_values(&w, &in->ledger);
	coati_strbuf_add(&log->bytes, bytes, w.len);
	log->last = *in;
	log->nr++;
}

void coati_kept_add_gap(struct kept *k, const struct kept_gap *gap)
{
	uint8_t bytes[3 * LEB128_MAX];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_uleb(&w, fold_sign(gap->from, k->last_gap));
	writer_uleb(&w, gap->to - gap->from);
	writer_uleb(&w, gap->thread);
	coati_strbuf_add(&k->gaps, bytes, w.len);
	k->last_gap = gap->from;
}

void coati_kept_add_region(struct kept *k, const struct kept_region *g)
{
	uint8_t bytes[5 * LEB128_MAX];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_uleb(&w, fold_sign(g->begin, k->last.begin));
	writer_uleb(&w, g->end - g->begin);
	writer_uleb(&w, fold_sign(g->order, k->last.order));
	writer_uleb(&w, g->thread);
	writer_uleb(&w, g->type);
	coati_strbuf_add(&k->regions, bytes, w.len);
	k->last = *g;
}

/* ---- reading ---- */

static void get_values(struct cursor *c, struct coati_ledger *l)
{
	uint64_t values[VALUES] = { 0 }, mask = cursor_uleb(c);

	for (; mask && !c->bad; mask &= mask - 1)
		values[__builtin_ctzll(mask)] = cursor_uleb(c);
	set_values(l, values);
}

bool coati_kept_next(const struct kept *k, bool is_region, struct kept_pos *pos,
		     struct kept_instance *ret)
{
	const struct strbuf *s = &k->logs[is_region].bytes;
	struct cursor c = cursor_over(s->text + pos->at, s->len - pos->at);
	const struct kept_instance *last = &pos->last;

	if (pos->at >= s->len)
		return false;
	ret->begin = unfold_sign(last->begin, cursor_uleb(&c));
	ret->end = ret->begin + cursor_uleb(&c);
	ret->id = unfold_sign(last->id, cursor_uleb(&c));
	ret->parent = unfold_sign(last->parent, cursor_uleb(&c));
	ret->pid = (int32_t)unfold_sign((uint32_t)last->pid, cursor_uleb(&c));
	ret->number = (uint32_t)unfold_sign(last->number, cursor_uleb(&c));
	ret->thread = (uint32_t)cursor_uleb(&c) - 1;
	ret->flags = (uint32_t)cursor_uleb(&c);
	ret->nr_gaps = (uint32_t)cursor_uleb(&c);
	ret->ledger = (struct coati_ledger){ .duration = ret->end - ret->begin };
	get_values(&c, &ret->ledger);
	pos->at = s->len - cursor_left(&c);
	pos->last = *ret;
	return true;
}

void coati_kept_gap_next(const struct kept *k, struct kept_pos *pos, struct kept_gap *ret)
{
	struct cursor c = cursor_over(k->gaps.text + pos->gap_at, k->gaps.len - pos->gap_at);

	ret->from = pos->last_gap = unfold_sign(pos->last_gap, cursor_uleb(&c));
	ret->to = ret->from + cursor_uleb(&c);
	ret->thread = (uint32_t)cursor_uleb(&c);
	pos->gap_at = k->gaps.len - cursor_left(&c);
}

bool coati_kept_region_next(const struct kept *k, struct kept_pos *pos, struct kept_region *ret)
{
	struct cursor c = cursor_over(k->regions.text + pos->at, k->regions.len - pos->at);

	if (pos->at >= k->regions.len)
		return false;
	ret->begin = unfold_sign(pos->last_region.begin, cursor_uleb(&c));
	ret->end = ret->begin + cursor_uleb(&c);
	ret->order = unfold_sign(pos->last_region.order, cursor_uleb(&c));
	ret->thread = (uint32_t)cursor_uleb(&c);
	ret->type = (uint32_t)cursor_uleb(&c);
	pos->at = k->regions.len - cursor_left(&c);
	pos->last_region = *ret;
	return true;
}
