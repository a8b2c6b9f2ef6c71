/* SPDX-License-Identifier: MIT */
/*
 * One ring: opening and closing, and the calls that are the same for every kind. The kinds
 * themselves are forward.c, backward.c and bpf.c; memory is map.c's.
 */
#include "ring/ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "ring/drops.h"
#include "ring/shared.h"

#define PERF_IOC_PAUSE_OUTPUT _IOW('$', 9, uint32_t)

#define RING_FLAGS \
	(COATI_RING_HOLD | COATI_RING_DISCARDS | COATI_RING_CLAMP | COATI_RING_AUX_OVERWRITE)

bool coati_ring_look(struct coati_ring *ring)
{
	uint64_t head;

	if (ring->kind == COATI_RING_BACKWARD)
		return ring->have_snapshot;
	if (ring->kind == COATI_RING_BPF)
		ring->drops_due = ring->drops != NULL;
	head = shared_load_acquire(ring->head_word);
	if (likely(head % 8 == 0 && head - ring->pos <= ring->mask + 1)) {
		ring->head = head;
		if (ring->kind == COATI_RING_FORWARD)
			ring_set_piece(ring);
		return head != ring->pos || ring->drops_due;
	}
	/* The kernel writes no such head; what is in the ring cannot be walked. Reported once. */
	if (ring->had_bad && head == ring->bad_head)
		return false;
	ring->had_bad = ring->damage = true;
	ring->bad_head = head;
	ring->head = ring->pos;
	ring->at = ring->stop = NULL;
	return true;
}

int coati_ring_take_slow(struct coati_ring *ring, struct coati_ring_item *ret)
{
	if (ring->kind == COATI_RING_FORWARD)
		return coati_forward_slow(ring, ret);
	if (ring->kind == COATI_RING_BPF)
		return coati_bpf_take(ring, ret);
	return coati_backward_take(ring, ret);
}

int coati_ring_damaged(struct coati_ring *ring, uint64_t resume, uint64_t skipped,
		       struct coati_ring_item *ret)
{
	*ret = (struct coati_ring_item){
		.kind = COATI_ITEM_DAMAGE,
		.key = ring->key,
		.position = ring->pos,
		.skipped = skipped,
	};
	ring->skipped += resume - ring->pos;
	ring->stats.damaged++;
	ring->stats.skipped_bytes += skipped;
	ring->pos = ring->head = resume;
	ring->at = ring->stop = NULL;
	return 1;
}

int coati_ring_loss(struct coati_ring *ring, uint64_t count, uint32_t flags,
		    struct coati_ring_item *ret)
{
	*ret = (struct coati_ring_item){
		.kind = COATI_ITEM_LOSS,
		.flags = flags,
		.key = ring->key,
		.position = ring->pos,
		.count = count,
	};
	ring->stats.lost += count;
	return 1;
}

void coati_ring_publish(struct coati_ring *ring)
{
	if (ring->tail_word && ring->published != ring->pos)
		shared_store_release(ring->tail_word, ring->pos);
	ring->published = ring->pos;
}

/* The walk starts where the last one left the tail. */
static int start_walk(struct coati_ring *ring, struct coati_error *err)
{
	uint64_t step = (ring->mask + 1) / 8;

	if (ring->kind != COATI_RING_BACKWARD)
		ring->pos = shared_load_acquire(ring->tail_word);
	if (ring->pos % 8)
		return coati_fail(err, -EBADMSG,
				  "ring %d: its tail is at %#llx, which no record starts at",
				  ring->key, (unsigned long long)ring->pos);
	ring->head = ring->published = ring->start = ring->pos;
	ring->step = step < RING_PUBLISH_MAX ? step : RING_PUBLISH_MAX;
	if (ring->flags & COATI_RING_HOLD)
		ring->step = UINT64_MAX;
	if (ring->kind != COATI_RING_FORWARD)
		return 0;
	ring->joined = coati_alloc(RING_RECORD_MAX);
	return ring->joined ? 0 : coati_fail(err, -ENOMEM, "ring %d: out of memory", ring->key);
}

static int new_ring(const struct coati_ring_opts *opts, struct coati_ring_opts *o,
		    struct coati_ring **ret, struct coati_error *err)
{
	struct coati_ring *ring;
	int r = SIZED_COPY(o, opts);

	if (r < 0)
		return coati_fail(err, r,
				  "ring: the options have a size that this library does not know");
	if (o->kind == COATI_RING_UNKNOWN)
		o->kind = COATI_RING_FORWARD;
	if (o->flags & ~RING_FLAGS || (unsigned int)o->kind > COATI_RING_BPF ||
	    o->data_bytes > RING_DATA_MAX || o->aux_bytes > RING_DATA_MAX)
		return coati_fail(err, -EINVAL, "ring %d: unknown kind, flag or impossible size",
				  o->key);
	if (o->aux_bytes && o->kind == COATI_RING_BPF)
		return coati_fail(err, -EINVAL, "ring %d: a BPF ring has no AUX area", o->key);
	ring = coati_alloc(sizeof(*ring));
	if (!ring)
		return coati_fail(err, -ENOMEM, "ring %d: out of memory", o->key);
	ring->kind = o->kind;
	ring->flags = o->flags;
	ring->key = o->key;
	ring->raw_offset = o->raw_offset;
	ring->fd = -1;
	*ret = ring;
	return 0;
}

int coati_ring_open(int fd, const struct coati_ring_opts *opts, struct coati_ring **ret,
		    struct coati_error *err)
{
	CLEANUP(coati_ring_close) struct coati_ring *ring = NULL;
	struct coati_ring_opts o;
	int r;

	if (!ret || fd < 0)
		return coati_fail(err, -EINVAL, "ring: no descriptor to map");
	r = new_ring(opts, &o, &ring, err);
	if (r < 0)
		return r;
	ring->fd = fd;
	if (ring->kind == COATI_RING_BPF)
		r = coati_ring_map_bpf(ring, err);
	else
		r = coati_ring_map(ring, o.data_bytes ? o.data_bytes : RING_DEFAULT_BYTES,
				   o.aux_bytes, err);
	if (r >= 0)
		r = start_walk(ring, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(ring);
	return 0;
}

int coati_ring_from_memory(void *memory, size_t bytes, const struct coati_ring_opts *opts,
			   struct coati_ring **ret, struct coati_error *err)
{
	CLEANUP(coati_ring_close) struct coati_ring *ring = NULL;
	struct coati_ring_opts o;
	int r;

	if (!ret || !memory || (uintptr_t)memory % 8)
		return coati_fail(err, -EINVAL, "ring: no memory, or not aligned to 8 bytes");
	r = new_ring(opts, &o, &ring, err);
	if (r >= 0)
		r = coati_ring_lay_out(
			ring, &(struct ring_memory){ memory, bytes, o.data_bytes, o.aux_bytes },
			err);
	if (r >= 0)
		r = start_walk(ring, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(ring);
	return 0;
}

void coati_ring_close(struct coati_ring **ring)
{
	if (!ring || !*ring)
		return;
	coati_ring_unmap(*ring);
	coati_drops_close(&(*ring)->drops);
	coati_free((*ring)->joined);
	coati_free((*ring)->copy);
	coati_free(*ring);
	*ring = NULL;
}

/* Apart, so that the fast path needs no stack. */
static __attribute__((noinline)) int next_slow(struct coati_ring *ring, struct coati_ring_item *ret)
{
	int r = coati_ring_take_slow(ring, ret);

	if (r)
		return r;
	if (ring->kind == COATI_RING_BACKWARD)
		return ring->copy ? 0 : -EINVAL;
	return coati_ring_look(ring) ? ring_take(ring, ret) : 0;
}

int coati_ring_next(struct coati_ring *ring, struct coati_ring_item *ret)
{
	return likely(ring_take_fast(ring, ret)) ? 1 : next_slow(ring, ret);
}

void coati_ring_release(struct coati_ring *ring)
{
	coati_ring_publish(ring);
}

int coati_ring_pause(struct coati_ring *ring, int pause, struct coati_error *err)
{
	if (!ring || ring->kind == COATI_RING_BPF || ring->fd < 0)
		return coati_fail(err, -EINVAL, "pause: not the ring of a perf event");
	if (ring->paused == (pause != 0))
		return 0;
	if (ioctl(ring->fd, PERF_IOC_PAUSE_OUTPUT, pause ? 1L : 0L) < 0)
		return coati_fail(err, -errno, "ring %d: %s the writers: %m", ring->key,
				  pause ? "pausing" : "resuming");
	ring->paused = pause != 0;
	ring->was_paused = true;
	return 0;
}

int coati_ring_watch_drops(struct coati_ring *ring, int map_fd, uint32_t index,
			   struct coati_error *err)
{
	struct coati_drops *drops = NULL;
	int r;

	if (!ring || ring->kind != COATI_RING_BPF)
		return coati_fail(err, -EINVAL, "drop counters belong to BPF rings");
	r = coati_drops_open(map_fd, index, &drops, err);
	if (r < 0)
		return r;
	coati_drops_close(&ring->drops);
	ring->drops = drops;
	return 0;
}

uint64_t coati_ring_unread_bytes(const struct coati_ring *ring)
{
	uint64_t left;

	if (ring->kind == COATI_RING_BACKWARD)
		return ring->have_snapshot ? ring->copy_end - ring->pos : 0;
	left = shared_load_acquire(ring->head_word) - ring->pos;
	return left <= ring->mask + 1 ? left : 0;
}

uint64_t coati_ring_data_bytes(const struct coati_ring *ring)
{
	return ring->mask + 1;
}

/* What has been read but not been given back is not free. */
uint64_t coati_ring_free_bytes(const struct coati_ring *ring)
{
	uint64_t used, size = ring->mask + 1;

	if (ring->kind == COATI_RING_BACKWARD)
		return size;
	used = shared_load_acquire(ring->head_word) - ring->published;
	return used <= size ? size - used : 0;
}

uint64_t coati_ring_max_record(const struct coati_ring *ring)
{
	uint64_t size = ring->mask + 1;

	/* The kernel keeps one byte free in a forward ring, and 8 besides the header in BPF's. */
	if (ring->kind == COATI_RING_BPF)
		return size - 16;
	if (ring->kind == COATI_RING_FORWARD)
		size -= 8;
	return size < RING_RECORD_MAX ? size : RING_RECORD_MAX;
}

enum coati_ring_kind coati_ring_kind(const struct coati_ring *ring)
{
	return ring->kind;
}

int coati_ring_fd(const struct coati_ring *ring)
{
	return ring->fd;
}

int32_t coati_ring_key(const struct coati_ring *ring)
{
	return ring->key;
}

int coati_ring_get_stats(const struct coati_ring *ring, struct coati_ring_stats *ret)
{
	struct coati_ring_stats st = ring->stats;

	st.records = ring->records;
	if (ring->kind != COATI_RING_BACKWARD)
		st.bytes = ring->pos - ring->start - ring->skipped;
	return SIZED_FILL(ret, &st);
}
