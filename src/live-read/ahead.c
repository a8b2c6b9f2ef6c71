/* SPDX-License-Identifier: MIT */
/*
 * Nearly all events are short ones about which nothing is special: begins and ends of regions,
 * logs, counters. What they look like follows from their batch and from those before them in their
 * thread, so that a handful of each thread is made ready at once, before the merge, as they will be
 * given out. The others, and what stands before a stack, go the long way of event.c.
 *
 * Rarely something else changes what they depend on: another thread tells what this one has open,
 * or a site gets another name. Then what is ready is taken back. The same when the caller asks what
 * is open, because that is a question about the last event that was given out.
 */
#include <string.h>

#include "base/alloc.h"
#include "live-read/reader-parts.h"
#include "live-read/reader.h"

/* Kinds that are made ready; all but the end begin with a site. */
#define COMMON                                                                                     \
	(1u << LIVE_REGION_BEGIN | 1u << LIVE_REGION_END | 1u << LIVE_RANGE | 1u << LIVE_COUNTER | \
	 1u << LIVE_GAUGE | 1u << LIVE_LOG)

static inline bool is_common(const struct live_walk *w)
{
	return w->at < w->safe && COMMON >> (*w->at & 31) & 1;
}

/* Whether the time fits the clock, and is near enough for a short multiplication. */
static inline bool is_near(const struct live_clock *c, uint64_t units)
{
	return units - c->units <= c->near;
}

/* Regions up to the first event that is something else or special: live_next_region(), and what
 * coati_trace_show() makes of it. Hot. */
static struct coati_trace_event *take_regions(struct stream *s, struct coati_trace_event *e,
					      const struct coati_trace_event *end)
{
	struct coati_trace_site **sites = s->process->names.sites;
	const struct live_clock *c = &s->clock;
	const uint8_t *at = s->walk.at, *safe = s->walk.safe;
	uint64_t since = s->walk.time - c->units, time = s->time;
	struct open_region *open = s->regions.v;
	size_t len = s->regions.len;

	for (; e < end && at < safe; e++) {
		uint64_t first = *at, more = first >> 5, delta, ns;
		const struct coati_trace_site *site;

		memcpy(&delta, at + 1, sizeof(delta));
		delta = since + (delta & coati_live_masks[more]);
		if (more > 3 || delta > c->near)
			break;
		ns = c->ns + ((delta * c->mult + (1u << 31)) >> 32);
		ns = ns > time ? ns : time;
		if ((first & 31) == LIVE_REGION_END) {
			if (!len || !open[len - 1].site)
				break;
			len--;
			site = open[len].site;
			s->began[e - s->ready] = open[len].began_units;
			e->duration = ns - open[len].began_ns;
			e->depth = (uint32_t)len;
			at += 2 + more;
		} else if ((first & 31) == LIVE_REGION_BEGIN) {
			uint64_t id = at[2 + more];

			if (len == s->regions.cap || id >= LIVE_SITES_NEAR || !sites[id])
				break;
			site = sites[id];
			open[len] = (struct open_region){ site, ns, delta + c->units };
			e->duration = COATI_TRACE_NO_DURATION;
			e->depth = (uint32_t)len;
			len++;
			at += 3 + more;
		} else {
			break;
		}
		e->time = time = ns;
		e->kind = first & 31;
		e->task = s->task;
		e->site = site;
		since = delta;
	}
	s->walk.at = at;
	s->walk.time = since + c->units;
	s->regions.len = len;
	s->time = time;
	return e;
}

/* One that is no region, or has a long number. False: it is special, and nothing has changed. */
static bool take_other(struct coati_live_reader *t, struct stream *s, struct coati_trace_event *e)
{
	const struct live_event *raw = &s->event;
	struct live_walk *w = &s->walk;
	const uint8_t *at = w->at;
	uint64_t time = w->time, ns;

	if (!is_common(w) || !coati_live_next_short(w, &s->event))
		return false;
	if (!live_names_site(&s->process->names, raw->v[0]) || !is_near(&s->clock, raw->time) ||
	    (raw->kind == LIVE_LOG && raw->text[0].is_ref) ||
	    (raw->kind == LIVE_REGION_BEGIN && s->regions.len == s->regions.cap)) {
		w->at = at;
		w->time = time;
		return false;
	}
	ns = live_clock_ns(&s->clock, raw->time);
	s->time = ns > s->time ? ns : s->time;
	s->stale |= UINT64_C(1) << (e - s->ready);
	if (raw->kind == LIVE_REGION_END && s->regions.len)
		s->began[e - s->ready] = s->regions.v[s->regions.len - 1].began_units;
	e->time = s->time;
	e->kind = raw->kind;
	e->task = s->task;
	e->duration = COATI_TRACE_NO_DURATION;
	e->depth = 0;
	return coati_trace_show_kind(t, s, raw, e) == 0;
}

/* Stacks stand behind what they belong to, and are not ready. */
static bool is_before_stack(const struct live_walk *w)
{
	return w->at < w->end && (1u << (*w->at & 31) & (1u << LIVE_NONE | 1u << LIVE_STACKED));
}

/* Leave the first @nr of those that were made ready. */
static void go_back(struct stream *s, size_t nr)
{
	struct live_event raw;

	while (s->end > s->ready + nr) {
		const struct coati_trace_event *e = --s->end;

		s->time = e->time; /* the one before is not later */
		if (e->kind == COATI_TRACE_REGION_BEGIN)
			s->regions.len--;
		else if (e->kind == COATI_TRACE_REGION_END)
			s->regions.v[s->regions.len++] =
				(struct open_region){ e->site, e->time - e->duration,
						      s->began[e - s->ready] };
	}
	s->walk.at = s->first_at;
	s->walk.time = s->first_time;
	while (nr--)
		if (!live_next_region(&s->walk, &raw))
			coati_live_next_short(&s->walk, &raw);
}

/* Room for @nr, blank. Where many threads write at the same time, not all of them get any. */
static bool make_room(const struct coati_live_reader *t, struct stream *s, size_t nr)
{
	uint64_t stale = s->stale & (nr < 64 ? (UINT64_C(1) << nr) - 1 : UINT64_MAX);

	if (!s->ready && t->heap.len <= MANY)
		s->ready = coati_alloc((AHEAD + 1) * sizeof(*s->ready) + AHEAD * sizeof(*s->began));
	if (!s->ready)
		return false;
	s->began = (uint64_t *)(s->ready + AHEAD + 1);
	s->stale &= ~stale;
	for (; stale; stale &= stale - 1)
		s->ready[__builtin_ctzll(stale)] = s->blank;
	return true;
}

void coati_trace_ahead_free(struct stream *s)
{
	coati_free(s->ready);
	s->ready = s->next = s->end = NULL;
	s->stale = UINT64_MAX;
}

bool coati_trace_ahead(struct coati_live_reader *t, struct stream *s)
{
	struct live_walk *w = &s->walk;
	struct coati_trace_event *e, *end;
	size_t nr;

	if (!s->plain || s->deeper || !is_common(w) || !is_near(&s->clock, w->time) ||
	    !s->process->names.sites)
		return false;
	nr = (size_t)(w->safe - w->at + 1) / 2; /* none is shorter */
	nr = nr < AHEAD ? nr : AHEAD;
	if (!make_room(t, s, nr))
		return false; /* the long way needs none */
	s->next = e = s->ready;
	end = e + nr;
	s->first_at = w->at;
	s->first_time = w->time;
	do {
		s->end = e;
		e = take_regions(s, e, end);
		if (e < end && take_other(t, s, e))
			e++;
	} while (e > s->end && e < end);
	s->end = e;
	if (e > s->ready && is_before_stack(w))
		go_back(s, (size_t)(e - s->ready) - 1);
	return s->next < s->end;
}

void coati_trace_take_back(struct stream *s)
{
	if (s->next == s->end)
		return;
	go_back(s, (size_t)(s->next - s->ready));
	s->next = s->end;
	coati_live_next(&s->walk, &s->event); /* it was one before */
}

void coati_trace_take_all_back(struct coati_live_reader *t)
{
	coati_trace_unlist(t);
	for (size_t i = 0; i < t->heap.len; i++)
		coati_trace_take_back(t->heap.v[i].stream);
}
