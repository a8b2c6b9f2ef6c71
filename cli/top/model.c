/* SPDX-License-Identifier: MIT */
/* see model.h; how it stays small is in model-trim.c */
#include "cli/top/model.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buckets.h"
#include "base/clock.h"
#include "cli/top/tables.h"

#define ENTRIES_MAX ((size_t)1 << 22)
#define PIECES_MAX  TOP_SECONDS_MAX

int coati_top_model_init(struct top_model *m, uint64_t max_bytes, uint32_t max_seconds)
{
	*m = (struct top_model){ .max_bytes = max_bytes, .max_seconds = max_seconds };
	m->seconds.max = TOP_SECONDS_MAX + 1;
	m->late.max = TOP_LATE_MAX;
	return coati_top_tables_init(m);
}

void coati_top_second_fini(struct top_model *m, struct top_second *s)
{
	m->second_bytes -= coati_top_second_bytes(s);
	ARRAY_FINI(&s->entries);
	ARRAY_FINI(&s->latencies);
	coati_index_fini(&s->index);
}

void coati_top_model_fini(struct top_model *m)
{
	for (size_t i = 0; i < m->seconds.len; i++)
		coati_top_second_fini(m, &m->seconds.v[i]);
	ARRAY_FINI(&m->seconds);
	ARRAY_FINI(&m->late);
	coati_top_tables_fini(m);
}

/* ---- seconds ---- */

uint64_t coati_top_second_bytes(const struct top_second *s)
{
	return s->entries.cap * sizeof(*s->entries.v) + s->latencies.cap * sizeof(*s->latencies.v) +
	       s->index.cap * sizeof(*s->index.slots);
}

/* The place of the first second that is not before @number. */
static size_t find_place(const struct top_model *m, uint64_t number)
{
	size_t low = 0, high = m->seconds.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->seconds.v[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct top_second *coati_top_model_second(const struct top_model *m, uint64_t number)
{
	size_t at = find_place(m, number);

	return at < m->seconds.len && m->seconds.v[at].number == number ? &m->seconds.v[at] : NULL;
}

static int get_second(struct top_model *m, uint64_t number, struct top_second **ret)
{
	size_t at = find_place(m, number);
	struct top_second *s;

	if (at < m->seconds.len && m->seconds.v[at].number == number) {
		*ret = &m->seconds.v[at];
		return 0;
	}
	if (m->seconds.len && m->seconds.v[m->seconds.len - 1].number >= number + m->max_seconds)
		return -ERANGE;
	if (!ARRAY_ADD(&m->seconds))
		return m->seconds.len >= m->seconds.max ? -E2BIG : -ENOMEM;
	s = &m->seconds.v[at];
	memmove(s + 1, s, (m->seconds.len - 1 - at) * sizeof(*s));
	*s = (struct top_second){ .number = number };
	s->entries.max = s->latencies.max = ENTRIES_MAX;
	coati_index_init(&s->index);
	*ret = s;
	return 0;
}

/* ---- entries ---- */

static bool is_same(const struct top_entry *a, const struct top_entry *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->labels == b->labels &&
	       a->is_off == b->is_off;
}

static uint64_t hash_of(const struct top_entry *e, uint64_t seed)
{
	return coati_hash_u64((uint64_t)e->stack << 32 | e->thread,
			      coati_hash_u64((uint64_t)e->labels << 1 | e->is_off, seed));
}

static struct top_entry *find_entry(const struct top_second *s, const struct top_entry *e)
{
	struct probe probe = index_probe(&s->index, hash_of(e, s->index.seed));
	uint32_t id;

	while (index_next(&s->index, &probe, &id))
		if (is_same(&s->entries.v[id], e))
			return &s->entries.v[id];
	return NULL;
}

int coati_top_second_add(struct top_model *m, struct top_second *s, const struct top_entry *e)
{
	struct top_entry *found = find_entry(s, e);
	uint64_t before;

	if (found) {
		found->weight += e->weight;
		found->count += e->count;
		return 0;
	}
	before = coati_top_second_bytes(s);
	found = ARRAY_ADD(&s->entries);
	if (!found)
		return s->entries.len >= s->entries.max ? -E2BIG : -ENOMEM;
	*found = *e;
	if (coati_index_add(&s->index, hash_of(e, s->index.seed), (uint32_t)s->entries.len - 1) <
	    0) {
		s->entries.len--;
		return -ENOMEM;
	}
	m->second_bytes += coati_top_second_bytes(s) - before;
	return 0;
}

static int add_to(struct top_model *m, uint64_t number, const struct top_entry *e)
{
	struct top_second *s;
	int r = get_second(m, number, &s);

	if (r == 0)
		r = coati_top_second_add(m, s, e);
	if (r < 0)
		return r;
	s->weight[e->is_off] += e->weight;
	s->samples += e->is_off ? 0 : e->count;
	s->cut += e->is_off || !m->stacks.v[e->stack].is_cut ? 0 : e->count;
	return 0;
}

/* Into each second what lies in it; what lies before all that is kept is lost. */
static int share_out(struct top_model *m, const struct top_sample *s, struct top_entry *e)
{
	uint64_t from = s->time_ns, to = s->time_ns + s->weight;
	uint64_t kept = (uint64_t)PIECES_MAX * NSEC_PER_SEC;
	bool counts = e->count;
	int r = 0;

	if (to - from > kept)
		from = to - kept;
	while (r == 0 && from < to) {
		uint64_t next = (from / NSEC_PER_SEC + 1) * NSEC_PER_SEC;

		next = next < to ? next : to;
		e->weight = next - from;
		/* it is counted where it ends */
		e->count = counts && next == to;
		r = add_to(m, from / NSEC_PER_SEC, e);
		r = r == -ERANGE ? 0 : r;
		from = next;
	}
	return r;
}

static struct top_entry entry_of(const struct top_sample *s)
{
	return (struct top_entry){ .stack = s->stack,
				   .thread = s->thread,
				   .labels = s->labels,
				   .is_off = s->is_off,
				   .weight = s->weight,
				   .count = s->count ? s->count : !s->goes_on };
}

int coati_top_model_add(struct top_model *m, const struct top_sample *s)
{
	struct top_entry e = entry_of(s);
	bool is_long = s->is_off && !s->count;
	uint64_t end = s->time_ns + (is_long ? s->weight : 0);
	int r;

	if (coati_top_model_bytes(m) > m->max_bytes + m->max_bytes / TOP_SLACK) {
		m->refused++;
		return -E2BIG;
	}
	if (is_long && end < s->time_ns)
		return -ERANGE;
	r = is_long ? share_out(m, s, &e) : add_to(m, s->time_ns / NSEC_PER_SEC, &e);
	m->refused += r == -E2BIG;
	if (r == 0 && end > m->latest_ns)
		m->latest_ns = end;
	return r;
}

static int relabel_in(struct top_model *m, uint64_t number, struct top_entry *e, uint32_t labels)
{
	struct top_second *s;
	struct top_entry *old;
	int r = get_second(m, number, &s);

	old = r == 0 ? find_entry(s, e) : NULL;
	if (!old || old->weight < e->weight || old->count < e->count)
		return r;
	old->weight -= e->weight;
	old->count -= e->count;
	e->labels = labels;
	return coati_top_second_add(m, s, e);
}

/* Time off the CPUs is labeled where it began: labels of a thread that waits do not change. */
int coati_top_model_relabel(struct top_model *m, const struct top_sample *s, uint32_t labels)
{
	struct top_entry e = entry_of(s);
	uint64_t from = s->time_ns, to = s->time_ns + s->weight;
	int r = 0;

	if (labels == s->labels)
		return 0;
	if (!s->is_off)
		return relabel_in(m, s->time_ns / NSEC_PER_SEC, &e, labels);
	for (uint32_t i = 0; r == 0 && from < to && i < PIECES_MAX; i++) {
		uint64_t next = (from / NSEC_PER_SEC + 1) * NSEC_PER_SEC;

		next = next < to ? next : to;
		e = entry_of(s);
		e.weight = next - from;
		e.count = !s->goes_on && next == to;
		r = relabel_in(m, from / NSEC_PER_SEC, &e, labels);
		from = next;
	}
	return r == -ERANGE ? 0 : r;
}

void coati_top_model_loss(struct top_model *m, uint64_t time_ns, uint64_t lost, uint64_t throttled)
{
	struct top_second *s;

	if (get_second(m, time_ns / NSEC_PER_SEC, &s) < 0)
		return;
	s->lost += lost;
	s->throttled += throttled;
}

/* ---- task latencies ---- */

static int add_latency(struct top_model *m, struct top_second *s, uint32_t type, uint32_t bucket)
{
	uint64_t before = coati_top_second_bytes(s);
	struct top_latency *l;

	for (size_t i = 0; i < s->latencies.len; i++) {
		l = &s->latencies.v[i];
		if (l->type == type && l->bucket == bucket) {
			l->count++;
			return 0;
		}
	}
	l = ARRAY_ADD(&s->latencies);
	if (!l)
		return -ENOMEM;
	*l = (struct top_latency){ .type = type, .bucket = bucket, .count = 1 };
	m->second_bytes += coati_top_second_bytes(s) - before;
	return 0;
}

int coati_top_model_task(struct top_model *m, uint64_t time_ns, const char *type,
			 uint64_t duration_ns)
{
	struct top_second *s;
	uint32_t id;
	int r = coati_top_type(m, type, &id);

	if (r == 0)
		r = get_second(m, time_ns / NSEC_PER_SEC, &s);
	return r < 0 ? r : add_latency(m, s, id, bucket_of(duration_ns));
}
