/* SPDX-License-Identifier: MIT */
/*
 * A generation as records of a recording, a batch each: what a stream and a snapshot consist of.
 * In: a complete generation. Out: bytes that can be read without any other: the process and its
 * clock first, schema and sites, then everything that was written, the end mark last. Ordinary
 * code.
 */
#include "live/tracer/output.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "live/tracer/carry.h"
#include "live/tracer/emit.h"
#include "record/live-decode.h"

#define HEAD	  ((uint32_t)sizeof(struct live_batch))
#define PATH_SIZE 1024
#define RECORD	  80u /* what a batch becomes longer by as a record */

/* ---- batches that are made here ---- */

static struct live_batch head_of(const struct tracer_generation *g, uint16_t kind, uint32_t seq)
{
	return (struct live_batch){ .magic = LIVE_BATCH_MAGIC,
				    .version = LIVE_BATCH_VERSION,
				    .kind = kind,
				    .generation = g->number,
				    .pid = coati_tracer.pid,
				    .seq = seq,
				    .flags = coati_tracer.clock.source ? 0 : LIVE_BATCH_NANOSECONDS,
				    .base = g->pair_cycles,
				    .pair_cycles = g->pair_cycles,
				    .pair_ns = g->pair_ns,
				    .end_cycles = g->pair_cycles,
				    .end_ns = g->pair_ns,
				    .pair_error_ns = g->pair_error_ns };
}

/* @b with @size bytes of events behind its head. */
static void append(struct strbuf *out, struct live_batch *b, uint32_t size, uint32_t events)
{
	b->used = b->capacity = size;
	b->events = events;
	b->checksum = live_checksum(b + 1, size);
	b->flags |= LIVE_BATCH_CLOSED;
	coati_tracer_carry(out, b, b);
}

/* A batch that is made here, with room for its events. */
struct own_batch {
	struct live_batch head;
	uint8_t bytes[LIVE_BATCH_MAX];
};

static void write_process(struct strbuf *out, const struct tracer_generation *g,
			  struct own_batch *b)
{
	const struct live_map *m = coati_tracer.map;
	char path[PATH_SIZE];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
	uint8_t *at = put_kind(b->bytes, LIVE_PROCESS);

	at = put_var(at, m->pid);
	at = put_var(at, m->uid);
	at = put_var(at, m->start_ticks);
	at = put_bytes(at, m->boot_id, sizeof(m->boot_id));
	at = put_text(at, m->comm, (uint32_t)strnlen(m->comm, sizeof(m->comm)));
	at = put_text(at, path, size > 0 ? (uint32_t)size : 0);
	at = put_kind(at, LIVE_CLOCK);
	at = put_var(at, m->clock_source);
	at = put_var(at, m->clock_mult);
	at = put_var(at, m->clock_shift);
	at = put_var(at, m->clock_error_ns);
	at = put_var(at, g->realtime_ns);
	at = put_var(at, atomic_load_explicit(&coati_tracer.period_ns, memory_order_relaxed));
	b->head = head_of(g, LIVE_BATCH_PROCESS, 0);
	append(out, &b->head, (uint32_t)(at - b->bytes), 2);
}

static void write_schema(struct strbuf *out, const struct tracer_generation *g, struct own_batch *b)
{
	uint8_t *at = b->bytes;
	uint32_t events = 0;

	for (uint32_t kind = 1; kind < LIVE_MORE; kind++) {
		const struct live_kind_info *info = &coati_live_kinds[kind];

		*at++ = LIVE_SCHEMA;
		at = put_var(at, kind);
		at = put_text(at, info->name, (uint32_t)strlen(info->name));
		at = put_text(at, info->letters, (uint32_t)strlen(info->letters));
		events++;
	}
	b->head = head_of(g, LIVE_BATCH_SCHEMA, 1);
	append(out, &b->head, (uint32_t)(at - b->bytes), events);
}

static uint32_t write_sites(struct strbuf *out, const struct tracer_generation *g, uint32_t seq,
			    struct own_batch *b)
{
	uint32_t count, from = 0, start = 0;
	const uint32_t *ends;
	const uint8_t *area = coati_tracer_sites(&ends, &count);

	while (from < count) {
		uint32_t n = from;

		while (n < count && ends[n] - start <= LIVE_BATCH_MAX / 2)
			n++;
		n += n == from; /* a type of resources may be larger */
		b->head = head_of(g, LIVE_BATCH_SITES, seq++);
		if (ends[n - 1] - start <= sizeof(b->bytes)) {
			memcpy(b->bytes, area + start, ends[n - 1] - start);
			append(out, &b->head, ends[n - 1] - start, n - from);
		}
		start = ends[n - 1];
		from = n;
	}
	return seq;
}

/* ---- batches that are there ---- */

/* Without room that was not used; not the end marks of other generations, and losses only for who
 * has no account of its own. */
static void copy_chunk(struct strbuf *out, uint32_t chunk, uint64_t generation, uint32_t of)
{
	const uint8_t *mem = coati_tracer.chunks + (uint64_t)chunk * TRACER_CHUNK;
	uint32_t end = __atomic_load_n(&coati_tracer.directory[chunk].used, __ATOMIC_ACQUIRE);

	for (uint32_t at = 0; at < end;) {
		const struct live_batch *b = (const void *)(mem + at);
		struct live_batch head = *b;

		at += HEAD + b->capacity;
		if (head.kind == LIVE_BATCH_END || head.generation != generation ||
		    !(head.flags & LIVE_BATCH_CLOSED) || (of && head.kind == LIVE_BATCH_LOSS))
			continue;
		head.capacity = head.used;
		coati_tracer_carry(out, &head, b);
	}
}

/* The memory is kept by the pin, and complete: no thread writes there any more. */
static void copy_chunks(struct strbuf *out, const struct tracer_generation *g, uint32_t of)
{
	/* at once, and not by and by */
	strbuf_room(out, (size_t)g->chunks * (TRACER_CHUNK + RECORD));
	for (uint32_t chunk = g->first; chunk != UINT32_MAX;
	     chunk = coati_tracer.chunk_states[chunk].next)
		copy_chunk(out, chunk, g->number, of);
}

/* What the recorder @of has lost and was not reported to it. @again: as if it had not been
 * reported. */
static void write_losses(struct strbuf *out, const struct tracer_generation *g, uint32_t of,
			 bool again, struct own_batch *b)
{
	struct tracer_account *a = &coati_tracer.accounts[__builtin_ctz(of)];
	struct tracer_guard guard;
	uint8_t *at = b->bytes;
	uint32_t count;

	coati_tracer_lock(&guard);
	count = a->nr_losses;
	for (uint32_t i = 0; i < count; i++)
		at = put_loss(at, &a->losses[i]);
	a->nr_losses = again ? count : 0;
	coati_tracer_unlock(&guard);
	b->head = head_of(g, LIVE_BATCH_LOSS, 0);
	if (count)
		append(out, &b->head, (uint32_t)(at - b->bytes), count);
}

static void write_end(struct strbuf *out, const struct tracer_generation *g, uint32_t seq,
		      struct own_batch *b)
{
	b->head = head_of(g, LIVE_BATCH_END, seq);
	append(out, &b->head, 0, 0);
}

struct tracer_generation *coati_tracer_pin(uint64_t number, uint32_t of)
{
	struct tracer *t = &coati_tracer;
	struct tracer_generation *g = coati_tracer_generation(number);
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	if (number >= t->oldest && g->complete && (!of || g->wanted & of))
		g->pins++;
	else
		g = NULL;
	coati_tracer_unlock(&guard);
	return g;
}

void coati_tracer_unpin(struct tracer_generation *g, uint32_t taken)
{
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	g->pins--;
	g->wanted &= ~taken;
	/* it may be dropped now: who found no room looks again */
	atomic_store_explicit(&coati_tracer_hot.exhausted, 0, memory_order_relaxed);
	coati_tracer_unlock(&guard);
}

static int write_generation(struct strbuf *out, const struct tracer_generation *g, uint32_t of,
			    bool again)
{
	struct own_batch *own = coati_alloc(sizeof(*own)); /* threads may have small stacks */
	uint32_t seq;

	if (!own)
		return -ENOMEM;
	write_process(out, g, own);
	write_schema(out, g, own);
	seq = write_sites(out, g, 2, own);
	copy_chunks(out, g, of);
	if (of)
		write_losses(out, g, of, again, own);
	write_end(out, g, seq, own);
	coati_free(own);
	return out->failed;
}

int coati_tracer_generation_bytes(const struct tracer_generation *g, uint32_t of,
				  struct strbuf *out)
{
	return write_generation(out, g, of, false);
}

int coati_tracer_loss_bytes(uint64_t number, uint32_t of, bool again, struct strbuf *out)
{
	struct tracer_pair pair = coati_tracer_pair();
	struct tracer_generation none = { .number = number,
					  .pair_cycles = pair.cycles,
					  .pair_ns = pair.ns,
					  .pair_error_ns = pair.error_ns,
					  .realtime_ns = coati_tracer_realtime(),
					  .first = UINT32_MAX };

	return write_generation(out, &none, of, again);
}
