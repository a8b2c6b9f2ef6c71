/* SPDX-License-Identifier: MIT */
/*
 * The way of the bytes when stacks are unwound on it: every record is looked at, and samples are
 * written again.
 *
 * A mapping may be reported in one ring and used by a sample in another. So first it is noted how
 * far each ring is to be read, then everything that the rings hold by now, which is at least that
 * much and all that happened before, is searched for side-band records, and only then the samples
 * are unwound.
 */
#include "capture/capture.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "capture/spans.h"
#include "capture/twins.h"
#include "recording/writer.h"
#include "ring/ring.h"

#define BUFFER_BYTES (1u << 20)
#define FORGET_NS    (10 * NSEC_PER_SEC)

struct drain_ring {
	size_t take; /* bytes to be written in this round */
	/* bytes, from the start of what is unread, of which the side-band records are known */
	size_t fed;
};

struct drain_stacks {
	struct stacks *stacks;
	struct drain_ring *rings;
	uint32_t nr_rings;
	uint8_t *joined; /* room for a record that wraps */
	uint8_t *buffer; /* records to be written, and room for one more */
	size_t used;
};

int coati_drain_stacks_new(struct coati_images *images, const char *procfs,
			   struct drain_stacks **ret, struct coati_error *err)
{
	struct drain_stacks *d = coati_alloc(sizeof(*d));
	int r = -ENOMEM;

	if (d) {
		d->joined = coati_alloc(STACKS_RECORD_MAX);
		d->buffer = coati_alloc(BUFFER_BYTES + STACKS_RECORD_MAX);
		if (d->joined && d->buffer)
			r = coati_stacks_new(images, procfs, &d->stacks, err);
	}
	if (r < 0)
		coati_drain_stacks_free(&d);
	*ret = d;
	return r;
}

void coati_drain_stacks_free(struct drain_stacks **dp)
{
	struct drain_stacks *d = *dp;

	if (!d)
		return;
	*dp = NULL;
	coati_stacks_free(&d->stacks);
	coati_free(d->rings);
	coati_free(d->joined);
	coati_free(d->buffer);
	coati_free(d);
}

struct stacks *coati_drain_stacks_get(struct drain_stacks *d)
{
	return d->stacks;
}

/* ---- a round ---- */

static int make_room(struct drain_stacks *d, uint32_t nr)
{
	struct drain_ring *rings;

	if (nr <= d->nr_rings)
		return 0;
	rings = coati_alloc_array(nr, sizeof(*rings));
	if (!rings)
		return -ENOMEM;
	if (d->nr_rings)
		memcpy(rings, d->rings, d->nr_rings * sizeof(*rings));
	coati_free(d->rings);
	d->rings = rings;
	d->nr_rings = nr;
	return 0;
}

/* There may be as many switches as samples, and nothing is learnt from them here. */
static bool tells_of_processes(uint32_t type)
{
	return type != COATI_RECORD_SAMPLE && type != COATI_RECORD_SWITCH &&
	       type != COATI_RECORD_SWITCH_CPU_WIDE;
}

static int feed_ring(struct coati_capture *cap, uint32_t i)
{
	struct drain_stacks *d = cap->drain;
	struct drain_ring *ring = &d->rings[i];
	struct coati_span s[2];
	const uint8_t *p;
	int r = coati_ring_peek(coati_reader_ring(cap->rings.reader, i), &s[0], &s[1]);

	if (r < 0)
		return r;
	while ((p = record_at(s, ring->fed, d->joined))) {
		ring->fed += record_size(p);
		if (!tells_of_processes(record_type(p)))
			continue;
		r = coati_stacks_feed(d->stacks, p, &cap->tally.format);
		if (r >= 0 && cap->filter.is_on)
			r = coati_sieve_feed(&cap->filter.sieve, p);
		if (r < 0)
			return r;
	}
	return 0;
}

static int flush(struct coati_capture *cap)
{
	struct drain_stacks *d = cap->drain;
	struct coati_span all = { d->buffer, d->used }, none = { d->buffer, 0 };
	int r = 0;

	if (d->used) {
		r = coati_writer_write(cap->writer, d->buffer, d->used, NULL, 0);
		if (r >= 0)
			coati_capture_tally_walk(&cap->tally, all, none);
	}
	d->used = 0;
	return r;
}

int coati_drain_stacks_put(struct coati_capture *cap, const uint8_t *record)
{
	struct drain_stacks *d = cap->drain;

	if (cap->walks && coati_walks_take(cap->walks, record))
		return 0;
	if (cap->filter.is_on)
		record = coati_filter_pass(cap, record);
	if (!record)
		return 0;
	if (cap->walks)
		record = coati_walks_known(cap->walks, record);
	d->used += coati_stacks_rewrite(d->stacks, record, d->buffer + d->used);
	return d->used >= BUFFER_BYTES ? flush(cap) : 0;
}

int coati_drain_stacks_flush(struct coati_capture *cap)
{
	return flush(cap);
}

/* The first @take bytes of ring @i, with ids and times put right. */
static int claim(struct coati_capture *cap, uint32_t i, size_t take, struct coati_span s[2])
{
	if (s[0].size > take)
		s[0].size = take;
	if (s[1].size > take - s[0].size)
		s[1].size = take - s[0].size;
	return coati_twins_claim_spans(cap, coati_twins_ring(cap, i), &s[0], &s[1]);
}

static int write_ring(struct coati_capture *cap, uint32_t i)
{
	struct drain_stacks *d = cap->drain;
	struct drain_ring *ring = &d->rings[i];
	struct coati_ring *source = coati_reader_ring(cap->rings.reader, i);
	struct coati_span s[2];
	const uint8_t *p;
	size_t at = 0;
	int r = coati_ring_peek(source, &s[0], &s[1]);

	if (r >= 0)
		r = claim(cap, i, ring->take, s);
	while (r >= 0 && at < ring->take && (p = record_at(s, at, d->joined))) {
		at += record_size(p);
		r = coati_drain_stacks_put(cap, p);
		/* unwind tables are built on the way, which takes longer than some programs run */
		if (r >= 0)
			r = coati_notice_look(&cap->notice, &cap->tally.images);
	}
	if (r >= 0)
		r = flush(cap);
	if (r < 0)
		return r;
	cap->tally.damaged_bytes += ring->take - at;
	coati_ring_consume(source, ring->take);
	ring->fed = ring->fed > ring->take ? ring->fed - ring->take : 0;
	return ring->take > 0;
}

int coati_drain_stacks_round(struct coati_capture *cap)
{
	uint32_t nr = rings_count(&cap->rings);
	int r = make_room(cap->drain, nr), any = 0;

	for (uint32_t i = 0; r >= 0 && i < nr; i++) {
		struct coati_span first, second;

		r = coati_ring_peek(coati_reader_ring(cap->rings.reader, i), &first, &second);
		if (r < 0)
			break;
		cap->drain->rings[i].take = first.size + second.size;
	}
	for (uint32_t i = 0; r >= 0 && i < nr; i++)
		r = feed_ring(cap, i);
	if (r >= 0 && cap->filter.is_on)
		r = coati_sieve_settle(&cap->filter.sieve);
	for (uint32_t i = 0; r >= 0 && i < nr; i++) {
		r = write_ring(cap, i);
		any = any || r > 0;
	}
	if (cap->tally.last_time > FORGET_NS)
		coati_stacks_forget(cap->drain->stacks, cap->tally.last_time - FORGET_NS);
	return r < 0 ? r : any;
}
