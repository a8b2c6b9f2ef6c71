/* SPDX-License-Identifier: MIT */
/*
 * The way of the bytes: from the rings straight into the file. Of each ring everything that is
 * there is handed to the kernel in one call, from where it lies; then the headers are walked, while
 * the bytes are still in the cache, and the space is given back.
 */
#include "capture/capture.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/session.h"
#include "capture/twins.h"
#include "capture/wakes.h"
#include "event/set.h"
#include "record/record.h"
#include "recording/writer.h"
#include "ring/ring.h"

/* Count the whole records that a failed write has put into the file. */
static void count_kept(struct coati_capture *cap, struct coati_span first, struct coati_span second,
		       uint64_t before)
{
	uint64_t now = coati_writer_bytes(cap->writer);
	size_t kept = now > before ? (size_t)(now - before) : 0;

	if (kept < first.size)
		first.size = kept;
	if (kept - first.size < second.size)
		second.size = kept - first.size;
	coati_capture_tally_walk(&cap->tally, first, second);
}

static int drain_ring(struct coati_capture *cap, uint32_t i)
{
	struct coati_ring *ring = coati_reader_ring(cap->rings.reader, i);
	struct coati_span first, second;
	uint64_t before;
	int r = coati_ring_peek(ring, &first, &second);

	if (r < 0 || !first.size)
		return r;
	r = coati_twins_claim_spans(cap, coati_twins_ring(cap, i), &first, &second);
	if (r < 0)
		return r;
	before = coati_writer_bytes(cap->writer);
	r = coati_writer_write(cap->writer, first.bytes, first.size, second.bytes, second.size);
	if (r < 0) {
		count_kept(cap, first, second, before);
		return r;
	}
	coati_capture_tally_walk(&cap->tally, first, second);
	coati_ring_consume(ring, first.size + second.size);
	return 1;
}

/* 1 when something was written. */
static int drain_rings(struct coati_capture *cap)
{
	uint32_t nr = rings_count(&cap->rings);
	int any = 0;

	for (uint32_t i = 0; i < nr; i++) {
		int r = drain_ring(cap, i);

		if (r < 0)
			return r;
		any = any || r > 0;
	}
	return any;
}

static int write_labels(void *ctx, const struct coati_batch *batch)
{
	return coati_writer_batch(ctx, batch);
}

/* The describer may not have come to it. */
static void ask_keys(void *ctx, int32_t pid, uint64_t family)
{
	const struct coati_capture *cap = ctx;

	coati_describe_keys(cap->opts.procfs, pid, family, cap->walks->labels);
}

int coati_capture_settle_labels(struct coati_capture *cap, bool all)
{
	struct thread_labels *l = cap->walks ? cap->walks->labels : NULL;

	if (l && all)
		coati_thread_labels_ask(l, ask_keys, cap);
	return l ? coati_thread_labels_settle(l, all, write_labels, cap->writer) : 0;
}

int coati_capture_drain(struct coati_capture *cap)
{
	int r = cap->drain ? coati_drain_stacks_round(cap) : drain_rings(cap);

	if (r < 0 || cap->tally.failed)
		return r < 0 ? r : cap->tally.failed;
	if (!r)
		return 0;
	r = coati_wakes_name(cap);
	if (r == 0)
		r = coati_capture_settle_labels(cap, false);
	if (r < 0)
		return r;
	cap->rounds++;
	return coati_writer_round(cap->writer);
}

/* The second round has what came into the first rings while the last ones were read; its end
 * releases the first. */
int coati_capture_settle(struct coati_capture *cap)
{
	uint64_t rounds;
	int r;

	if (!cap || !cap->writer)
		return -EINVAL;
	r = coati_capture_drain(cap);
	rounds = cap->rounds;
	if (r == 0)
		r = coati_capture_drain(cap);
	if (r < 0 || cap->rounds > rounds)
		return r;
	cap->rounds++;
	return coati_writer_round(cap->writer);
}

/* The items of a snapshot lie side by side, newest first: one piece, but for what is no record. */
static int write_snapshot(struct coati_capture *cap, size_t i)
{
	struct coati_ring *ring = cap->rings.backward.v[i];
	uint8_t lane = cap->rings.backward_lanes.v[i];
	struct coati_span piece = { NULL, 0 }, none = { NULL, 0 };
	struct coati_ring_item item;
	int r;

	while ((r = coati_ring_next(ring, &item)) > 0) {
		if (item.kind == COATI_ITEM_LOSS && item.flags & COATI_ITEM_UNKNOWN_COUNT)
			cap->overwritten++;
		if (!item.bytes)
			continue;
		if (cap->drain) {
			r = coati_drain_stacks_put(cap, coati_twins_claim(cap, lane, item.bytes));
			if (r < 0)
				return r;
			continue;
		}
		if (!piece.size)
			piece.bytes = item.bytes;
		if (item.bytes != piece.bytes + piece.size)
			return -EBADMSG;
		piece.size += item.size;
	}
	if (r >= 0 && cap->drain)
		r = coati_drain_stacks_flush(cap);
	if (r < 0 || !piece.size)
		return r;
	none.bytes = piece.bytes;
	r = coati_twins_claim_spans(cap, (struct twins_ring){ .lane = lane }, &piece, &none);
	if (r < 0)
		return r;
	coati_capture_tally_walk(&cap->tally, piece, none);
	return coati_writer_write(cap->writer, piece.bytes, piece.size, NULL, 0);
}

int coati_capture_snapshot(struct coati_capture *cap, struct coati_error *err)
{
	int r = 0;

	/* The writers go on: of what they overwrite meanwhile the oldest is gone, but nothing new
	 * is. */
	if (!cap || !cap->writer || !cap->rings.backward.len)
		return coati_fail(err, -EINVAL,
				  "snapshot: no recording is open, or no event overwrites");
	for (size_t i = 0; r >= 0 && i < cap->rings.backward.len; i++) {
		r = coati_ring_snapshot(cap->rings.backward.v[i], 0, err);
		if (r < 0)
			return r;
		r = write_snapshot(cap, i);
	}
	cap->snapshots++;
	if (r >= 0)
		r = coati_writer_round(cap->writer);
	return r < 0 ? coati_fail(err, r, "writing a snapshot: %m") : 0;
}

static int write_lost(struct coati_capture *cap, const struct coati_event *ev, uint64_t lost)
{
	struct coati_record rec = { .type = COATI_RECORD_LOST_SAMPLES, .u.lost_samples = lost };
	struct coati_sample_format format;
	uint8_t bytes[128];
	int size;

	rec.id.present =
		COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_CPU | COATI_SAMPLE_IDENTIFIER;
	if (coati_event_id(ev, &rec.id.id) < 0)
		return 0;
	rec.id.time = cap->tally.last_time;
	coati_sample_format_init(coati_event_attr(ev), &format);
	size = coati_record_encode(&rec, &format, bytes, sizeof(bytes));
	return size < 0 ? size : coati_writer_record(cap->writer, bytes, (size_t)size);
}

static int balance_set(struct coati_capture *cap, struct capture_set_state *st)
{
	uint32_t nr = coati_set_count(st->set);

	for (uint32_t i = 0; i < nr; i++) {
		struct coati_set_entry e;
		struct coati_count c;
		uint64_t lost;
		bool tells, counts = st == &cap->sets[SET_EVENTS] && cap->scope != SCOPE_CPUS;
		int r;

		if (coati_set_entry(st->set, i, &e) < 0)
			continue;
		tells = coati_event_attr(e.handle)->read_format & COATI_READ_LOST;
		if (!tells && !counts)
			continue;
		r = coati_set_read(st->set, i, &c);
		if (counts)
			coati_coverage_count(&cap->coverage, e.event, r < 0 ? NULL : &c.value);
		/* an event that cannot be read any more has nothing to say */
		if (r < 0 || !tells || c.lost <= st->lost[i])
			continue;
		lost = c.lost - st->lost[i];
		st->lost[i] = c.lost;
		cap->lost += lost;
		r = write_lost(cap, e.handle, lost);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Samples that came out of the rings, but could not be written. */
static int balance_dropped(struct coati_capture *cap)
{
	struct coati_set_entry e;
	struct stacks_counts c;
	uint64_t dropped;

	if (!cap->drain || coati_set_entry(cap->sets[SET_EVENTS].set, 0, &e) < 0)
		return 0;
	coati_stacks_get_counts(coati_drain_stacks_get(cap->drain), &c);
	dropped = c.dropped - cap->dropped;
	cap->dropped = c.dropped;
	cap->lost += dropped;
	return dropped ? write_lost(cap, e.handle, dropped) : 0;
}

int coati_capture_balance(struct coati_capture *cap)
{
	int r = balance_dropped(cap);

	coati_coverage_restart(&cap->coverage);
	for (int i = 0; r >= 0 && i < NR_SETS; i++)
		r = cap->sets[i].set ? balance_set(cap, &cap->sets[i]) : 0;
	return r;
}
