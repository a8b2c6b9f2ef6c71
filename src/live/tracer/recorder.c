/* SPDX-License-Identifier: MIT */
/*
 * Recorders: start, snapshot, stop. The first one makes the memory and the thread, the last one
 * takes them away. A start and a stop begin a new generation, so that each recorder has whole ones.
 * Ordinary code.
 */
#include "live/tracer/recorder.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "live/sample-listener.h"
#include "live/tracer/ask.h"
#include "live/tracer/carry.h"
#include "live/tracer/output.h"
#include "live/tracer/watch.h"

#define DEFAULT_BYTES	   (UINT64_C(16) << 20)
#define DEFAULT_PERIOD_NS  UINT64_C(1000000000)
#define MIN_PERIOD_NS	   UINT64_C(1000000)
#define MAX_SNAPSHOT_BYTES (UINT64_C(1) << 36)
#define PLACE_TRIES	   5000u /* of a millisecond, to begin the generation after the last one */

/* Held over the whole of a start or a stop; the other one is coati_recorders_lock(). This one is
 * taken first. */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static struct tracer_guard forking;

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&life);
	coati_recorders_lock();
	coati_tracer_lock(&forking);
}

static void after_fork(void)
{
	struct tracer_guard guard = forking;

	coati_recorders_unlock();
	pthread_mutex_unlock(&life);
	coati_tracer_unlock(&guard);
}

static void in_child(void)
{
	struct tracer_guard guard = forking;

	coati_collector_child();
	coati_tracer_child();
	coati_recorders_unlock();
	pthread_mutex_unlock(&life);
	coati_tracer_unlock(&guard);
}

/* Once in a process and its children. */
static int prepare_process(struct coati_error *err)
{
	static bool done;
	struct tracer *t = &coati_tracer;
	int r;

	if (!done) {
		r = pthread_atfork(before_fork, after_fork, in_child);
		if (r)
			return coati_fail(err, -r, "cannot watch for fork(): %m");
		done = true;
	}
	if (!t->key_made)
		t->key_made = !pthread_key_create(&t->key, coati_tracer_thread_exits);
	atomic_store_explicit(&coati_tracer_hot.fenced,
			      syscall(SYS_membarrier,
				      (long)MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0L, 0L) < 0,
			      memory_order_relaxed);
	/* a child that was made without fork() finds no recorder; where this fails there is still
	 * in_child() */
	madvise(&coati_tracer_hot, sizeof(coati_tracer_hot), MADV_WIPEONFORK);
	return 0;
}

/* ---- what all recorders want together ---- */

/* What happens when the memory is full. Threads wait while a recorder wants that. Else the oldest
 * generation makes room: it is lost only for those who wanted a copy and had no time to take it.
 * One that leaves out new events decides alone, or not at all. */
static enum coati_recorder_policy policy_of_all(void)
{
	const struct coati_recorder *first = coati_recorders;

	if (!coati_tracer.running) /* new events take nothing from one that ends */
		return COATI_DROP_NEWEST;
	if (coati_tracer.blocking)
		return COATI_BLOCK;
	return !first->next && !first->stashes ? first->policy : COATI_DROP_OLDEST;
}

static void update_wishes(void)
{
	struct tracer *t = &coati_tracer;
	struct tracer_guard guard;
	uint32_t stacks = 0;
	uint64_t period_ns = 0;

	coati_tracer_lock(&guard);
	t->labels_wanted = t->samples_wanted = t->running = t->takers = t->blocking = 0;
	for (const struct coati_recorder *rec = coati_recorders; rec; rec = rec->next) {
		uint32_t bit = coati_recorder_bit(rec);

		/* one that ends still takes what it wanted before */
		t->blocking |= rec->fd >= 0 && rec->policy == COATI_BLOCK ? bit : 0;
		if (rec->until != UINT64_MAX)
			continue;
		t->running |= bit;
		t->takers |= rec->fd >= 0 || rec->stashes ? bit : 0;
		t->labels_wanted += !!(rec->flags & COATI_RECORDER_LABELS);
		t->samples_wanted += !!(rec->flags & COATI_RECORDER_SAMPLES);
		stacks += !!(rec->flags & COATI_RECORDER_STACKS);
		if (!period_ns || rec->generation_ns < period_ns)
			period_ns = rec->generation_ns;
	}
	period_ns = period_ns ? period_ns : DEFAULT_PERIOD_NS;
	atomic_store_explicit(&t->policy, policy_of_all(), memory_order_relaxed);
	if (atomic_exchange_explicit(&t->period_ns, period_ns, memory_order_relaxed) != period_ns)
		coati_tracer_wake(&t->asked); /* it sleeps for the old one */
	atomic_store_explicit(&coati_tracer_hot.stacks, stacks, memory_order_relaxed);
	atomic_store_explicit(&coati_sample_listener,
			      t->samples_wanted ? coati_tracer_sample : NULL, memory_order_relaxed);
	coati_tracer_gate_update();
	coati_tracer_unlock(&guard);
}

/* ---- start ---- */

static int take_filter(const char *text, uint32_t *ret, struct coati_error *err)
{
	struct tracer *t = &coati_tracer;
	size_t size = text ? strlen(text) : 0;

	if (size >= sizeof(t->filters[0].text))
		return coati_fail(err, -E2BIG, "the list of categories is longer than %zu bytes",
				  sizeof(t->filters[0].text) - 1);
	for (uint32_t i = 0; i < TRACER_FILTERS; i++)
		if (!t->filters[i].used) {
			memcpy(t->filters[i].text, text ? text : "", size + 1);
			t->filters[i].used = true;
			t->accounts[i] = (struct tracer_account){ 0 };
			*ret = i;
			return 0;
		}
	return coati_fail(err, -E2BIG, "%u recorders run already", TRACER_FILTERS);
}

static int check(const struct coati_recorder_opts *opts, struct coati_recorder_opts *ret,
		 struct coati_error *err)
{
	int r = SIZED_COPY(ret, opts);

	if (r < 0)
		return coati_fail(err, r,
				  "the options have a size that this library does not know");
	if (ret->policy > COATI_BLOCK)
		return coati_fail(err, -EINVAL, "no such policy: %u", (unsigned int)ret->policy);
	if (ret->flags & ~(COATI_RECORDER_STACKS | COATI_RECORDER_SAMPLES | COATI_RECORDER_LABELS))
		return coati_fail(err, -EINVAL, "no such flags: %#x", ret->flags);
	if (ret->generation_ns && ret->generation_ns < MIN_PERIOD_NS)
		return coati_fail(err, -EINVAL, "a generation lasts at least 1 ms");
	ret->bytes = ret->bytes ? ret->bytes : DEFAULT_BYTES;
	ret->generation_ns = ret->generation_ns ? ret->generation_ns : DEFAULT_PERIOD_NS;
	return 0;
}

/* The first one. */
static int begin_recording(const struct coati_recorder_opts *opts, struct coati_error *err)
{
	struct tracer_guard guard;
	int r = prepare_process(err);

	if (r < 0)
		return r;
	r = coati_tracer_open(opts, err);
	if (r < 0)
		return r;
	atomic_store_explicit(&coati_tracer.period_ns, opts->generation_ns, memory_order_relaxed);
	atomic_store_explicit(&coati_tracer_hot.cycles, coati_tracer.clock.source,
			      memory_order_relaxed);
	r = coati_collector_start();
	if (r < 0) {
		coati_tracer_close();
		coati_tracer_ask.path[0] = '\0';
		return coati_fail(err, r, "cannot start the recorder's thread: %m");
	}
	coati_tracer_lock(&guard);
	/* open before there is a generation: each region is kept, or written */
	if (coati_tracer.keeps)
		coati_tracer_gate_update();
	coati_tracer_unlock(&guard);
	return 0;
}

/* Another one comes: those that leave out new events must not keep the memory full. */
static void leave_room(struct coati_recorder *another)
{
	struct coati_recorder *rec = coati_recorders;

	if (rec && another->policy == COATI_DROP_NEWEST) {
		another->stashes = true;
		another->last = &another->first;
	}
	for (; rec; rec = rec->next)
		if (rec->policy == COATI_DROP_NEWEST)
			coati_recorder_stash_begin(rec);
}

static int start(const struct coati_recorder_opts *opts, struct coati_recorder *rec,
		 struct coati_error *err)
{
	int r = 0;

	coati_recorders_lock();
	r = take_filter(opts->categories, &rec->index, err);
	if (!r && !coati_tracer.map) {
		r = begin_recording(opts, err);
		if (r < 0)
			coati_tracer.filters[rec->index].used = false;
	}
	if (!r) {
		leave_room(rec);
		rec->next = coati_recorders;
		coati_recorders = rec;
		rec->from = coati_tracer.newest + 1;
		rec->until = UINT64_MAX;
		coati_collector_turn(false);
		update_wishes();
	}
	coati_recorders_unlock();
	return r;
}

/* One that could not be started. */
static void discard(struct coati_recorder *rec)
{
	if (rec->fd >= 0) {
		coati_recorders_lock();
		rec->until = 0;
		coati_recorders_unlock();
		coati_recorder_stream_end(rec);
	}
	coati_free(rec);
}

int coati_recorder_start(const struct coati_recorder_opts *opts, struct coati_recorder **ret,
			 struct coati_error *err)
{
	struct coati_recorder_opts o;
	struct coati_recorder *rec;
	int r = check(opts, &o, err);

	if (r < 0)
		return r;
	rec = coati_alloc(sizeof(*rec));
	if (!rec)
		return coati_fail(err, -ENOMEM, "no memory for a recorder");
	*rec = (struct coati_recorder){ .pid = (uint32_t)getpid(),
					.flags = o.flags,
					.fd = o.fd > 0 ? o.fd : -1,
					.policy = o.policy,
					.bytes = o.bytes,
					.window_ns = o.window_ns,
					.generation_ns = o.generation_ns };
	if (rec->fd >= 0)
		r = coati_recorder_stream_start(rec, rec->fd, o.patience_ns);
	if (r < 0) {
		coati_free(rec);
		return coati_fail(err, r, "cannot start the thread that writes the stream: %m");
	}
	pthread_mutex_lock(&life);
	if (coati_tracer.map && coati_tracer.pid != (uint32_t)getpid()) {
		coati_tracer_lock_reset(); /* of a clone() that did not run the fork handlers */
		coati_collector_child();
		coati_tracer_child();
	}
	r = start(&o, rec, err);
	pthread_mutex_unlock(&life);
	if (r < 0)
		discard(rec);
	else
		*ret = rec;
	return r;
}

/* ---- snapshot ---- */

/* The copies that it has made, and what it lost. */
static int copy_stash(const struct coati_recorder *rec, struct strbuf *bytes)
{
	for (const struct recorder_copy *c = rec->first; c; c = c->next)
		coati_strbuf_add(bytes, c->bytes.text, c->bytes.len);
	return coati_tracer_loss_bytes(coati_tracer.newest, coati_recorder_bit(rec), true, bytes);
}

/* All generations that the recorder holds, behind what @bytes holds. */
static int copy_kept(const struct coati_recorder *rec, struct strbuf *bytes)
{
	uint64_t oldest = tracer_oldest(), number = rec->from > oldest ? rec->from : oldest;
	uint64_t end = coati_tracer.newest;
	int r = 0;

	for (; number <= end && !r; number++) {
		struct tracer_generation *g = coati_tracer_pin(number, 0);

		if (!g)
			continue;
		r = coati_tracer_generation_bytes(g, 0, bytes);
		coati_tracer_unpin(g, 0);
	}
	return r;
}

int coati_recorder_take(struct coati_recorder *rec, struct strbuf *ret)
{
	coati_collector_turn(false);
	coati_tracer_carry_head(ret);
	coati_tracer_carry_maps(ret, 0);
	return rec->stashes ? copy_stash(rec, ret) : copy_kept(rec, ret);
}

int coati_recorder_snapshot(struct coati_recorder *rec, int fd, struct coati_error *err)
{
	struct strbuf out = STRBUF_INIT(2 * MAX_SNAPSHOT_BYTES);
	int r;

	if (!rec || fd < 0)
		return coati_fail(err, -EINVAL, "a snapshot needs a recorder and a descriptor");
	if (rec->pid != (uint32_t)getpid())
		return coati_fail(err, -ESRCH, "the recorder belongs to another process");
	if (rec->fd >= 0)
		return coati_fail(err, -EINVAL, "a recorder that writes a stream has no snapshot");
	coati_recorders_lock();
	r = coati_recorder_take(rec, &out);
	coati_recorders_unlock();
	if (!r)
		r = coati_write_all(fd, out.text, out.len);
	coati_strbuf_fini(&out);
	return r < 0 ? coati_fail(err, r, "cannot write the snapshot: %m") : 0;
}

int coati_recorder_stats(const struct coati_recorder *rec, struct coati_recorder_stats *ret)
{
	const struct tracer *t = &coati_tracer;
	struct coati_recorder_stats stats = { 0 };
	struct tracer_guard guard;

	coati_recorders_lock();
	coati_tracer_lock(&guard);
	if (rec->pid == t->pid && t->map) {
		stats.events = t->events;
		stats.dropped = t->accounts[rec->index].dropped;
		stats.bytes = t->map_bytes;
		stats.generations = t->generation_count;
		stats.batches = t->batches;
		stats.sites = coati_tracer_site_count();
		stats.sites_refused = t->sites_refused;
		stats.tasks_unlisted =
			atomic_load_explicit(&t->tasks_unlisted, memory_order_relaxed);
		stats.stuck = t->stuck;
		stats.place = t->place;
		stats.removed_files = t->removed_files;
		stats.removed_bytes = t->removed_bytes;
	}
	coati_tracer_unlock(&guard);
	stats.snapshots = rec->snapshots;
	stats.snapshots_failed = rec->snapshots_failed;
	stats.snapshot_error = rec->snapshot_error;
	coati_recorders_unlock();
	return SIZED_FILL(ret, &stats);
}

/* ---- stop ---- */

static void take_out(struct coati_recorder *rec)
{
	struct coati_recorder **p = &coati_recorders;

	while (*p && *p != rec)
		p = &(*p)->next;
	if (*p)
		*p = rec->next;
	coati_tracer.filters[rec->index].used = false;
}

/* No recorder is left: the thread and the memory go. */
static void end_recording(void)
{
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	coati_tracer_close();
	coati_tracer_gate_update();
	/* last, pairs with: coati_live_ask(), which sets the gate when it reads that there is no
	 * recorder */
	__atomic_store_n(coati_tracer_ask.path, '\0', __ATOMIC_RELEASE);
	coati_tracer_unlock(&guard);
}

/* What it is to have is complete; nothing more is kept for it. Others start and stop meanwhile. */
static void end_stream(struct coati_recorder *rec)
{
	uint64_t newest, tries = 0;

	coati_recorders_lock();
	newest = coati_tracer.newest;
	coati_collector_turn(false);
	/* where all places of generations are taken, a writer has to make one free */
	for (; coati_tracer.newest == newest && tries < PLACE_TRIES; tries++) {
		coati_recorders_unlock();
		usleep(1000);
		coati_recorders_lock();
		coati_collector_turn(false);
	}
	rec->until = coati_tracer.newest - 1;
	update_wishes();
	coati_recorders_unlock();
	coati_recorder_stream_end(rec);
}

static int stop(struct coati_recorder *rec)
{
	bool last;

	coati_recorders_lock();
	if (coati_tracer_triggers)
		coati_tracer_triggers->drop(rec);
	coati_recorders_unlock();
	if (rec->fd >= 0)
		end_stream(rec);
	pthread_mutex_lock(&life);
	coati_recorders_lock();
	last = coati_recorders == rec && !rec->next;
	coati_recorders_unlock();
	if (last)
		coati_collector_stop();
	coati_recorders_lock();
	if (last && !coati_tracer.keeps) /* else no region may get lost in between */
		__atomic_store_n(&coati_tracer_gate, 0, __ATOMIC_RELAXED);
	coati_collector_turn(last);
	take_out(rec);
	update_wishes();
	if (last)
		end_recording();
	coati_recorders_unlock();
	pthread_mutex_unlock(&life);
	return atomic_load(&rec->error);
}

int coati_recorder_stop(struct coati_recorder **rec, struct coati_error *err)
{
	int r = 0;

	if (!rec || !*rec)
		return 0;
	if ((*rec)->pid == (uint32_t)getpid())
		r = stop(*rec);
	coati_recorder_stash_free(*rec);
	coati_free(*rec);
	*rec = NULL;
	if (r == -ETIMEDOUT)
		return coati_fail(err, r,
				  "the reader of the stream stopped reading: the rest is lost");
	return r < 0 ? coati_fail(err, r, "cannot write the stream: %m") : 0;
}

/* ---- between recordings ---- */

int coati_regions_keep(int on, struct coati_error *err)
{
	struct tracer *t = &coati_tracer;
	struct coati_live_clock clock;
	struct tracer_guard guard;
	int r;

	coati_live_clock_init(&clock, 0);
	pthread_mutex_lock(&life);
	r = on ? prepare_process(err) : 0;
	if (!r) {
		coati_tracer_lock(&guard);
		if (on && !t->keeps && !t->map) { /* what was open before is not known */
			t->pid = (uint32_t)getpid();
			t->clock = clock;
			atomic_store_explicit(&t->clock_source, clock.source, memory_order_relaxed);
			/* pairs with: acquire in coati_tracer_renew() */
			atomic_fetch_add_explicit(&t->epoch, 1, memory_order_release);
		}
		t->keeps = on;
		coati_tracer_gate_update();
		coati_tracer_unlock(&guard);
	}
	pthread_mutex_unlock(&life);
	return r;
}
