/* SPDX-License-Identifier: MIT */
/*
 * The profile buffers that signal handlers write: made at the first start, made anew at later ones,
 * closed at the end. Their memory is never given back.
 */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/error.h"
#include "live/sampler/sampler.h"

static struct {
	size_t buf_bytes;
	void *at; /* all buffers, then all caches */
} memory;

static void give_caches(void *caches)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		coati_sampler_shared.slots[i].scratch.cache = (struct walk_cache *)caches + i;
}

static int make_memory(struct coati_error *err)
{
	struct coati_profbuf_opts o = { .size = sizeof(o),
					.header_words = SAMPLER_HEADER,
					.flags = COATI_PROFBUF_EVENTFD };
	void *at;

	memory.buf_bytes = (coati_profbuf_bytes(&o) + 63) & ~(size_t)63;
	if (!memory.at) {
		at = mmap(NULL, (memory.buf_bytes + sizeof(struct walk_cache)) * SAMPLER_SLOTS,
			  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return coati_fail(err, -errno, "sampler: memory for buffers: %m");
		memory.at = at;
		give_caches((uint8_t *)at + memory.buf_bytes * SAMPLER_SLOTS);
	}
	return 0;
}

/* Waits for a handler that uses it. */
static void take_slot(struct sampler_slot *s)
{
	/* pairs with: release in the handler's give_slot() */
	while (atomic_exchange_explicit(&s->taken, 1, memory_order_acquire))
		sched_yield();
}

/* A handler reads the array of objects only while it has a slot. One that takes a slot after it was
 * seen free reads the new array: all four accesses are sequentially consistent. */
void coati_sampler_slots_wait(void)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		while (atomic_load(&coati_sampler_shared.slots[i].taken))
			sched_yield();
}

/* A handler of the last run may be about to use one: each is taken while it is made. */
static int make_slots(struct coati_error *err)
{
	struct coati_profbuf_opts o = { .size = sizeof(o),
					.header_words = SAMPLER_HEADER,
					.flags = COATI_PROFBUF_EVENTFD };
	struct coati_profbuf_writer_opts w = { .size = sizeof(w),
					       .wake_word = &coati_sampler_shared.wake };
	int r = 0;

	for (uint32_t i = 0; i < SAMPLER_SLOTS && r == 0; i++) {
		struct sampler_slot *s = &coati_sampler_shared.slots[i];

		take_slot(s);
		s->samples = 0;
		atomic_store_explicit(&s->seen_ns, 0, memory_order_relaxed);
		r = coati_profbuf_init((uint8_t *)memory.at + i * memory.buf_bytes,
				       memory.buf_bytes, &o, &s->buf, err);
		if (r == 0)
			r = coati_profbuf_writer_init(&s->writer, s->buf, memory.buf_bytes, &w,
						      err);
		if (r == 0)
			r = coati_profbuf_reader_init(&s->reader, s->buf, memory.buf_bytes, NULL,
						      err);
		atomic_store_explicit(&s->taken, 0, memory_order_release);
	}
	return r;
}

int coati_sampler_slots_make(struct coati_error *err)
{
	int r = make_memory(err);

	return r < 0 ? r : make_slots(err);
}

void coati_sampler_slots_close(void)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++) {
		struct sampler_slot *s = &coati_sampler_shared.slots[i];

		take_slot(s);
		coati_profbuf_close(&s->writer);
		atomic_store_explicit(&s->taken, 0, memory_order_release);
	}
}
