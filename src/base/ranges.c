/* SPDX-License-Identifier: MIT */
/*
 * The log and its checkpoints. One is made when a question finds too many ranges behind the last
 * one: it costs a merge of sorted lists, and comes after at least a quarter as many ranges as it
 * holds.
 */
#include "base/ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

#define DELTA_MIN 64 /* ranges behind a checkpoint that are looked through one by one */
#define LATE_MIN  64 /* late ones, likewise */
#define LATE_MAX  8192
#define LOG_MAX	  ((size_t)1 << 31)

void coati_ranges_init(struct ranges *s)
{
	*s = (struct ranges){ .log.max = LOG_MAX,
			      .late.max = LATE_MAX,
			      .checkpoints.max = LOG_MAX };
}

static void drop_checkpoints(struct ranges *s, size_t pos)
{
	while (s->checkpoints.len && s->checkpoints.v[s->checkpoints.len - 1].pos > pos)
		coati_free(s->checkpoints.v[--s->checkpoints.len].v);
}

void coati_ranges_fini(struct ranges *s)
{
	coati_ranges_now_drop(&s->now);
	drop_checkpoints(s, 0);
	ARRAY_FINI(&s->checkpoints);
	ARRAY_FINI(&s->log);
	ARRAY_FINI(&s->late);
}

/* How many of the log are not later than @time. */
static size_t count_until(const struct range_list *log, uint64_t time)
{
	size_t low = 0, high = log->len;

	if (!high || log->v[high - 1].time <= time)
		return high;
	low = SEARCH(mid, low, high, log->v[mid].time <= time);
	return low;
}

/* By time; those of the same time stay as they were. */
static int sort_by_time(struct range *v, size_t nr)
{
	struct range *buf = coati_alloc_array(nr, sizeof(*buf)), *from = v, *to = buf;

	if (!buf)
		return -ENOMEM;
	for (size_t width = 1; width < nr; width *= 2) {
		for (size_t i = 0; i < nr; i += 2 * width) {
			size_t mid = i + width < nr ? i + width : nr;
			size_t end = i + 2 * width < nr ? i + 2 * width : nr;
			size_t a = i, b = mid;

			for (size_t k = i; k < end; k++)
				to[k] = a < mid && (b >= end || from[a].time <= from[b].time)
						? from[a++]
						: from[b++];
		}
		struct range *swap = from;

		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, nr * sizeof(*v));
	coati_free(buf);
	return 0;
}

static int reserve(struct range_list *m, size_t more)
{
	size_t want = m->len + more;
	void *v;

	if (want <= m->cap)
		return 0;
	v = coati_realloc_array(m->v, want, sizeof(*m->v));
	if (!v)
		return -ENOMEM;
	m->v = v;
	m->cap = want;
	return 0;
}

/* The late ones into the log, each behind those of its time. */
static int merge_late(struct ranges *s)
{
	struct range_list *log = &s->log, *late = &s->late;
	size_t i, k = late->len, to;

	if (!k)
		return 0;
	if (reserve(log, k) < 0 || sort_by_time(late->v, k) < 0)
		return -ENOMEM;
	drop_checkpoints(s, count_until(log, late->v[0].time));
	i = log->len;
	to = i + k;
	log->len = to;
	while (k)
		log->v[--to] =
			i && log->v[i - 1].time > late->v[k - 1].time ? log->v[--i] : late->v[--k];
	late->len = 0;
	return 0;
}

int coati_ranges_add(struct ranges *s, const struct range *m)
{
	bool is_late = s->log.len && s->log.v[s->log.len - 1].time > m->time;
	struct range *place;

	if (is_late && s->late.len >= LATE_MIN &&
	    (s->late.len >= s->log.len / 16 || s->late.len == LATE_MAX) && merge_late(s) < 0)
		return -ENOMEM;
	place = is_late ? ARRAY_ADD(&s->late) : ARRAY_ADD(&s->log);
	if (!place)
		return -ENOMEM;
	*place = *m;
	if (s->now.is_made && !coati_ranges_now_add(&s->now, m))
		coati_ranges_now_drop(&s->now);
	return is_late;
}

/* @nr ranges, the later over the earlier, into a list by address: by halves. @buf and @ret have
 * room for 2 * @nr. */
static size_t paint(const struct range *v, size_t nr, struct range *ret, struct range *buf)
{
	struct range_list over, under;

	if (nr <= 1) {
		if (nr)
			ret[0] = v[0];
		return nr;
	}
	under = (struct range_list){ .v = buf, .len = paint(v, nr / 2, buf, ret) };
	over.v = buf + 2 * (nr / 2);
	over.len = paint(v + nr / 2, nr - nr / 2, over.v, ret);
	return coati_ranges_overlay(ret, &over, &under);
}

/* log[from, to) over @under. */
static int paint_over(const struct ranges *s, size_t from, size_t to,
		      const struct range_list *under, struct range_list *ret)
{
	size_t nr = to - from, room = 4 * nr + under->len;
	struct range *buf = coati_alloc_array(4 * nr, sizeof(*buf));
	struct range_list over;

	ret->v = coati_alloc_array(room, sizeof(*ret->v));
	if (!buf || !ret->v) {
		coati_free(buf);
		coati_free(ret->v);
		return -ENOMEM;
	}
	over = (struct range_list){ .v = buf };
	if (nr) /* without any there is no log to point into */
		over.len = paint(s->log.v + from, nr, buf, buf + 2 * nr);
	ret->len = coati_ranges_overlay(ret->v, &over, under);
	coati_free(buf);
	return 0;
}

/* The last checkpoint that holds nothing behind @pos; the empty one where there is none. */
static struct range_checkpoint checkpoint_before(const struct ranges *s, size_t pos)
{
	size_t low = SEARCH(mid, 0, s->checkpoints.len, s->checkpoints.v[mid].pos <= pos);

	return low ? s->checkpoints.v[low - 1] : (struct range_checkpoint){ 0 };
}

static size_t delta_max(size_t nr)
{
	return nr / 4 > DELTA_MIN ? nr / 4 : DELTA_MIN;
}

/* Checkpoints up to @pos, so that few are left to be looked through. Without memory: what there
 * is. */
static struct range_checkpoint make_checkpoints(struct ranges *s, size_t pos)
{
	struct range_checkpoint last = checkpoint_before(s, pos);

	/* between two checkpoints the distance is right already */
	if (s->checkpoints.len && s->checkpoints.v[s->checkpoints.len - 1].pos > pos)
		return last;
	while (pos - last.pos > delta_max(last.nr)) {
		struct range_list under = { .v = last.v, .len = last.nr }, made;
		size_t to = last.pos + delta_max(last.nr);
		struct range_checkpoint *next;

		if (paint_over(s, last.pos, to, &under, &made) < 0)
			return last;
		next = ARRAY_ADD(&s->checkpoints);
		if (!next) {
			coati_free(made.v);
			return last;
		}
		*next = (struct range_checkpoint){ .pos = to, .v = made.v, .nr = made.len };
		last = *next;
	}
	return last;
}

/* Leave of *@range what is not in @m, which does not hold @addr. */
static void narrow(struct range *range, const struct range *m, uint64_t addr)
{
	if (m->end <= addr && m->end > range->start)
		range->start = m->end;
	else if (m->start > addr && m->start < range->end)
		range->end = m->start;
}

/* Leave of *@range what is in @m, which may be NULL. */
static void clip(struct range *range, const struct range *m)
{
	if (m && m->start > range->start)
		range->start = m->start;
	if (m && m->end < range->end)
		range->end = m->end;
}

static bool holds(const struct range *m, uint64_t addr)
{
	return addr >= m->start && addr < m->end;
}

static const struct range *find_in_checkpoint(const struct range_checkpoint *c, uint64_t addr,
					      struct range *range)
{
	size_t low = SEARCH(mid, 0, c->nr, c->v[mid].end <= addr);

	if (low && c->v[low - 1].end > range->start)
		range->start = c->v[low - 1].end;
	if (low == c->nr)
		return NULL;
	if (holds(&c->v[low], addr))
		return &c->v[low];
	narrow(range, &c->v[low], addr);
	return NULL;
}

/* The best of the late ones that hold at @time: later than @best, or of its time. Those that would
 * win elsewhere narrow the range. */
static const struct range *find_late(const struct ranges *s, uint64_t addr, uint64_t time,
				     const struct range *best)
{
	for (size_t i = 0; i < s->late.len; i++) {
		const struct range *m = &s->late.v[i];

		if (m->time <= time && holds(m, addr) && (!best || m->time >= best->time))
			best = m;
	}
	return best;
}

/* Ranges around @addr in which another range is over @best: late ones, which are in no order. */
static void narrow_by_late(const struct ranges *s, uint64_t time, uint64_t addr,
			   struct range *range, const struct range *best)
{
	for (size_t i = 0; i < s->late.len; i++) {
		const struct range *m = &s->late.v[i];

		if (m->time <= time && !holds(m, addr) && (!best || m->time >= best->time))
			narrow(range, m, addr);
	}
}

/* Whether what is seen now answers a question about @time: it is kept from so many ranges on that
 * looking through them would take longer. */
static bool is_now(struct ranges *s, uint64_t time)
{
	struct range *view;
	size_t nr;

	if (s->log.len <= DELTA_MIN || s->log.v[s->log.len - 1].time > time)
		return false;
	if (s->now.is_made)
		return true;
	if (coati_ranges_view(s, UINT64_MAX, &view, &nr) < 0)
		return false;
	if (!coati_ranges_now_make(&s->now, view, nr))
		coati_ranges_now_drop(&s->now);
	coati_free(view);
	return s->now.is_made;
}

static int find_then(struct ranges *s, uint64_t addr, uint64_t time, struct range *ret)
{
	size_t pos = count_until(&s->log, time);
	struct range_checkpoint c = make_checkpoints(s, pos);
	struct range range = { .start = ret->start, .end = ret->end };
	const struct range *best = NULL;

	for (size_t i = pos; !best && i > c.pos; i--) {
		if (holds(&s->log.v[i - 1], addr))
			best = &s->log.v[i - 1];
		else
			narrow(&range, &s->log.v[i - 1], addr);
	}
	if (!best) {
		best = find_in_checkpoint(&c, addr, &range);
		/* its neighbors may be later than a late one over it */
		clip(&range, best);
	}
	if (s->late.len) {
		best = find_late(s, addr, time, best);
		narrow_by_late(s, time, addr, &range, best);
	}
	clip(&range, best);
	ret->start = range.start;
	ret->end = range.end;
	if (!best)
		return 0;
	ret->offset = best->offset + (range.start - best->start);
	ret->time = best->time;
	ret->id = best->id;
	ret->bits = best->bits;
	return 1;
}

int coati_ranges_find(struct ranges *s, uint64_t addr, uint64_t time, struct range *ret)
{
	return is_now(s, time) ? coati_ranges_now_find(&s->now, addr, ret)
			       : find_then(s, addr, time, ret);
}

uint32_t coati_ranges_position(const struct ranges *s, uint64_t time, uint64_t *ret_from,
			       uint64_t *ret_to)
{
	size_t pos = count_until(&s->log, time), nr = pos;
	uint64_t from = pos ? s->log.v[pos - 1].time : 0;
	uint64_t to = pos < s->log.len ? s->log.v[pos].time : UINT64_MAX;

	for (size_t i = 0; i < s->late.len; i++) {
		uint64_t t = s->late.v[i].time;

		if (t > time && t < to)
			to = t;
		if (t > time)
			continue;
		nr++;
		from = t > from ? t : from;
	}
	*ret_from = from;
	*ret_to = to;
	return (uint32_t)nr;
}

int coati_ranges_view(struct ranges *s, uint64_t time, struct range **ret, size_t *ret_nr)
{
	struct range_list under, made;
	struct range_checkpoint c;
	size_t pos;

	if (merge_late(s) < 0)
		return -ENOMEM;
	pos = count_until(&s->log, time);
	c = make_checkpoints(s, pos);
	under = (struct range_list){ .v = c.v, .len = c.nr };
	if (paint_over(s, c.pos, pos, &under, &made) < 0)
		return -ENOMEM;
	*ret = made.v;
	*ret_nr = made.len;
	return 0;
}

int coati_ranges_split(struct ranges *s, uint64_t time, struct ranges *to)
{
	size_t pos, nr;

	if (merge_late(s) < 0)
		return -ENOMEM;
	pos = count_until(&s->log, time);
	nr = s->log.len - pos;
	if (!nr)
		return 0;
	if (reserve(&to->log, nr) < 0)
		return -ENOMEM;
	memcpy(to->log.v + to->log.len, s->log.v + pos, nr * sizeof(*s->log.v));
	to->log.len += nr;
	coati_ranges_now_drop(&to->now);
	coati_ranges_now_drop(&s->now);
	s->log.len = pos;
	drop_checkpoints(s, pos);
	return 0;
}

/* The log becomes @v and what it has from @pos on. */
static int replace_start(struct ranges *s, size_t pos, const struct range *v, size_t nr)
{
	size_t rest = s->log.len - pos;
	struct range *log = coati_alloc_array(nr + rest ? nr + rest : 1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	if (nr)
		memcpy(log, v, nr * sizeof(*log));
	if (rest)
		memcpy(log + nr, s->log.v + pos, rest * sizeof(*log));
	coati_free(s->log.v);
	s->log.v = log;
	s->log.len = s->log.cap = nr + rest;
	coati_ranges_now_drop(&s->now);
	drop_checkpoints(s, 0);
	return 0;
}

int64_t coati_ranges_forget(struct ranges *s, uint64_t time)
{
	size_t pos, nr, before = s->log.len + s->late.len;
	struct range *view;
	int r;

	if (coati_ranges_view(s, time, &view, &nr) < 0)
		return -ENOMEM;
	pos = count_until(&s->log, time);
	r = 0;
	if (pos > nr) {
		r = nr ? sort_by_time(view, nr) : 0;
		r = r < 0 ? r : replace_start(s, pos, view, nr);
	}
	coati_free(view);
	return r < 0 ? r : (int64_t)(before - s->log.len);
}

int coati_ranges_put_below(struct ranges *s, const struct range *v, size_t nr)
{
	struct range *copy;
	int r;

	if (merge_late(s) < 0)
		return -ENOMEM;
	copy = coati_alloc_array(nr ? nr : 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		copy[i] = v[i];
		copy[i].time = 0; /* below all own ranges, whatever their time */
	}
	r = replace_start(s, 0, copy, nr);
	coati_free(copy);
	return r;
}
