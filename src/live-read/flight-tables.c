/* SPDX-License-Identifier: MIT */
/*
 * The tables of a flight recorder as batches: its process, its sites, tasks that began before the
 * first batch that there is, and losses that no batch tells.
 */
#include <errno.h>
#include <string.h>

#include "arch/clock-pair.h"
#include "base/leb128.h"
#include "base/writer.h"
#include "live-read/flight-parts.h"
#include "live-read/flight.h"

#define BATCH_ROOM (LIVE_BATCH_MAX - LIVE_HEAD)
#define TASK_BYTES 48 /* of an open task as an event, at most */

static uint64_t first_generation(const struct coati_flight *f)
{
	return f->chunks.len ? f->chunks.v[0].generation : 1;
}

static struct live_batch table_head(const struct coati_flight *f, uint16_t kind)
{
	return (struct live_batch){ .magic = LIVE_BATCH_MAGIC,
				    .version = LIVE_BATCH_VERSION,
				    .kind = kind,
				    .generation = first_generation(f),
				    .pid = f->map.pid,
				    .flags = f->map.clock_source ? 0 : LIVE_BATCH_NANOSECONDS,
				    .base = f->map.cycles_base,
				    .pair_cycles = f->map.cycles_base,
				    .pair_ns = f->map.ns_base,
				    .pair_error_ns = f->map.clock_error_ns < UINT32_MAX
							     ? (uint32_t)f->map.clock_error_ns
							     : UINT32_MAX };
}

/* The events behind the head in f->batch are @w. */
static int give(struct coati_flight *f, struct live_batch *head, const struct writer *w,
		uint32_t events, size_t *ret_size)
{
	if (w->full)
		return -EBADMSG;
	head->used = head->capacity = (uint32_t)w->len;
	head->events = events;
	head->flags |= LIVE_BATCH_CLOSED;
	head->checksum = live_checksum(f->batch + LIVE_HEAD, w->len);
	memcpy(f->batch, head, LIVE_HEAD);
	*ret_size = LIVE_HEAD + w->len;
	return 1;
}

static void put_kind(struct writer *w, uint8_t kind)
{
	writer_u8(w, kind);
	writer_u8(w, 0); /* a time of one byte, 0 */
}

/* Both clocks now: what is in open batches lies before that. Only on the machine of the process,
 * before it was started again. */
static void take_end(const struct coati_flight *f, struct live_batch *head)
{
	struct arch_pair now;

	if (!f->is_this_boot || !f->map.clock_source || !arch_cycles_invariant())
		return;
	now = arch_take_pair();
	head->end_cycles = now.cycles;
	head->end_ns = now.ns;
	if (now.width_ns / 2 + 1 > head->pair_error_ns)
		head->pair_error_ns = (uint32_t)(now.width_ns / 2 + 1);
}

int coati_flight_give_process(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_PROCESS);
	struct writer w = writer_over(f->batch + LIVE_HEAD, BATCH_ROOM);
	const struct live_map *m = &f->map;
	size_t comm = strnlen(m->comm, sizeof(m->comm));

	take_end(f, &head);
	put_kind(&w, LIVE_PROCESS);
	writer_uleb(&w, m->pid);
	writer_uleb(&w, m->uid);
	writer_uleb(&w, m->start_ticks);
	writer_uleb(&w, sizeof(m->boot_id));
	writer_bytes(&w, m->boot_id, sizeof(m->boot_id));
	writer_uleb(&w, comm << 1);
	writer_bytes(&w, m->comm, comm);
	writer_uleb(&w, 0);
	put_kind(&w, LIVE_CLOCK);
	writer_uleb(&w, m->clock_source);
	writer_uleb(&w, m->clock_mult);
	writer_uleb(&w, m->clock_shift);
	writer_uleb(&w, m->clock_error_ns);
	writer_uleb(&w, m->realtime_base);
	writer_uleb(&w, 0);
	return give(f, &head, &w, 2, ret_size);
}

/* As many whole definitions as fit into one batch. 0: there are no more. */
int coati_flight_give_sites(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_SITES);
	struct live_view b = { .head = head, .payload = f->batch + LIVE_HEAD };
	uint64_t used = f->map.sites_used;
	struct writer w = { 0 };
	struct live_walk walk;
	struct live_event e;
	uint32_t events = 0;
	int n;

	if (used > f->map.sites_bytes)
		used = f->map.sites_bytes;
	if (f->site >= used)
		return 0;
	b.head.used =
		used - f->site > BATCH_ROOM ? (uint32_t)BATCH_ROOM : (uint32_t)(used - f->site);
	n = coati_flight_take(f, f->map.sites_at + f->site, f->batch + LIVE_HEAD, b.head.used);
	if (n < 0)
		return n;
	walk = coati_live_walk(&b, NULL, NULL, NULL);
	while (coati_live_next(&walk, &e) > 0)
		events++;
	w.len = (size_t)(walk.at - walk.start);
	if (!events) { /* no definition: what is left of the area is malformed */
		f->info.nr_damaged += f->site + b.head.used < used || !!walk.why;
		f->site = used;
		return 0;
	}
	f->site += w.len;
	return give(f, &head, &w, events, ret_size);
}

/* Unless it began later: then an event reports it. */
static bool put_task(struct writer *w, const struct live_open_task *task, uint64_t base)
{
	if (!task->id || task->began >= base)
		return false;
	put_kind(w, LIVE_OPEN_TASK);
	writer_uleb(w, task->site);
	writer_uleb(w, task->id);
	writer_uleb(w, task->parent);
	writer_uleb(w, base - task->began);
	return true;
}

/* Tasks that began before the first batch: the thread that reported them may have ended. */
int coati_flight_give_tasks(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_STATUS);
	struct writer w = writer_over(f->batch + LIVE_HEAD, BATCH_ROOM);
	struct live_open_task some[FLIGHT_SOME];
	uint32_t events = 0;
	uint64_t nr;
	int n;

	head.base = f->first_base;
	head.pair_cycles = f->first_cycles;
	head.pair_ns = f->first_ns;
	head.flags &= (uint16_t)~LIVE_BATCH_CLOSED;
	while (f->task < f->map.tasks_count && w.len + FLIGHT_SOME * TASK_BYTES < w.cap) {
		nr = f->map.tasks_count - f->task < FLIGHT_SOME ? f->map.tasks_count - f->task
								: FLIGHT_SOME;
		n = coati_flight_take(f, f->map.tasks_at + f->task * sizeof(some[0]), some,
				      nr * sizeof(some[0]));
		if (n < 0)
			return n;
		for (uint64_t i = 0; i < nr; i++)
			events += put_task(&w, &some[i], head.base);
		f->task += nr;
	}
	if (!events)
		return 0;
	n = give(f, &head, &w, events, ret_size);
	if (n > 0 && f->map.clock_source) { /* one pair is all that is known: as of an open batch */
		head.flags &= (uint16_t)~LIVE_BATCH_CLOSED;
		head.checksum = 0;
		memcpy(f->batch, &head, LIVE_HEAD);
	}
	return n;
}

void coati_flight_note_loss(struct coati_flight *f, const struct live_batch *h)
{
	struct live_view b = { .head = *h, .payload = f->batch + LIVE_HEAD };
	struct live_walk walk;
	struct live_event e;

	if (h->pair_ns >= f->last.pair_ns)
		f->last = *h;
	if (h->kind != LIVE_BATCH_LOSS)
		return;
	walk = coati_live_walk(&b, NULL, NULL, NULL);
	while (coati_live_next(&walk, &e) > 0)
		if (e.kind == LIVE_LOST)
			f->lost = f->lost + e.v[2] < f->lost ? UINT64_MAX : f->lost + e.v[2];
}

/* The batches of losses may have found no room, or are gone with their generation; the process was
 * killed before it wrote one. The head has them all. */
int coati_flight_give_loss(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_LOSS);
	struct writer w = writer_over(f->batch + LIVE_HEAD, BATCH_ROOM);
	uint64_t lost = f->map.dropped > f->lost ? f->map.dropped - f->lost : 0;

	f->lost = f->map.dropped;
	if (!lost || !f->last.pair_ns)
		return 0;
	head.generation = f->last.generation;
	head.base = head.pair_cycles = head.end_cycles = f->last.pair_cycles;
	head.pair_ns = head.end_ns = f->last.pair_ns;
	put_kind(&w, LIVE_LOST);
	writer_uleb(&w, 0);
	writer_uleb(&w, 0);
	writer_uleb(&w, lost);
	writer_uleb(&w, f->map.ns_base); /* no more is known of when that was */
	writer_uleb(&w, f->last.end_ns > f->last.pair_ns ? f->last.end_ns : f->last.pair_ns);
	return give(f, &head, &w, 1, ret_size);
}
