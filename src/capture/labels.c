/* SPDX-License-Identifier: MIT */
/* see labels.h; the names of keys are labels-names.c */
#include "capture/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/leb128.h"
#include "capture/labels-parts.h"
#include "record/live-format.h"

#define SEEN_MAX    ((size_t)1 << 22)
#define THREADS_MAX ((size_t)1 << 20)
#define PIDS_MAX    ((size_t)1 << 23) /* more than there are */
#define POOL_BYTES  ((size_t)256 << 20)
#define WAIT_NS	    NSEC_PER_SEC /* for names */
#define EVENT_MOST  (1 + 8 + LEB128_MAX)
#define ROOM	    (COATI_LIVE_BATCH_MAX - sizeof(struct live_batch))

/* In place of a number of a pool: there was no room for it; the thread has ended. */
#define OVER  UINT32_MAX
#define ENDED (UINT32_MAX - 1)

/* ---- pools ---- */

static void pool_init(struct label_pool *p)
{
	coati_arena_init(&p->arena, POOL_BYTES);
	coati_map_init(&p->index, COATI_LABEL_SETS_MAX);
	p->v.max = COATI_LABEL_SETS_MAX;
}

static void pool_fini(struct label_pool *p)
{
	coati_arena_fini(&p->arena);
	coati_map_fini(&p->index);
	ARRAY_FINI(&p->v);
}

static uint32_t pool_add(struct label_pool *p, uint64_t key, const uint8_t *bytes, uint32_t size)
{
	uint8_t *copy = coati_arena_alloc(&p->arena, size);
	struct label_bytes *b = copy ? ARRAY_ADD(&p->v) : NULL;

	if (!b)
		return OVER;
	memcpy(copy, bytes, size);
	*b = (struct label_bytes){ size, copy };
	if (coati_map_put(&p->index, key, p->v.len) < 0) {
		p->v.len--;
		return OVER;
	}
	return (uint32_t)p->v.len;
}

/* Its number, from 1. */
static uint32_t pool_get(struct label_pool *p, const uint8_t *bytes, uint32_t size)
{
	uint64_t key = coati_hash_bytes(bytes, size, 0), at;

	/* two that have the same hash stand side by side */
	for (; coati_map_get(&p->index, key, &at); key++)
		if (p->v.v[at - 1].size == size && !memcmp(p->v.v[at - 1].bytes, bytes, size))
			return (uint32_t)at;
	return pool_add(p, key, bytes, size);
}

/* ---- the object ---- */

static void init_recording(struct thread_labels *l)
{
	pool_init(&l->raws);
	pool_init(&l->sets);
	coati_map_init(&l->threads, THREADS_MAX);
	coati_map_init(&l->generations, PIDS_MAX);
	l->resolved.max = COATI_LABEL_SETS_MAX + 1;
	l->seen.max = SEEN_MAX;
}

static void fini_recording(struct thread_labels *l)
{
	pool_fini(&l->raws);
	pool_fini(&l->sets);
	coati_map_fini(&l->threads);
	coati_map_fini(&l->generations);
	ARRAY_FINI(&l->resolved);
	ARRAY_FINI(&l->seen);
}

int coati_thread_labels_new(struct thread_labels **ret)
{
	struct thread_labels *l = coati_alloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	init_recording(l);
	l->batch = coati_alloc(COATI_LIVE_BATCH_MAX);
	if (!l->batch || coati_label_names_init(&l->names) < 0) {
		coati_thread_labels_free(&l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void coati_thread_labels_free(struct thread_labels **lp)
{
	struct thread_labels *l = *lp;

	if (!l)
		return;
	*lp = NULL;
	fini_recording(l);
	coati_label_names_fini(&l->names);
	coati_free(l->batch);
	coati_free(l);
}

void coati_thread_labels_restart(struct thread_labels *l)
{
	fini_recording(l);
	init_recording(l);
}

/* ---- samples ---- */

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* Are they whole entries? */
static bool are_whole(const uint8_t *entries, uint32_t size)
{
	uint32_t pos = 0;

	while (size - pos >= LABEL_ENTRY && size - pos - LABEL_ENTRY >= entries[pos + 1])
		pos += LABEL_ENTRY + entries[pos + 1];
	return pos == size;
}

static uint32_t find_raw(struct thread_labels *l, const struct label_of *of, const uint8_t *entries,
			 uint32_t size)
{
	struct raw_labels raw = { .family = of->family, .pid = of->pid };

	memcpy(raw.entries, entries, size);
	return pool_get(&l->raws, (const uint8_t *)&raw, RAW_HEAD + size);
}

static void add_seen(struct thread_labels *l, const struct label_of *of, uint32_t raw)
{
	struct label_seen *s = ARRAY_ADD(&l->seen);

	if (!s) {
		l->counts.over += raw && raw != ENDED;
		return;
	}
	*s = (struct label_seen){ of->time, of->pid, of->tid, raw };
	if (of->time > l->newest)
		l->newest = of->time;
}

void coati_thread_labels_seen(struct thread_labels *l, const struct label_of *of,
			      const uint8_t *entries, uint32_t size)
{
	uint64_t key = thread_key(of->pid, of->tid), state;
	uint32_t raw = 0;

	/* nearly always */
	if (!entries && !l->threads.len)
		return;
	if (entries &&
	    (size > sizeof(((struct raw_labels *)NULL)->entries) || !are_whole(entries, size))) {
		l->counts.unread++;
		entries = NULL;
	}
	l->counts.samples += entries != NULL;
	if (!coati_map_get(&l->threads, key, &state)) {
		if (!entries)
			return;
		if (coati_map_put(&l->threads, key, 0) < 0) {
			l->counts.over++;
			return;
		}
	}
	if (entries)
		raw = find_raw(l, of, entries, size);
	add_seen(l, of, raw);
}

void coati_thread_labels_unread(struct thread_labels *l)
{
	l->counts.unread++;
}

void coati_thread_labels_missing(struct thread_labels *l, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct label_of of = { .pid = pid, .tid = tid, .time = time };
	uint64_t state;

	l->counts.unread += coati_map_get(&l->threads, thread_key(pid, tid), &state);
	coati_thread_labels_seen(l, &of, NULL, 0);
}

void coati_thread_labels_ended(struct thread_labels *l, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct label_of of = { .pid = pid, .tid = tid, .time = time };
	uint64_t state;

	if (l->threads.len && coati_map_get(&l->threads, thread_key(pid, tid), &state))
		add_seen(l, &of, ENDED);
}

/* ---- batches ---- */

static int put_batch(struct thread_labels *l, const struct live_batch *head, const uint8_t *bytes)
{
	struct live_batch h = *head;
	struct coati_batch b = { .kind = COATI_BATCH_TRACE,
				 .version = 1,
				 .pid = h.pid,
				 .tid = h.pid,
				 .time_ns = now_ns(),
				 .id = COATI_LIVE_ID,
				 .payload = l->batch,
				 .payload_size = (uint32_t)sizeof(h) + h.used };

	h.magic = LIVE_BATCH_MAGIC;
	h.version = LIVE_BATCH_VERSION;
	h.flags = LIVE_BATCH_CLOSED | LIVE_BATCH_NANOSECONDS;
	h.capacity = h.used;
	h.checksum = live_checksum(bytes, h.used);
	memcpy(l->batch, &h, sizeof(h));
	return l->write(l->ctx, &b);
}

/* What is being written of a thread. */
struct output {
	uint32_t pid, tid, set, seq;
	uint64_t generation;
	uint64_t base, last; /* times of the first and the last event of the batch */
	uint32_t used, nr;
	bool has_ended;
};

static int flush(struct thread_labels *l, struct output *o)
{
	const struct live_batch h = { .kind = LIVE_BATCH_EVENTS,
				      .generation = o->generation,
				      .pid = o->pid,
				      .tid = o->tid,
				      .seq = o->seq,
				      .base = o->base,
				      .pair_cycles = o->base,
				      .pair_ns = o->base,
				      .end_cycles = o->last,
				      .end_ns = o->last,
				      .events = o->nr,
				      .used = o->used };

	if (!o->nr)
		return 0;
	o->seq++;
	o->nr = o->used = 0;
	return put_batch(l, &h, l->batch + sizeof(h));
}

static void put_event(struct thread_labels *l, struct output *o, uint64_t time,
		      const struct label_bytes *set)
{
	uint8_t *start = l->batch + sizeof(struct live_batch), *at = start + o->used;
	uint64_t since;
	uint32_t bytes = 1;

	if (!o->nr++)
		o->base = o->last = time;
	since = time - o->last;
	while (bytes < 8 && since >> (8 * bytes))
		bytes++;
	*at++ = (uint8_t)(LIVE_LABELS | (bytes - 1) << 5);
	memcpy(at, &since, bytes);
	at = uleb_put(at + bytes, set->size);
	if (set->size)
		memcpy(at, set->bytes, set->size);
	o->used = (uint32_t)(at - start) + set->size;
	o->last = time;
}

static int put_change(struct thread_labels *l, struct output *o, uint64_t time, uint32_t set)
{
	static const struct label_bytes none;
	const struct label_bytes *b = set ? &l->sets.v.v[set - 1] : &none;
	int r = o->used + EVENT_MOST + b->size > ROOM ? flush(l, o) : 0;

	put_event(l, o, time, b);
	o->set = set;
	l->counts.changes++;
	return r;
}

static void begin_thread(const struct thread_labels *l, struct output *o,
			 const struct label_seen *s)
{
	uint64_t state = 0;

	coati_map_get(&l->threads, thread_key(s->pid, s->tid), &state);
	o->pid = s->pid;
	o->tid = s->tid;
	o->set = (uint32_t)state;
	o->seq = (uint32_t)(state >> 32);
	o->has_ended = false;
}

static int end_thread(struct thread_labels *l, struct output *o)
{
	int r = flush(l, o);

	if (o->has_ended) /* who has its number next begins anew */
		coati_map_del(&l->threads, thread_key(o->pid, o->tid));
	else if (coati_map_put(&l->threads, thread_key(o->pid, o->tid),
			       o->set | (uint64_t)o->seq << 32) < 0)
		return -ENOMEM;
	return r;
}

static void begin_process(const struct thread_labels *l, struct output *o, uint32_t pid)
{
	uint64_t generation = 0;

	coati_map_get(&l->generations, pid, &generation);
	*o = (struct output){ .generation = generation + 1 };
}

/* The generation of a process is complete, when anything was written of it. */
static int end_process(struct thread_labels *l, const struct output *o, bool is_written)
{
	const struct live_batch h = {
		.kind = LIVE_BATCH_END, .generation = o->generation, .pid = o->pid, .base = l->until
	};

	if (!is_written)
		return 0;
	if (coati_map_put(&l->generations, o->pid, o->generation) < 0)
		return -ENOMEM;
	return put_batch(l, &h, NULL);
}

/* ---- the end of a round ---- */

static int by_thread(const void *a, const void *b)
{
	const struct label_seen *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static uint32_t resolve(struct thread_labels *l, uint32_t raw)
{
	const struct label_bytes *b = &l->raws.v.v[raw - 1];
	uint8_t bytes[LABEL_SET_BYTES];
	uint32_t size;

	while (l->resolved.len <= raw)
		if (!ARRAY_ADD(&l->resolved))
			return OVER;
	if (!l->resolved.v[raw] && coati_label_names_apply(&l->names, b, bytes, &size))
		l->resolved.v[raw] = size ? pool_get(&l->sets, bytes, size) : LABELS_EMPTY;
	return l->resolved.v[raw];
}

/* Labels that were read, and are kept. */
static bool is_read(const struct label_seen *s)
{
	return s->raw && s->raw < ENDED;
}

/* The set of a sample; 0: none, or not to be had, which is counted. */
static uint32_t set_of(struct thread_labels *l, const struct label_seen *s)
{
	uint32_t set = is_read(s) ? resolve(l, s->raw) : s->raw == OVER ? OVER : 0;

	l->counts.over += set == OVER;
	l->counts.unnamed += is_read(s) && !set;
	return set == OVER || set == LABELS_EMPTY ? 0 : set;
}

void coati_thread_labels_ask(struct thread_labels *l, labels_ask_fn ask, void *ctx)
{
	struct map asked;

	coati_map_init(&asked, THREADS_MAX);
	for (size_t i = 0; i < l->seen.len; i++) {
		const struct label_seen *s = &l->seen.v[i];
		uint64_t family;

		if (!is_read(s) || resolve(l, s->raw))
			continue;
		memcpy(&family, l->raws.v.v[s->raw - 1].bytes + offsetof(struct raw_labels, family),
		       sizeof(family));
		/* one process may be of two, one after the other */
		if (coati_map_put(&asked, family ^ coati_hash_u64(s->pid, 0), 1) > 0)
			ask(ctx, (int32_t)s->pid, family);
	}
	coati_map_fini(&asked);
}

/* Up to which time can it be written? Names may still come for what is young. */
static uint64_t ripe_until(struct thread_labels *l, bool all)
{
	uint64_t until = all ? UINT64_MAX : l->before;

	for (size_t i = 0; !all && i < l->seen.len; i++) {
		const struct label_seen *s = &l->seen.v[i];

		if (s->time <= until && is_read(s) && l->newest - s->time < WAIT_NS &&
		    !resolve(l, s->raw))
			until = s->time - 1;
	}
	return until;
}

/* Those that are ripe to the front: their number. */
static size_t part(struct thread_labels *l, uint64_t until)
{
	size_t nr = 0;

	for (size_t i = 0; i < l->seen.len; i++) {
		struct label_seen s = l->seen.v[i];

		if (s.time > until)
			continue;
		l->seen.v[i] = l->seen.v[nr];
		l->seen.v[nr++] = s;
	}
	return nr;
}

/* The samples of one thread: their number. */
static int write_thread(struct thread_labels *l, struct output *o, const struct label_seen *s,
			size_t nr, size_t *ret)
{
	size_t i = 0;
	int r = 0;

	begin_thread(l, o, s);
	for (; r >= 0 && i < nr && s[i].pid == o->pid && s[i].tid == o->tid; i++) {
		uint32_t set = set_of(l, &s[i]);

		o->has_ended = s[i].raw == ENDED;
		if (set != o->set)
			r = put_change(l, o, s[i].time, set);
	}
	*ret = i;
	return r < 0 ? r : end_thread(l, o);
}

/* The samples of one process: their number. */
static int write_process(struct thread_labels *l, const struct label_seen *s, size_t nr,
			 size_t *ret)
{
	uint64_t before = l->counts.changes;
	struct output o;
	size_t at = 0, some;
	int r = 0;

	begin_process(l, &o, s->pid);
	while (r >= 0 && at < nr && s[at].pid == s->pid) {
		r = write_thread(l, &o, s + at, nr - at, &some);
		at += some;
	}
	*ret = at;
	return r < 0 ? r : end_process(l, &o, l->counts.changes > before);
}

/* What was read is kept once for each that still waits. */
static void forget_raws(struct thread_labels *l)
{
	struct label_pool old = l->raws;

	if (old.v.len <= COATI_LABEL_SETS_MAX / 2)
		return;
	l->raws = (struct label_pool){ 0 };
	pool_init(&l->raws);
	l->resolved.len = 0;
	for (size_t i = 0; i < l->seen.len; i++) {
		struct label_seen *s = &l->seen.v[i];

		if (is_read(s))
			s->raw = pool_get(&l->raws, old.v.v[s->raw - 1].bytes,
					  old.v.v[s->raw - 1].size);
	}
	pool_fini(&old);
}

int coati_thread_labels_settle(struct thread_labels *l, bool all, labels_write_fn write, void *ctx)
{
	uint64_t until;
	size_t nr, at = 0, some;
	int r = 0;

	if (coati_label_names_are_others(&l->names))
		l->resolved.len = 0;
	until = ripe_until(l, all);
	nr = part(l, until);
	l->until = until < l->newest ? until : l->newest;
	l->write = write;
	l->ctx = ctx;
	if (nr)
		qsort(l->seen.v, nr, sizeof(*l->seen.v), by_thread);
	while (r >= 0 && at < nr) {
		r = write_process(l, l->seen.v + at, nr - at, &some);
		at += some;
	}
	if (nr) {
		memmove(l->seen.v, l->seen.v + nr, (l->seen.len - nr) * sizeof(*l->seen.v));
		l->seen.len -= nr;
	}
	l->before = l->newest;
	l->counts.sets = l->sets.v.len;
	coati_label_names_clean(&l->names, until < l->newest ? until : l->newest);
	forget_raws(l);
	return r;
}

/* ---- names ---- */

void coati_thread_labels_name(struct thread_labels *l, int32_t pid, uint64_t family,
			      struct context_keys *keys)
{
	coati_label_names_put(&l->names, pid, family, keys);
}

void coati_thread_labels_forked(struct thread_labels *l, uint32_t pid, uint32_t parent,
				uint64_t time)
{
	coati_label_names_forked(&l->names, pid, parent, time);
}

void coati_thread_labels_gone(struct thread_labels *l, int32_t pid, uint64_t time)
{
	coati_label_names_gone(&l->names, pid, time);
}
