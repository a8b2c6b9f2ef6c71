/* SPDX-License-Identifier: MIT */
/* see live-map.h */
#include "lib/live-map.h"

#include <errno.h>
#include <string.h>

#include "live-read/text.h"
#include "record/live-format.h"

#define CHUNK	     4096u
#define CHUNKS	     6u
#define SITES_AT     512u
#define SITES_BYTES  3584u
#define TASKS_AT     4096u
#define TASKS	     16u
#define DIRECTORY_AT 4608u
#define CHUNKS_AT    8192u

struct making {
	uint8_t *map;
	struct live_map head;
	struct live_chunk chunks[CHUNKS];
	uint32_t nr;
};

static int put_sites(struct making *m, const uint8_t *bytes, size_t size)
{
	if (m->head.sites_used + size > SITES_BYTES)
		return -E2BIG;
	memcpy(m->map + SITES_AT + m->head.sites_used, bytes, size);
	m->head.sites_used += size;
	return 0;
}

/* In the last chunk, or in a new one when the generation is another or there is no room. */
static int put(void *ctx, const uint8_t *bytes, size_t size)
{
	struct making *m = ctx;
	struct live_chunk *c = m->nr ? &m->chunks[m->nr - 1] : NULL;
	struct live_batch h;
	uint32_t need;

	memcpy(&h, bytes, sizeof(h));
	if (h.kind == LIVE_BATCH_SITES)
		return put_sites(m, bytes + sizeof(h), size - sizeof(h));
	need = (uint32_t)sizeof(h) +
	       (h.capacity > size ? h.capacity : (uint32_t)(size - sizeof(h)));
	if (!c || c->generation != h.generation || need > CHUNK - c->used) {
		if (m->nr == CHUNKS || need > CHUNK)
			return -E2BIG;
		c = &m->chunks[m->nr++];
		*c = (struct live_chunk){ .turn = 2, .generation = h.generation, .state = 1 };
	}
	memcpy(m->map + CHUNKS_AT + (uint64_t)(m->nr - 1) * CHUNK + c->used, bytes, size);
	c->used += need;
	m->head.generation = h.generation;
	return 0;
}

int live_map_make(const char *text, uint64_t start, uint8_t *ret, struct coati_error *err)
{
	struct making m = { .map = ret };
	int n;

	m.head = (struct live_map){ .magic = LIVE_MAP_MAGIC,
				    .version = 1,
				    .header_bytes = 512,
				    .bytes = LIVE_MAP_BYTES,
				    .pid = 4242,
				    .uid = 1000,
				    .start_ticks = start,
				    .comm = "patient",
				    .sites_at = SITES_AT,
				    .sites_bytes = SITES_BYTES,
				    .tasks_at = TASKS_AT,
				    .tasks_count = TASKS,
				    .directory_at = DIRECTORY_AT,
				    .chunks_at = CHUNKS_AT,
				    .chunk_bytes = CHUNK,
				    .chunk_count = CHUNKS,
				    .clock_source = 1,
				    .clock_mult = 1u << 31,
				    .clock_shift = 32,
				    .state = 1,
				    .oldest = 1 };
	memset(ret, 0, LIVE_MAP_BYTES);
	n = coati_live_text_read(text, put, &m, err);
	memcpy(ret, &m.head, sizeof(m.head));
	memcpy(ret + DIRECTORY_AT, m.chunks, sizeof(m.chunks));
	return n;
}
