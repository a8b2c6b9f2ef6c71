/* SPDX-License-Identifier: MIT */
/*
 * Where a ring lies: mapping a perf event or BPF map, or laying the same layout over memory of the
 * caller. In: a descriptor or bytes, the size that is wanted. Out: data, mask, head and tail words
 * of the ring. What a control page says about its own layout is checked against what was mapped.
 */
#include "ring/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "ring/bpf-call.h"
#include "ring/budget.h"
#include "ring/shared.h"

uint64_t coati_page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t power_of_two(uint64_t bytes)
{
	uint64_t size = coati_page_bytes();

	while (size < bytes)
		size *= 2;
	return size;
}

static void set_perf_words(struct coati_ring *ring, uint8_t *base, uint64_t data_offset,
			   uint64_t data_bytes)
{
	ring->control = (struct coati_control_page *)(void *)base;
	ring->data = base + data_offset;
	ring->mask = data_bytes - 1;
	ring->head_word = &ring->control->data_head;
	ring->tail_word = ring->kind == COATI_RING_FORWARD ? &ring->control->data_tail : NULL;
}

static void *map_at(struct coati_ring *ring, int nr, uint64_t bytes, int prot, uint64_t offset)
{
	void *p = mmap(NULL, (size_t)bytes, prot, MAP_SHARED, ring->fd, (off_t)offset);

	if (p == MAP_FAILED)
		return NULL;
	ring->maps[nr] = (struct ring_mapping){ p, (size_t)bytes };
	return p;
}

static int map_failed(const struct coati_ring *ring, int code, uint64_t bytes,
		      struct coati_error *err)
{
	unsigned long long kib = bytes / 1024, fits = coati_ring_budget(1) / 1024;

	if (code == -EPERM && fits == UINT64_MAX / 1024)
		return coati_fail(
			err, code,
			"mapping a ring of %llu KiB: the kernel refuses to lock this much memory",
			kib);
	if (code == -EPERM)
		return coati_fail(
			err, code,
			"mapping a ring of %llu KiB: over the budget for locked memory; one ring "
			"alone could have "
			"%llu KiB. Ask for less, or raise it: sysctl "
			"kernel.perf_event_mlock_kb=%llu (as root), or "
			"ulimit -l",
			kib, fits, 2 * kib + 4);
	if (code == -EBUSY)
		return coati_fail(
			err, code,
			"mapping ring %d: its event writes into the ring of another one; map that",
			ring->key);
	if (code == -EINVAL)
		return coati_fail(
			err, code,
			"mapping ring %d: %m; not a perf event, or mapped before with another size",
			ring->key);
	return coati_fail(err, code, "mapping a ring of %llu KiB: %m", kib);
}

int coati_ring_map(struct coati_ring *ring, uint64_t data_bytes, uint64_t aux_bytes,
		   struct coati_error *err)
{
	uint64_t page = coati_page_bytes(), size = power_of_two(data_bytes);
	int prot = ring->kind == COATI_RING_FORWARD ? PROT_READ | PROT_WRITE : PROT_READ;
	bool clamp = (ring->flags & COATI_RING_CLAMP) != 0;
	uint64_t offset, told;
	uint8_t *base;

	while (!(base = map_at(ring, 0, page + size, prot, 0))) {
		int code = -errno;

		if (!clamp || size == page || (code != -EPERM && code != -ENOMEM))
			return map_failed(ring, code, size, err);
		size /= 2;
	}
	set_perf_words(ring, base, page, size);
	/* Kernels before 4.1 leave both at zero. */
	offset = shared_load_acquire(&ring->control->data_offset);
	told = shared_load_acquire(&ring->control->data_size);
	if ((offset && offset != page) || (told && told != size))
		return coati_fail(err, -EBADMSG,
				  "ring %d: the control page describes a layout that was not "
				  "mapped",
				  ring->key);
	return aux_bytes ? coati_ring_map_aux(ring, aux_bytes, err) : 0;
}

int coati_ring_map_aux(struct coati_ring *ring, uint64_t aux_bytes, struct coati_error *err)
{
	bool overwrite = (ring->flags & COATI_RING_AUX_OVERWRITE) != 0;
	uint64_t offset = coati_page_bytes() + ring->mask + 1, size = power_of_two(aux_bytes);

	if (ring->kind != COATI_RING_FORWARD)
		return coati_fail(err, -EINVAL,
				  "ring %d: an AUX area needs a forward ring beside it", ring->key);
	/* The kernel takes place and size from here when the second mapping comes. */
	shared_store_release(&ring->control->aux_offset, offset);
	shared_store_release(&ring->control->aux_size, size);
	ring->aux = map_at(ring, 1, size, overwrite ? PROT_READ : PROT_READ | PROT_WRITE, offset);
	if (!ring->aux)
		return coati_fail(
			err, -errno,
			"mapping the AUX area of ring %d (%llu KiB): %m; does its PMU write one?",
			ring->key, (unsigned long long)size / 1024);
	ring->aux_bytes = size;
	ring->aux_pos = shared_load_acquire(&ring->control->aux_tail);
	return 0;
}

static void set_bpf_words(struct coati_ring *ring, void *consumer, void *producer, uint64_t size)
{
	ring->tail_word = consumer;
	ring->head_word = producer;
	ring->data = (const uint8_t *)producer + coati_page_bytes();
	ring->mask = size - 1;
}

int coati_ring_map_bpf(struct coati_ring *ring, struct coati_error *err)
{
	uint64_t page = coati_page_bytes(), size;
	struct coati_bpf_map_info info;
	void *consumer, *producer;
	int r = coati_bpf_map_info(ring->fd, &info);

	if (r < 0)
		return coati_fail(err, r, "ring %d: asking the kernel about the BPF map: %m",
				  ring->key);
	if (info.type != BPF_MAP_TYPE_RINGBUF)
		return coati_fail(err, -EINVAL,
				  "ring %d: the map is of type %u, not a BPF ring buffer",
				  ring->key, info.type);
	size = info.max_entries;
	if (size < page || (size & (size - 1)))
		return coati_fail(err, -EBADMSG,
				  "ring %d: invalid size of a BPF ring buffer: %llu bytes",
				  ring->key, (unsigned long long)size);
	consumer = map_at(ring, 0, page, PROT_READ | PROT_WRITE, 0);
	producer = consumer ? map_at(ring, 1, page + 2 * size, PROT_READ, page) : NULL;
	if (!producer)
		return coati_fail(err, -errno, "mapping BPF ring %d (%llu KiB): %m", ring->key,
				  (unsigned long long)size / 1024);
	set_bpf_words(ring, consumer, producer, size);
	return 0;
}

static int lay_out_bpf(struct coati_ring *ring, uint8_t *memory, size_t bytes,
		       struct coati_error *err)
{
	uint64_t page = coati_page_bytes(), size = bytes > 2 * page ? (bytes - 2 * page) / 2 : 0;

	if (size < page || (size & (size - 1)) || bytes != 2 * page + 2 * size)
		return coati_fail(
			err, -EINVAL,
			"ring %d: a BPF ring in memory is two pages and twice a power of two of "
			"pages",
			ring->key);
	set_bpf_words(ring, memory, memory + page, size);
	return 0;
}

/* The AUX area of a ring in memory lies behind the data. */
static int lay_out_aux(struct coati_ring *ring, uint8_t *memory, size_t left, uint64_t aux_bytes,
		       struct coati_error *err)
{
	if (ring->kind != COATI_RING_FORWARD || aux_bytes & (aux_bytes - 1) || aux_bytes > left)
		return coati_fail(err, -EINVAL,
				  "ring %d: no room for such an AUX area in this memory",
				  ring->key);
	ring->aux = memory;
	ring->aux_bytes = aux_bytes;
	ring->aux_pos = shared_load_acquire(&ring->control->aux_tail);
	return 0;
}

int coati_ring_lay_out(struct coati_ring *ring, const struct ring_memory *m,
		       struct coati_error *err)
{
	uint64_t page = coati_page_bytes(), size = m->data_bytes;
	struct coati_control_page *control = m->at;
	uint64_t offset, told;

	if (ring->kind == COATI_RING_BPF)
		return lay_out_bpf(ring, m->at, m->bytes, err);
	if (!size && m->bytes > page + m->aux_bytes)
		size = m->bytes - page - m->aux_bytes;
	if (m->bytes < page || size < page || (size & (size - 1)) || size > m->bytes - page)
		return coati_fail(
			err, -EINVAL,
			"ring %d: a ring in memory is one page and a power of two of pages",
			ring->key);
	offset = shared_load_acquire(&control->data_offset);
	told = shared_load_acquire(&control->data_size);
	if ((offset && offset != page) || (told && told != size))
		return coati_fail(err, -EBADMSG,
				  "ring %d: the control page describes another layout", ring->key);
	set_perf_words(ring, m->at, page, size);
	if (!m->aux_bytes)
		return 0;
	return lay_out_aux(ring, (uint8_t *)m->at + page + size, (size_t)(m->bytes - page - size),
			   m->aux_bytes, err);
}

void coati_ring_unmap(struct coati_ring *ring)
{
	/* The AUX area goes first: the kernel keeps it as long as its event's ring. */
	for (int i = 2; i >= 0; i--)
		if (ring->maps[i].bytes)
			munmap(ring->maps[i].base, ring->maps[i].bytes);
	memset(ring->maps, 0, sizeof(ring->maps));
}
