/* SPDX-License-Identifier: MIT */
/* see taken.h */
#include "page/taken.h"

void coati_taken_init(struct taken *t)
{
	*t = (struct taken){ .time = COLUMN_INIT(COLUMN_DELTA),
			     .stack = COLUMN_INIT(COLUMN_UINT),
			     .thread = COLUMN_INIT(COLUMN_RUNS),
			     .weight = COLUMN_INIT(COLUMN_RUNS),
			     .count = COLUMN_INIT(COLUMN_RUNS),
			     .event = COLUMN_INIT(COLUMN_RUNS),
			     .labels = COLUMN_INIT(COLUMN_RUNS),
			     .cpu = COLUMN_INIT(COLUMN_RUNS) };
}

void coati_taken_fini(struct taken *t)
{
	struct column *const all[] = { &t->time,  &t->stack, &t->thread, &t->weight,
				       &t->count, &t->event, &t->labels, &t->cpu };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		coati_strbuf_fini(&all[i]->bytes);
	coati_taken_init(t);
}

/* Of each of them the same. */
typedef uint64_t get_fn(const struct page_sample *s);

static uint64_t thread_of(const struct page_sample *s)
{
	return s->thread;
}

static uint64_t weight_of(const struct page_sample *s)
{
	return s->weight;
}

static uint64_t count_of(const struct page_sample *s)
{
	return s->count;
}

static uint64_t event_of(const struct page_sample *s)
{
	return s->event;
}

static uint64_t labels_of(const struct page_sample *s)
{
	return s->labels;
}

static uint64_t cpu_of(const struct page_sample *s)
{
	return s->cpu < 0 ? 0 : (uint64_t)s->cpu + 1;
}

/* Inline: then @get is, too. */
static inline __attribute__((always_inline)) void put_runs(struct column *c, const struct taken *t,
							   get_fn *get)
{
	uint8_t *to = column_room(c, t->nr_held + 1);
	uint64_t last = c->last, run = c->run;

	for (uint32_t i = 0; i < t->nr_held && to; i++) {
		uint64_t v = get(&t->held[i]);

		if (v != last && run) {
			to = column_run(to, last, run);
			run = 0;
		}
		last = v;
		run++;
	}
	c->last = last;
	c->run = run;
	c->count += t->nr_held;
	if (to)
		column_filled(c, to);
}

static void put_times(struct taken *t)
{
	uint8_t *to = column_room(&t->time, t->nr_held);
	uint64_t last = t->time.last;
	bool is_unordered = false;

	for (uint32_t i = 0; i < t->nr_held && to; i++) {
		is_unordered |= t->held[i].time < last;
		to = column_delta(to, &last, t->held[i].time);
	}
	t->is_unordered |= is_unordered;
	t->time.last = last;
	t->time.count += t->nr_held;
	if (to)
		column_filled(&t->time, to);
}

static void put_stacks(struct taken *t)
{
	uint8_t *to = column_room(&t->stack, t->nr_held);

	for (uint32_t i = 0; i < t->nr_held && to; i++)
		to = uleb_put(to, t->held[i].node);
	t->stack.count += t->nr_held;
	if (to)
		column_filled(&t->stack, to);
}

void coati_taken_flush(struct taken *t)
{
	put_times(t);
	put_stacks(t);
	put_runs(&t->thread, t, thread_of);
	put_runs(&t->weight, t, weight_of);
	put_runs(&t->count, t, count_of);
	put_runs(&t->event, t, event_of);
	put_runs(&t->labels, t, labels_of);
	put_runs(&t->cpu, t, cpu_of);
	t->nr_held = 0;
}

int coati_taken_end(struct taken *t)
{
	struct column *const all[] = { &t->time,  &t->stack, &t->thread, &t->weight,
				       &t->count, &t->event, &t->labels, &t->cpu };
	int r = 0;

	coati_taken_flush(t);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		coati_column_end(all[i]);
		r = r ? r : all[i]->bytes.failed;
	}
	return r;
}

struct taken_reader coati_taken_read(const struct taken *t)
{
	struct taken_reader r = { .of = t,
				  .time = column_read(&t->time),
				  .stack = column_read(&t->stack),
				  .thread = column_read(&t->thread),
				  .weight = column_read(&t->weight),
				  .count = column_read(&t->count),
				  .event = column_read(&t->event),
				  .labels = column_read(&t->labels),
				  .cpu = column_read(&t->cpu),
				  .left = taken_count(t) };

	r.time.last = t->first;
	return r;
}

bool coati_taken_next(struct taken_reader *r, struct page_sample *ret)
{
	if (!r->left)
		return false;
	r->left--;
	ret->time = column_next(&r->time);
	ret->node = (uint32_t)column_next(&r->stack);
	ret->thread = (uint32_t)column_next(&r->thread);
	ret->weight = column_next(&r->weight);
	ret->count = column_next(&r->count);
	ret->event = (uint32_t)column_next(&r->event);
	ret->labels = (uint32_t)column_next(&r->labels);
	ret->cpu = (int32_t)(column_next(&r->cpu) - 1);
	return true;
}
