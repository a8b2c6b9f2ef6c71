/* SPDX-License-Identifier: MIT */
/* The sampler's signal handler. In: the registers that a signal interrupted. Out: one record in a
 * profile buffer. */
#include "live/sampler/sampler.h"
#include "live/labels.h"
#include "live/sample-listener.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef TRAP_PERF
#define TRAP_PERF 6 /* Linux 5.13 */
#endif
#define PERF_DATA_AT 24 /* of si_perf_data in siginfo_t, 64 bit */

struct sampler_shared coati_sampler_shared;
int (*coati_sampler_sigaction)(int sig, const struct sigaction *act,
			       struct sigaction *old) = sigaction;

/* What is known of this thread since the run with that number: its own number, and which event
 * samples it. One that was opened for a thread and inherited by it, too, is heard once. */
static __thread struct {
	uint32_t run, tid, event;
	bool has_event;
	uint32_t life;	  /* no other thread of this run has the number */
	uint32_t samples; /* of its own event */
	uint64_t rest_ns; /* its CPU time when the timer over the process last hit it */
} me __attribute__((tls_model("initial-exec")));

/*
 * ThreadSanitizer sees what the C library copies for us, but not the flags by which slots change
 * hands, and would report races. These make it look away, as in the locks for which they are made.
 * They are there when the program has its runtime.
 */
extern void __tsan_mutex_pre_signal(void *lock, unsigned int flags) __attribute__((weak));
extern void __tsan_mutex_post_signal(void *lock, unsigned int flags) __attribute__((weak));

/* ---- the sample ---- */

static struct sampler_slot *take_slot(uint32_t tid)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++) {
		struct sampler_slot *s = &coati_sampler_shared.slots[(tid + i) % SAMPLER_SLOTS];

		/* pairs with: release in give_slot(); the writer's side is ours as the last one
		 * left it. And with coati_sampler_wait: who has a slot may have the array of
		 * objects. */
		if (!atomic_exchange(&s->taken, 1))
			return s;
	}
	return NULL;
}

static void give_slot(struct sampler_slot *s)
{
	/* pairs with: acquire in take_slot() */
	atomic_store_explicit(&s->taken, 0, memory_order_release);
}

/* The labels of this thread as words at @to; their number. */
static uint32_t put_labels(struct coati_labels *labels, uint64_t sp, uint64_t *to)
{
	size_t bytes;

	coati_labels_read(sp, labels);
	if (!labels->size)
		return 0;
	bytes = offsetof(struct coati_labels, bytes) + labels->size;
	to[(bytes - 1) / 8] = 0; /* equal sets are equal to the last byte */
	memcpy(to, labels, bytes);
	return (uint32_t)(bytes + 7) / 8;
}

/* Frames into the slot; their number. */
static uint32_t walk(struct sampler_slot *slot, const void *context, bool *ret_cut)
{
	struct sampler_shared *g = &coati_sampler_shared;
	const struct sampler_objects *objects = atomic_load(&coati_sampler_objects);
	struct sampler_limits limits = { slot->words, g->max_depth, g->can_probe };

	if (!g->by_tables || !objects)
		return coati_sampler_walk(context, slot->words, g->max_depth, g->can_probe,
					  ret_cut);
	return coati_sampler_walk_tables(context, objects, &slot->scratch, &limits, ret_cut);
}

static void count_seen(struct sampler_slot *slot, uint64_t weight_ns)
{
	uint64_t seen = atomic_load_explicit(&slot->seen_ns, memory_order_relaxed);

	atomic_store_explicit(&slot->seen_ns, seen + weight_ns, memory_order_relaxed);
	me.samples++;
}

static void fill_slot(struct sampler_slot *slot, const void *context, uint64_t weight_ns,
		      bool is_rest)
{
	uint64_t header[SAMPLER_HEADER];
	struct coati_profbuf_record record = { .header = header,
					       .nr_header = SAMPLER_HEADER,
					       .stack = slot->words };
	sample_listener_fn listener;
	struct timespec now;
	uint32_t frames;
	bool cut;

	frames = walk(slot, context, &cut);
	listener = atomic_load_explicit(&coati_sample_listener, memory_order_relaxed);
	if (listener && !is_rest) /* it cannot take back what proves to be seen twice */
		listener(slot->words, frames, weight_ns);
	record.nr_stack =
		frames + put_labels(&slot->labels, coati_sampler_sp(context), slot->words + frames);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* says when some were lost, to the tick */
	record.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	header[0] = me.tid;
	header[1] = (cut ? SAMPLER_CUT : 0) | weight_ns << 1;
	header[2] = frames;
	header[3] = (uint64_t)me.life << SAMPLER_LIFE_SHIFT | (me.samples & INT32_MAX) << 1 |
		    (is_rest ? SAMPLER_REST : 0);
	if (!is_rest)
		count_seen(slot, weight_ns);
	slot->samples++;
	coati_profbuf_write(&slot->writer, &record);
}

static void sample(const void *context, uint64_t weight_ns, bool is_rest)
{
	struct sampler_slot *slot = take_slot(me.tid);

	if (!slot) {
		atomic_fetch_add_explicit(&coati_sampler_shared.no_slot, 1, memory_order_relaxed);
		return;
	}
	if (__tsan_mutex_pre_signal)
		__tsan_mutex_pre_signal(slot, 0);
	/* once more: a slot that is being made ready has no writer yet */
	if (atomic_load_explicit(&coati_sampler_shared.on, memory_order_acquire))
		fill_slot(slot, context, weight_ns, is_rest);
	if (__tsan_mutex_post_signal)
		__tsan_mutex_post_signal(slot, 0);
	give_slot(slot);
}

/* ---- whose signal ---- */

/* The child of a fork has the parent's memory of itself until it starts a run of its own, and no
 * signal of the sampler before. */
static void know_thread(void)
{
	uint32_t run = atomic_load_explicit(&coati_sampler_shared.run, memory_order_relaxed);

	if (me.run == run)
		return;
	me.tid = (uint32_t)syscall(SYS_gettid);
	me.has_event = false;
	me.life = atomic_fetch_add_explicit(&coati_sampler_shared.lives, 1, memory_order_relaxed);
	me.samples = 0;
	me.rest_ns = 0;
	me.run = run;
}

/* Of the timer over the process that stands beside the events of threads. */
static bool is_of_process(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &coati_sampler_shared.rest;
}

/*
 * When the thread that ran at the tick is about to end, the kernel gives its signal to another one,
 * which may have slept. One that has hardly run since it was hit the last time is not the one.
 */
static bool has_run(uint64_t weight_ns)
{
	struct timespec t = { 0 };
	uint64_t last_ns = me.rest_ns;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	me.rest_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return !last_ns || me.rest_ns - last_ns >= weight_ns / 8;
}

/* Nanoseconds that it stands for; 0 when it is not ours. */
static uint64_t weight_of(int sig, const siginfo_t *info)
{
	const struct sampler_shared *g = &coati_sampler_shared;
	uint64_t data;

	if (info->si_code == SI_TIMER && (info->si_value.sival_ptr == g || is_of_process(info)))
		return __atomic_load_n(&g->period_ns, __ATOMIC_RELAXED) *
		       (1 + (uint64_t)(info->si_overrun > 0 ? info->si_overrun : 0));
	__builtin_memcpy(&data, (const char *)info + PERF_DATA_AT, sizeof(data));
	if (sig != SIGTRAP || info->si_code != TRAP_PERF ||
	    data >> SAMPLER_MARK_SHIFT != SAMPLER_MARK)
		return 0;
	return data & ((UINT64_C(1) << SAMPLER_PERIOD_BITS) - 1);
}

/* Whether this thread listens to that event. */
static bool is_heard(int sig, const siginfo_t *info, uint64_t weight_ns)
{
	uint64_t data;
	uint32_t event;

	know_thread();
	if (is_of_process(info))
		return me.tid != coati_sampler_shared.own_tid && has_run(weight_ns);
	if (sig != SIGTRAP || info->si_code == SI_TIMER)
		return true;
	__builtin_memcpy(&data, (const char *)info + PERF_DATA_AT, sizeof(data));
	event = data >> SAMPLER_PERIOD_BITS & ((1u << SAMPLER_NUMBER_BITS) - 1);
	if (!me.has_event) {
		me.has_event = true;
		me.event = event;
	}
	return me.event == event;
}

/* A signal of another sender, handled as if the sampler were not there. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *old =
		sig == SIGTRAP ? &coati_sampler_shared.old_trap : &coati_sampler_shared.old_prof;
	struct sigaction usual = { .sa_handler = SIG_DFL };

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, info, context);
	} else if (old->sa_handler == SIG_DFL) {
		coati_sampler_sigaction(sig, &usual, NULL);
		syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), (long)sig);
	} else if (old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
	}
}

void coati_sampler_handler(int sig, siginfo_t *info, void *context)
{
	int keep = errno;
	uint64_t weight_ns = weight_of(sig, info);

	if (!weight_ns)
		pass_on(sig, info, context);
	else if (atomic_load_explicit(&coati_sampler_shared.on, memory_order_acquire) &&
		 is_heard(sig, info, weight_ns))
		sample(context, weight_ns, is_of_process(info));
	errno = keep;
}
