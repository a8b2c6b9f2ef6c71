/* SPDX-License-Identifier: MIT */
/*
 * The model stays under its cap: seconds leave it, and the tables are made again from what the
 * seconds that stay refer to. See model.h.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/top/tables.h"

#define SETTLED_LEAST (UINT64_C(256) << 10) /* below this nothing is worth cleaning up */

uint64_t coati_top_model_bytes(const struct top_model *m)
{
	return m->second_bytes + m->seconds.cap * sizeof(*m->seconds.v) +
	       coati_top_tables_bytes(m) + m->late.cap * sizeof(*m->late.v);
}

static void drop_first(struct top_model *m, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		coati_top_second_fini(m, &m->seconds.v[i]);
	m->seconds.len -= nr;
	memmove(m->seconds.v, m->seconds.v + nr, m->seconds.len * sizeof(*m->seconds.v));
}

static void drop_old(struct top_model *m, uint64_t now_ns)
{
	uint64_t now = now_ns / NSEC_PER_SEC;
	size_t nr = 0;

	while (nr < m->seconds.len && m->seconds.v[nr].number + m->max_seconds <= now)
		nr++;
	if (nr)
		drop_first(m, nr);
}

/* ---- tables again ---- */

/* From numbers of the old tables to those of the new. */
struct moves {
	const struct top_model *from;
	struct top_model *to;
	uint32_t *functions, *stacks, *threads, *labels; /* TOP_NONE: not moved yet */
};

static uint32_t *unmoved(size_t nr)
{
	uint32_t *v = coati_alloc_array(nr + 1, sizeof(*v));

	if (v)
		memset(v, 0xff, (nr + 1) * sizeof(*v));
	return v;
}

static int move_function(struct moves *mv, uint32_t old, uint32_t *ret)
{
	const struct top_function *f = &mv->from->functions.v[old];
	const struct top_frame frame = { f->name, f->image, f->path, f->flags };
	int r = 0;

	if (mv->functions[old] == TOP_NONE)
		r = coati_top_model_function(mv->to, &frame, &mv->functions[old]);
	*ret = mv->functions[old];
	return r;
}

static int move_stack(struct moves *mv, uint32_t old, uint32_t *ret)
{
	struct top_stack s = mv->from->stacks.v[old];
	uint32_t *frames;
	int r = 0;

	*ret = mv->stacks[old];
	if (*ret != TOP_NONE)
		return 0;
	frames = coati_alloc_array(s.nr + 1u, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < s.nr && r == 0; i++)
		r = move_function(mv, s.frames[i], &frames[i]);
	s.frames = frames;
	if (r == 0)
		r = coati_top_model_stack(mv->to, &s, &mv->stacks[old]);
	*ret = mv->stacks[old];
	coati_free(frames);
	return r;
}

static int move_entry(struct moves *mv, struct top_entry *e)
{
	int r = move_stack(mv, e->stack, &e->stack);

	if (r == 0 && mv->threads[e->thread] == TOP_NONE)
		r = coati_top_model_thread(mv->to, &mv->from->threads.v[e->thread],
					   &mv->threads[e->thread]);
	if (r == 0 && mv->labels[e->labels] == TOP_NONE)
		r = coati_top_model_labels(mv->to, mv->from->labels.v[e->labels].v,
					   mv->from->labels.v[e->labels].nr,
					   &mv->labels[e->labels]);
	if (r < 0)
		return r;
	e->thread = mv->threads[e->thread];
	e->labels = mv->labels[e->labels];
	return 0;
}

static int move_latencies(struct moves *mv, const struct top_second *from, struct top_second *to)
{
	int r = 0;

	for (size_t i = 0; i < from->latencies.len && r == 0; i++) {
		struct top_latency *l = ARRAY_ADD(&to->latencies);

		if (!l)
			return -ENOMEM;
		*l = from->latencies.v[i];
		r = coati_top_type(mv->to, mv->from->types.v[l->type], &l->type);
	}
	return r;
}

static int move_second(struct moves *mv, const struct top_second *from)
{
	struct top_second *to = ARRAY_ADD(&mv->to->seconds);
	int r;

	if (!to)
		return -ENOMEM;
	*to = *from;
	memset(&to->entries, 0, sizeof(to->entries));
	memset(&to->latencies, 0, sizeof(to->latencies));
	to->entries.max = from->entries.max;
	to->latencies.max = from->latencies.max;
	coati_index_init(&to->index);
	r = move_latencies(mv, from, to);
	mv->to->second_bytes += coati_top_second_bytes(to);
	for (size_t i = 0; i < from->entries.len && r == 0; i++) {
		struct top_entry e = from->entries.v[i];

		/* one whose samples have other labels now is empty */
		if (!e.weight && !e.count)
			continue;
		r = move_entry(mv, &e);
		if (r == 0)
			r = coati_top_second_add(mv->to, to, &e);
	}
	return r;
}

/* What waits for its labels refers to the tables, too. */
static int move_late(struct moves *mv)
{
	int r = 0;

	for (size_t i = 0; i < mv->from->late.len && r == 0; i++) {
		struct top_sample *s = ARRAY_ADD(&mv->to->late);
		struct top_entry e;

		if (!s)
			return -ENOMEM;
		*s = mv->from->late.v[i];
		e = (struct top_entry){ s->stack, s->thread, s->labels };
		r = move_entry(mv, &e);
		s->stack = e.stack;
		s->thread = e.thread;
		s->labels = e.labels;
	}
	return r;
}

static int move_all(struct moves *mv)
{
	int r = 0;

	mv->functions = unmoved(mv->from->functions.len);
	mv->stacks = unmoved(mv->from->stacks.len);
	mv->threads = unmoved(mv->from->threads.len);
	mv->labels = unmoved(mv->from->labels.len);
	if (!mv->functions || !mv->stacks || !mv->threads || !mv->labels)
		r = -ENOMEM;
	for (size_t i = 0; i < mv->from->seconds.len && r == 0; i++)
		r = move_second(mv, &mv->from->seconds.v[i]);
	if (r == 0)
		r = move_late(mv);
	coati_free(mv->functions);
	coati_free(mv->stacks);
	coati_free(mv->threads);
	coati_free(mv->labels);
	return r;
}

/* Without memory everything stays as it is. */
static bool clean_up(struct top_model *m)
{
	struct top_model to;
	struct moves mv = { .from = m, .to = &to };
	bool done = coati_top_model_init(&to, UINT64_MAX / 2, m->max_seconds) == 0 &&
		    move_all(&mv) == 0;

	if (done) {
		struct top_model old = *m;

		to.max_bytes = old.max_bytes;
		to.refused = old.refused;
		to.dropped = old.dropped;
		to.latest_ns = old.latest_ns;
		*m = to;
		to = old;
	}
	coati_top_model_fini(&to);
	m->settled_bytes = coati_top_tables_bytes(m);
	return done;
}

static bool has_doubled(const struct top_model *m)
{
	uint64_t settled = m->settled_bytes > SETTLED_LEAST ? m->settled_bytes : SETTLED_LEAST;

	return coati_top_tables_bytes(m) > 2 * settled;
}

/* While tables are made again both are there: that starts at half of the cap. */
bool coati_top_model_trim(struct top_model *m, uint64_t now_ns)
{
	bool changed = false;

	drop_old(m, now_ns);
	if (has_doubled(m))
		changed = clean_up(m);
	while (coati_top_model_bytes(m) > m->max_bytes / 2 && m->seconds.len > 1) {
		size_t nr = m->seconds.len / 8 + 1;

		m->dropped += nr;
		drop_first(m, nr);
		changed |= clean_up(m);
	}
	return changed;
}
