/* SPDX-License-Identifier: MIT */
/* The set of rings that a reader reads: they come, get more events, end and go. */
#include "ring/reader.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "ring/ring.h"
#include "ring/shared.h"

#define MERGE_BYTES_DEFAULT (UINT64_C(64) << 20)

static struct reader_ring *find(const struct coati_reader *rd, int32_t key, size_t *ret_at)
{
	for (size_t i = 0; i < rd->rings.len; i++)
		if (rd->rings.v[i]->ring->key == key) {
			if (ret_at)
				*ret_at = i;
			return rd->rings.v[i];
		}
	return NULL;
}

static void free_ring(struct coati_reader *rd, struct reader_ring *rr)
{
	struct reader_member *next;

	for (struct reader_member *m = rr->members; m; m = next) {
		next = m->next;
		if (!m->ended)
			coati_reader_unwatch(rd, m);
		coati_free(m);
	}
	coati_ring_close(&rr->ring);
	coati_free(rr);
}

static int add_member(struct coati_reader *rd, struct reader_ring *rr, int fd,
		      const struct coati_reader_ring_opts *o)
{
	struct reader_member *m = coati_alloc(sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->ring = rr;
	m->fd = fd;
	m->read_format = o->read_format;
	m->id = o->event_id;
	(void)coati_member_read_lost(m, &m->lost);
	m->lost_before = m->lost;
	r = fd >= 0 ? coati_reader_watch(rd, m) : 0;
	if (r < 0) {
		coati_free(m);
		return r;
	}
	m->next = rr->members;
	rr->members = m;
	rr->nr_members++;
	rr->nr_live++;
	return 0;
}

int coati_reader_adopt(struct coati_reader *rd, struct coati_ring *ring, int fd,
		       const struct coati_reader_ring_opts *opts, struct coati_error *err)
{
	struct reader_ring *rr = find(rd, ring->key, NULL), **slot;
	int r;

	if (rr && !rr->ended)
		return coati_fail(err, -EEXIST, "reader: there is a ring with key %d already",
				  ring->key);
	if (rr)
		coati_reader_remove(rd, ring->key);
	rr = coati_alloc(sizeof(*rr));
	if (!rr)
		return coati_fail(err, -ENOMEM, "reader: out of memory");
	rr->ring = ring;
	rr->settled_at = ring->pos;
	rr->settled_empty = ring->kind == COATI_RING_FORWARD &&
			    shared_load_acquire(ring->head_word) == ring->pos;
	r = rd->merge ? coati_merge_reserve(rd->merge, rd->rings.len + 1) : 0;
	if (r >= 0)
		r = add_member(rd, rr, fd, opts);
	atomic_init(&rr->flush_mark, ring->pos);
	coati_reader_begin_change(rd);
	slot = r < 0 ? NULL : ARRAY_ADD(&rd->rings);
	if (slot)
		*slot = rr;
	coati_reader_end_change(rd);
	if (!slot) {
		rr->ring = NULL; /* stays the caller's */
		free_ring(rd, rr);
		r = r < 0 ? r : rd->rings.len >= READER_RINGS_MAX ? -E2BIG : -ENOMEM;
		return coati_fail(err, r, "reader: adding ring %d: %m", ring->key);
	}
	/* There is no wakeup for data that is there already; the kernel sends one when its mark is
	 * reached. */
	if (fd < 0 || ring->kind != COATI_RING_FORWARD)
		rd->looked = false;
	return 0;
}

int coati_reader_add(struct coati_reader *rd, int fd, const struct coati_reader_ring_opts *opts,
		     struct coati_error *err)
{
	CLEANUP(coati_ring_close) struct coati_ring *ring = NULL;
	struct coati_reader_ring_opts o;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || !rd)
		return coati_fail(err, r < 0 ? r : -EINVAL, "reader: invalid options for a ring");
	if (atomic_load_explicit(&rd->closed, memory_order_relaxed))
		return coati_fail(err, -EBADF, "reader: closed");
	if (!o.ring.size)
		o.ring.size = sizeof(o.ring);
	if (rd->merge && o.ring.flags & COATI_RING_HOLD)
		return coati_fail(
			err, -EINVAL,
			"reader: a merge gives space back by itself; HOLD cannot be combined with "
			"it");
	r = coati_ring_open(fd, &o.ring, &ring, err);
	if (r < 0)
		return r;
	r = coati_reader_adopt(rd, ring, fd, &o, err);
	if (r < 0)
		return r;
	(void)TAKE_PTR(ring);
	return 0;
}

int coati_reader_attach(struct coati_reader *rd, int32_t key, int fd,
			const struct coati_reader_ring_opts *opts, struct coati_error *err)
{
	struct reader_ring *rr = rd ? find(rd, key, NULL) : NULL;
	struct coati_reader_ring_opts o;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || fd < 0)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "reader: invalid options or descriptor for an event");
	if (!rr || rr->over)
		return coati_fail(err, -ENOENT, "reader: no ring with key %d, or it has ended",
				  key);
	r = add_member(rd, rr, fd, &o);
	return r < 0 ? coati_fail(err, r, "reader: adding an event to ring %d: %m", key) : 0;
}

int coati_reader_end(struct coati_reader *rd, int32_t key)
{
	struct reader_ring *rr = rd ? find(rd, key, NULL) : NULL;

	if (!rr)
		return -ENOENT;
	for (struct reader_member *m = rr->members; m; m = m->next) {
		if (!m->ended)
			coati_reader_unwatch(rd, m);
		m->ended = true;
	}
	rr->nr_live = 0;
	rr->over = true;
	rd->looked = false;
	return 0;
}

static void add_stats(struct coati_ring_stats *sum, const struct coati_ring *ring)
{
	struct coati_ring_stats s = { .size = sizeof(s) };

	coati_ring_get_stats(ring, &s);
	sum->records += s.records;
	sum->bytes += s.bytes;
	sum->lost += s.lost;
	sum->damaged += s.damaged;
	sum->skipped_bytes += s.skipped_bytes;
	sum->discarded += s.discarded;
	sum->wakeups += s.wakeups;
}

int coati_reader_remove(struct coati_reader *rd, int32_t key)
{
	size_t at = 0;
	struct reader_ring *rr = rd ? find(rd, key, &at) : NULL;

	if (!rr)
		return -ENOENT;
	add_stats(&rd->gone, rr->ring);
	if (rr->ring->kind != COATI_RING_BACKWARD)
		rd->gone.skipped_bytes += coati_ring_unread_bytes(rr->ring);
	if (rd->merge)
		coati_merge_forget(rd->merge, rr);
	rd->nr_ended -= rr->ended;
	coati_reader_begin_change(rd);
	memmove(&rd->rings.v[at], &rd->rings.v[at + 1],
		(rd->rings.len - at - 1) * sizeof(*rd->rings.v));
	rd->rings.len--;
	coati_reader_end_change(rd);
	if (at < rd->current)
		rd->current--;
	free_ring(rd, rr);
	return 0;
}

uint32_t coati_reader_count(const struct coati_reader *rd)
{
	return rd ? (uint32_t)rd->rings.len : 0;
}

struct coati_ring *coati_reader_ring(struct coati_reader *rd, uint32_t i)
{
	return rd && i < rd->rings.len ? rd->rings.v[i]->ring : NULL;
}

int coati_reader_new(const struct coati_reader_opts *opts, struct coati_reader **ret,
		     struct coati_error *err)
{
	CLEANUP(coati_reader_free) struct coati_reader *rd = NULL;
	struct coati_reader_opts o;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || !ret || o.flags || o.reserved)
		return coati_fail(err, r < 0 ? r : -EINVAL, "reader: invalid options");
	if (o.merge_delay_ns && !o.time_fn)
		return coati_fail(err, -EINVAL, "reader: a merge by time needs a time function");
	rd = coati_alloc(sizeof(*rd));
	if (!rd)
		return coati_fail(err, -ENOMEM, "reader: out of memory");
	rd->rings.max = READER_RINGS_MAX;
	rd->time_fn = o.time_fn;
	rd->time_ctx = o.time_ctx;
	rd->look_ns = o.look_ns;
	rd->look_at = o.look_ns ? now_ns() + o.look_ns : 0;
	rd->looked = true;
	atomic_init(&rd->stable, true);
	rd->loss_check_ns = o.loss_check_ns;
	rd->loss_check_at = o.loss_check_ns ? now_ns() + o.loss_check_ns : 0;
	r = coati_reader_wait_init(rd, err);
	if (r < 0)
		return r;
	if (o.merge_delay_ns) {
		r = coati_merge_new(o.merge_delay_ns,
				    o.merge_bytes ? o.merge_bytes : MERGE_BYTES_DEFAULT,
				    &rd->merge);
		if (r < 0)
			return coati_fail(err, r, "reader: out of memory");
	}
	*ret = TAKE_PTR(rd);
	return 0;
}

void coati_reader_free(struct coati_reader **rd)
{
	struct coati_reader *r = rd ? *rd : NULL;

	if (!r)
		return;
	coati_merge_free(&r->merge);
	for (size_t i = 0; i < r->rings.len; i++)
		free_ring(r, r->rings.v[i]);
	ARRAY_FINI(&r->rings);
	coati_reader_wait_fini(r);
	coati_free(r);
	*rd = NULL;
}

int coati_reader_get_stats(const struct coati_reader *rd, struct coati_ring_stats *ret)
{
	struct coati_ring_stats sum = rd->gone;

	for (size_t i = 0; i < rd->rings.len; i++)
		add_stats(&sum, rd->rings.v[i]->ring);
	return SIZED_FILL(ret, &sum);
}
