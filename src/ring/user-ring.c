/* SPDX-License-Identifier: MIT */
/*
 * The other direction: records from here to BPF programs, through a BPF_MAP_TYPE_USER_RINGBUF map.
 * We are the producer: a record is entered with its busy bit, its place announced by the producer
 * position, and finished by a store of its length without that bit. The kernel drains when a
 * program asks it to.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>

#include <coati/ring.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "ring/bpf-call.h"
#include "ring/ring.h"
#include "ring/shared.h"
#include "ring/user-ring.h"

#define BUSY	(UINT32_C(1) << 31)
#define DISCARD (UINT32_C(1) << 30)
#define HEADER	8u

struct coati_user_ring {
	const uint64_t *consumer;
	uint64_t *producer;
	uint8_t *data;
	uint64_t size, pos;
	uint32_t *open; /* header of the record that is being written */
	uint32_t open_size;
	struct ring_mapping maps[2];
};

static int map_both(struct coati_user_ring *ring, int fd, uint64_t size)
{
	uint64_t page = coati_page_bytes();
	void *consumer = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	void *producer;

	if (consumer == MAP_FAILED)
		return -errno;
	ring->maps[0] = (struct ring_mapping){ consumer, (size_t)page };
	producer = mmap(NULL, (size_t)(page + 2 * size), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			(off_t)page);
	if (producer == MAP_FAILED)
		return -errno;
	ring->maps[1] = (struct ring_mapping){ producer, (size_t)(page + 2 * size) };
	ring->consumer = consumer;
	ring->producer = producer;
	ring->data = (uint8_t *)producer + page;
	ring->size = size;
	ring->pos = shared_load_acquire(ring->producer);
	return 0;
}

int coati_user_ring_open(int map_fd, struct coati_user_ring **ret, struct coati_error *err)
{
	CLEANUP(coati_user_ring_close) struct coati_user_ring *ring = NULL;
	struct coati_bpf_map_info info;
	int r;

	if (!ret)
		return coati_fail(err, -EINVAL, "user ring: no place for the result was given");
	r = coati_bpf_map_info(map_fd, &info);
	if (r < 0)
		return coati_fail(err, r, "user ring: asking the kernel about the BPF map: %m");
	if (info.type != BPF_MAP_TYPE_USER_RINGBUF)
		return coati_fail(err, -EINVAL,
				  "user ring: the map is of type %u, not a user ring buffer",
				  info.type);
	if (info.max_entries < coati_page_bytes() || (info.max_entries & (info.max_entries - 1)))
		return coati_fail(err, -EBADMSG, "user ring: invalid size: %u bytes",
				  info.max_entries);
	ring = coati_alloc(sizeof(*ring));
	if (!ring)
		return coati_fail(err, -ENOMEM, "user ring: out of memory");
	r = map_both(ring, map_fd, info.max_entries);
	if (r < 0)
		return coati_fail(err, r, "user ring: mapping %u bytes: %m", info.max_entries);
	*ret = TAKE_PTR(ring);
	return 0;
}

void *coati_user_ring_reserve(struct coati_user_ring *ring, uint32_t size)
{
	uint64_t total = ((uint64_t)size + HEADER + 7) & ~UINT64_C(7), used;

	if (ring->open || size & (BUSY | DISCARD))
		return NULL;
	/* pairs with: the kernel's release of the consumer position after it has read the bytes */
	used = ring->pos - shared_load_acquire(ring->consumer);
	if (used > ring->size || total > ring->size - used)
		return NULL;
	ring->open = (uint32_t *)(void *)(ring->data + (ring->pos & (ring->size - 1)));
	ring->open_size = size;
	__atomic_store_n(ring->open, size | BUSY, __ATOMIC_RELAXED);
	ring->open[1] = 0;
	ring->pos += total;
	/* pairs with: the kernel's acquire of the producer position; it must find the busy bit */
	shared_store_release(ring->producer, ring->pos);
	return (uint8_t *)ring->open + HEADER;
}

static void finish(struct coati_user_ring *ring, uint32_t flags)
{
	if (!ring->open)
		return;
	/* pairs with: the kernel's acquire of the length; the bytes are whole by then */
	__atomic_store_n(ring->open, ring->open_size | flags, __ATOMIC_RELEASE);
	ring->open = NULL;
}

void coati_user_ring_submit(struct coati_user_ring *ring)
{
	finish(ring, 0);
}

void coati_user_ring_discard(struct coati_user_ring *ring)
{
	finish(ring, DISCARD);
}

void coati_user_ring_close(struct coati_user_ring **ring)
{
	struct coati_user_ring *r = ring ? *ring : NULL;

	if (!r)
		return;
	finish(r, DISCARD);
	for (int i = 0; i < 2; i++)
		if (r->maps[i].bytes)
			munmap(r->maps[i].base, r->maps[i].bytes);
	coati_free(r);
	*ring = NULL;
}
