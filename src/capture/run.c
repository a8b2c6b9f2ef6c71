/* SPDX-License-Identifier: MIT */
/* A capture that is open: letting its events run, and waiting for what they have to say. */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/asleep.h"
#include "capture/capture.h"
#include "capture/session.h"
#include "record/batch.h"
#include "recording/writer.h"
#include "ring/reader.h"
#include "ring/ring.h"

#define NOTICE_DRAIN_NS (100 * NSEC_PER_MSEC) /* the rings wait no longer than this for notices */

/* Is it one that is started and stopped? The side-band event runs all the time; of the two ways to
 * a stack one does. */
static bool runs(const struct coati_capture *cap, int which)
{
	int idle = cap->off.fast && cap->sets[SET_OFF_FAST].set ? SET_OFF : SET_OFF_FAST;

	return cap->sets[which].set && which != SET_SIDE && which != idle;
}

int coati_capture_start(struct coati_capture *cap, struct coati_error *err)
{
	int r = 0;

	if (!cap)
		return coati_fail(err, -EINVAL, "capture: not open");
	cap->begin_ns = cap->off.checked_ns = now_ns();
	if (cap->walks)
		coati_walker_run(cap->walks->walker, true);
	for (int i = 0; r == 0 && i < NR_SETS; i++)
		if (runs(cap, i))
			r = coati_set_enable(cap->sets[i].set, err);
	cap->started = r == 0;
	if (r < 0)
		return r;
	r = coati_asleep_write(cap);
	return r < 0 ? coati_fail(err, r, "cannot write the recording: %m") : 0;
}

int coati_capture_stop(struct coati_capture *cap, struct coati_error *err)
{
	int r = 0;

	if (!cap)
		return coati_fail(err, -EINVAL, "capture: not open");
	cap->end_ns = now_ns();
	cap->started = false;
	if (cap->walks)
		coati_walker_run(cap->walks->walker, false);
	for (int i = 0; r == 0 && i < NR_SETS; i++)
		if (runs(cap, i))
			r = coati_set_disable(cap->sets[i].set, err);
	return r;
}

int coati_capture_set_deadline(struct coati_capture *cap, int64_t deadline_ns)
{
	if (!cap || deadline_ns < -1)
		return -EINVAL;
	cap->deadline_ns = deadline_ns;
	return 0;
}

void coati_capture_wake(struct coati_capture *cap)
{
	coati_reader_wake(cap->rings.reader);
}

/* Write what has come, and a snapshot when an event asks for it. */
static int write_all(struct coati_capture *cap)
{
	int r = coati_capture_drain(cap);

	if (r == 0 && cap->tally.when_seen) {
		cap->tally.when_seen = false;
		r = cap->rings.backward.len ? coati_capture_snapshot(cap, NULL) : 0;
	}
	return r < 0 ? r : coati_off_cpu_adapt(cap);
}

int coati_capture_batch(struct coati_capture *cap, const struct coati_batch *batch)
{
	return cap && cap->writer ? coati_writer_batch(cap->writer, batch) : -EINVAL;
}

/* Did mappings alone wake us? Then the rings can wait, and fill as if there had been no wakeup. */
static bool rings_can_wait(struct coati_capture *cap)
{
	if (cap->when_ids.len || now_ns() - cap->drained_ns > NOTICE_DRAIN_NS)
		return false;
	for (uint32_t i = 0; i < rings_count(&cap->rings); i++) {
		struct coati_span first, second;
		struct coati_ring *ring = coati_reader_ring(cap->rings.reader, i);

		if (coati_ring_peek(ring, &first, &second) < 0 ||
		    first.size + second.size > cap->sets[SET_SIDE].attrs[0].wakeup / 2)
			return false;
	}
	return true;
}

int coati_capture_wait(struct coati_capture *cap)
{
	uint64_t tick;
	int why, r;

	if (!cap || !cap->writer)
		return -EINVAL;
	tick = now_ns() + coati_off_cpu_tick(cap);
	if (cap->opts.flags & COATI_CAPTURE_WAKE_STACKS && coati_steal_next(&cap->steal) < tick)
		tick = coati_steal_next(&cap->steal);
	if (cap->deadline_ns >= 0 && (uint64_t)cap->deadline_ns < tick)
		tick = (uint64_t)cap->deadline_ns;
	coati_reader_set_deadline(cap->rings.reader, (int64_t)tick);
	why = coati_reader_wait(cap->rings.reader);
	cap->wakeups++;
	coati_steal_look(&cap->steal, cap->opts.procfs, now_ns());
	r = coati_notice_round(&cap->notice, &cap->tally.images);
	if (r > 0 && why == 1 && rings_can_wait(cap))
		return 1;
	if (r >= 0)
		r = write_all(cap);
	if (r < 0)
		return r;
	cap->drained_ns = now_ns();
	if (coati_filter_is_over(cap))
		return 0;
	if (why == -ETIMEDOUT && (cap->deadline_ns < 0 || now_ns() < (uint64_t)cap->deadline_ns))
		return 1; /* our own */
	return why;
}
