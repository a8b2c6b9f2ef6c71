/* SPDX-License-Identifier: MIT */
/* see arena.h */
#include "bpf/arena.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

#define CHUNK_BYTES    (WALKER_CHUNK_WORDS * 4u)
#define GRANULE	       256u /* words */
#define CHUNK_GRANULES (WALKER_CHUNK_WORDS / GRANULE)
#define GRANULES_MAX   (WALKER_CHUNKS_MAX * CHUNK_GRANULES)
#define ASIDE_MAX      65536

int coati_walker_arena_init(struct walker_arena *a, uint64_t budget_bytes)
{
	uint64_t chunks = budget_bytes / CHUNK_BYTES;

	a->max_chunks = chunks > WALKER_CHUNKS_MAX ? WALKER_CHUNKS_MAX : (uint32_t)chunks;
	a->aside.max = ASIDE_MAX;
	a->taken = coati_alloc_array(GRANULES_MAX / 8, 1);
	if (!a->taken)
		return -ENOMEM;
	a->taken[0] = 1; /* word 0 belongs to no allocation */
	return 0;
}

void coati_walker_arena_fini(struct walker_arena *a)
{
	for (uint32_t i = 0; i < a->nr_chunks; i++)
		munmap(a->chunks[i], CHUNK_BYTES);
	a->nr_chunks = 0;
	ARRAY_FINI(&a->aside);
	coati_free(a->taken);
	a->taken = NULL;
}

static bool is_taken(const struct walker_arena *a, uint32_t granule)
{
	return a->taken[granule / 8] >> granule % 8 & 1;
}

static void mark(struct walker_arena *a, const struct arena_piece *p, bool taken)
{
	uint32_t first = p->word / GRANULE, nr = (p->words + GRANULE - 1) / GRANULE;

	for (uint32_t i = first; i < first + nr; i++) {
		uint8_t bit = (uint8_t)(1u << i % 8);

		a->taken[i / 8] = (uint8_t)(taken ? a->taken[i / 8] | bit : a->taken[i / 8] & ~bit);
	}
	if (taken)
		a->used_bytes += nr * GRANULE * UINT64_C(4);
	else
		a->used_bytes -= nr * GRANULE * UINT64_C(4);
}

/* One chunk more: the map is kept by the array that it is put into, and by our mapping. */
static int add_chunk(struct walker_arena *a)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	uint32_t index = a->nr_chunks;
	void *mapped = MAP_FAILED;
	int r, fd;

	if (index >= a->max_chunks)
		return -ENOSPC;
	fd = a->lib->map_create(BPF_MAP_TYPE_ARRAY, "coati_chunk", 4, CHUNK_BYTES, 1, &o);
	if (fd < 0)
		return -ENOSPC;
	mapped = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	r = mapped == MAP_FAILED ? -1 : a->lib->map_update(a->outer_fd, &index, &fd, BPF_ANY);
	close(fd);
	if (r < 0) {
		if (mapped != MAP_FAILED)
			munmap(mapped, CHUNK_BYTES);
		return -ENOSPC;
	}
	a->chunks[a->nr_chunks++] = mapped;
	return 0;
}

/* The first run of @nr free granules in the chunks that there are; it may go on in new ones. */
static uint32_t find_run(struct walker_arena *a, uint32_t nr)
{
	uint32_t end = a->nr_chunks * CHUNK_GRANULES, run = 0;

	while (a->hint < end && is_taken(a, a->hint))
		a->hint++;
	for (uint32_t i = a->hint; i < end; i++) {
		run = is_taken(a, i) ? 0 : run + 1;
		if (run == nr)
			return i + 1 - nr;
	}
	return end - run;
}

static int get(struct walker_arena *a, uint32_t words, uint32_t *ret)
{
	uint32_t nr = (words + GRANULE - 1) / GRANULE, first = find_run(a, nr);
	struct arena_piece piece = { first * GRANULE, words };

	while ((uint64_t)a->nr_chunks * CHUNK_GRANULES < (uint64_t)first + nr)
		if (add_chunk(a) < 0)
			return -ENOSPC;
	mark(a, &piece, true);
	*ret = piece.word;
	return 0;
}

/* Use again what was put aside: walks that began before may have read it. */
static void reclaim(struct walker_arena *a)
{
	/* pairs with the two loads of `reclaims` around a walk: what is written after this can only
	 * be seen by a walk that sees it too, or began after it and does not know the place */
	__atomic_fetch_add(a->reclaims, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < a->aside.len; i++)
		mark(a, &a->aside.v[i], false);
	a->aside.len = 0;
	a->hint = 0;
}

int coati_walker_arena_get(struct walker_arena *a, uint32_t words, uint32_t *ret)
{
	int r = words ? get(a, words, ret) : -EINVAL;

	if (r == -ENOSPC && a->aside.len) {
		reclaim(a);
		r = get(a, words, ret);
	}
	return r;
}

void coati_walker_arena_put(struct walker_arena *a, uint32_t word, uint32_t words)
{
	struct arena_piece *p;

	if (a->aside.len >= ASIDE_MAX)
		reclaim(a);
	p = ARRAY_ADD(&a->aside);
	if (p) /* else it stays taken until the end */
		*p = (struct arena_piece){ word, words };
}
