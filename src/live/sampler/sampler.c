/* SPDX-License-Identifier: MIT */
/*
 * Starting and stopping the sampler, and the thread between: it sleeps until a buffer is half full,
 * reads all of them and folds. Start and stop may be called by any thread; a flag keeps them apart.
 */
#include "live/sampler/sampler.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/thread.h"
#include "live/auto/auto.h"

#define DEFAULT_RATE	  100u
#define MAX_RATE	  10000u
#define DEFAULT_DEPTH	  128u
#define LOOK_NS		  (250 * NSEC_PER_MSEC) /* between looks for what was loaded */
#define LOOK_THREADS_NS	  (10 * NSEC_PER_MSEC)	/* and for new threads, */
#define LOOK_SHARE	  50			/* which may take that part of the time */
#define LOOK_REST_NS	  (10 * NSEC_PER_MSEC)	/* and for time that is in no sample, at first */
#define PROFILE_BYTES_MAX ((size_t)1 << 30)

enum { IDLE = 0, CHANGING, RUNNING };
/* What the thread looks for besides. */
enum { LOOK_THREADS = 1, LOOK_REST = 2 };

/* What start leaves for stop; the handler does not look at it. */
static struct {
	_Atomic uint32_t state;
	bool at_fork; /* the handlers of fork() are there */
	int signal;
	_Atomic int32_t pid; /* that started it */
	uint64_t max_table_bytes;
	pthread_t thread;
	_Atomic int32_t tid;		  /* of that thread */
	_Atomic uint32_t ending, looking; /* looking: for LOOK_* */
	uint32_t rest_was;		  /* LOOK_REST, if that was off only before an exec */
	uint64_t rest_look_ns;		  /* until the next look for time in no sample */
	struct sampler_events events;
	struct sampler_fold fold;
	struct coati_sampler_stats stats;
	struct coati_error why; /* not the best engine */
	uint32_t rate_hz, flags;
	struct timespec wall, begin;
	uint64_t used_ns; /* CPU time of the process at the start */
	uint64_t own_ns;  /* of the thread */
} run;

struct sampler_totals coati_sampler_totals;

static void add_totals(void)
{
	struct sampler_totals *t = &coati_sampler_totals;
	const struct coati_sampler_stats *s = &run.stats;
	uint64_t periods = s->cpu_ns / coati_sampler_shared.period_ns;

	atomic_fetch_add_explicit(&t->profiles, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->samples, s->samples, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->lost, s->lost, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->cut, s->cut, memory_order_relaxed);
	if (s->engine != COATI_SAMPLER_PERF && periods > s->samples)
		atomic_fetch_add_explicit(&t->overruns, periods - s->samples, memory_order_relaxed);
}

static uint64_t as_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* CPU time of what is sampled; 0: it cannot be said. */
static uint64_t used_ns(void)
{
	struct timespec t = { 0 };

	if (run.events.clock == COATI_SAMPLER_WALL ||
	    clock_gettime(run.events.only ? sampler_thread_clock(run.events.only)
					  : CLOCK_PROCESS_CPUTIME_ID,
			  &t) < 0)
		return 0;
	return as_ns(&t);
}

/* ---- the thread ---- */

/* Reads what is there. */
static void drain(void)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++) {
		struct coati_profbuf_record record;

		while (coati_profbuf_read(&coati_sampler_shared.slots[i].reader, COATI_PROFBUF_NOW,
					  &record) == 1)
			coati_sampler_fold_add(&run.fold, &record);
	}
	coati_sampler_rest_settle(&run.fold, false);
}

static bool arm_all(void)
{
	bool ready = false;

	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		ready = coati_profbuf_arm(&coati_sampler_shared.slots[i].reader) || ready;
	return ready;
}

/* A word and not an eventfd: programs close descriptors that they do not know, and use the numbers
 * for their own. */
static void sleep_while(uint32_t seen, uint64_t max_ns)
{
	struct timespec max = { (time_t)(max_ns / NSEC_PER_SEC), (long)(max_ns % NSEC_PER_SEC) };

	syscall(SYS_futex, &coati_sampler_shared.wake, FUTEX_WAIT_PRIVATE, seen,
		max_ns ? &max : NULL, NULL, 0);
}

static void wake_thread(void)
{
	/* pairs with: acquire in drain_until_end() */
	__atomic_fetch_add(&coati_sampler_shared.wake, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &coati_sampler_shared.wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The number of threads is part of what the directory says of itself. */
static uint32_t count_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) < 0 || st.st_nlink < 3 ? 1 : (uint32_t)st.st_nlink - 2;
}

/* When this thread runs at the tick the signal is for it: otherwise another one would be woken. */
static void hear_signal(void)
{
	sigset_t set;

	coati_sampler_shared.own_tid =
		(uint32_t)atomic_load_explicit(&run.tid, memory_order_relaxed);
	sigemptyset(&set);
	sigaddset(&set, run.signal);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* Puts the timer over the process beside the events when much is in no sample. How long until the
 * next look: often at first, for programs that end soon; 0: there is no more to look for. */
static uint64_t look_for_rest(void)
{
	uint64_t used = used_ns() - run.used_ns, own = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (run.fold.rest.is_on)
		return 0;
	run.rest_look_ns = run.rest_look_ns * 2 < LOOK_NS ? run.rest_look_ns * 2 : LOOK_NS;
	if (!coati_sampler_rest_is_much(used > own ? used - own : 0, run.stats.period_ns,
					count_threads()))
		return run.rest_look_ns;
	if (coati_sampler_add_rest(&run.events, run.signal) < 0)
		return LOOK_NS;
	run.fold.rest.is_on = true;
	hear_signal();
	return 0;
}

static uint64_t look_for_threads(void)
{
	uint64_t begin = now_ns(), cost;

	coati_sampler_look(&run.events);
	cost = now_ns() - begin;
	return cost * LOOK_SHARE > LOOK_THREADS_NS ? cost * LOOK_SHARE : LOOK_THREADS_NS;
}

static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
	return !a_ns || (b_ns && b_ns < a_ns) ? b_ns : a_ns;
}

/* What has come and gone meanwhile. How long that may wait until the next time; 0: nothing does. */
static uint64_t look_around(void)
{
	/* pairs with: release in start() */
	uint32_t looking = atomic_load_explicit(&run.looking, memory_order_acquire);
	uint64_t next_ns = 0;

	if (coati_sampler_shared.by_tables) {
		coati_sampler_objects_refresh(run.max_table_bytes);
		next_ns = LOOK_NS;
	}
	if (looking & LOOK_THREADS)
		next_ns = sooner(next_ns, look_for_threads());
	if (looking & LOOK_REST)
		next_ns = sooner(next_ns, look_for_rest());
	return next_ns;
}

static void *drain_until_end(void *arg)
{
	uint64_t max_ns;
	uint32_t seen;

	(void)arg;
	/* pairs with: acquire in start_thread() */
	atomic_store_explicit(&run.tid, (int32_t)syscall(SYS_gettid), memory_order_release);
	for (;;) {
		/* pairs with: release in the writer's wake() and in wake_thread(); what comes after
		 * this look ends the sleep */
		seen = __atomic_load_n(&coati_sampler_shared.wake, __ATOMIC_ACQUIRE);
		if (atomic_load_explicit(&run.ending, memory_order_acquire))
			break;
		drain();
		max_ns = look_around();
		if (!arm_all())
			sleep_while(seen, max_ns);
	}
	run.own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static int start_thread(void)
{
	int r;

	atomic_store_explicit(&run.tid, 0, memory_order_relaxed);
	atomic_store_explicit(&run.ending, 0, memory_order_relaxed);
	r = thread_start(&run.thread, NULL, drain_until_end, NULL);
	/* pairs with: release in drain_until_end() */
	while (r == 0 && !atomic_load_explicit(&run.tid, memory_order_acquire))
		sched_yield();
	if (r == 0)
		atomic_fetch_add(&coati_sampler_threads, 1);
	return r;
}

/* ---- signals ---- */

/* Ours, in front of what the program has. */
static int take_signal(int sig, struct coati_error *err)
{
	struct sigaction act = { .sa_sigaction = coati_sampler_handler,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction old;

	sigfillset(&act.sa_mask);
	if (coati_sampler_sigaction(sig, NULL, &old) < 0)
		return coati_fail(err, -errno, "sampler: signal %d: %m", sig);
	run.signal = sig;
	/* since the last run */
	if (old.sa_flags & SA_SIGINFO && old.sa_sigaction == coati_sampler_handler)
		return 0;
	*(sig == SIGTRAP ? &coati_sampler_shared.old_trap : &coati_sampler_shared.old_prof) = old;
	if (coati_sampler_sigaction(sig, &act, NULL) < 0 || coati_sampler_pass_tsan(sig) < 0)
		return coati_fail(err, -errno, "sampler: signal %d: %m", sig);
	return 0;
}

static bool is_replaced(void)
{
	struct sigaction now;

	return coati_sampler_sigaction(run.signal, NULL, &now) < 0 ||
	       !(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != coati_sampler_handler;
}

/* ---- engines ---- */

static int open_engine(enum coati_sampler_engine engine, struct coati_error *err)
{
	struct sampler_events *e = &run.events;
	int r;

	if (engine != COATI_SAMPLER_THREADS && e->clock == COATI_SAMPLER_WALL)
		return coati_fail(err, -EINVAL,
				  "sampler: only thread timers measure wall time; ask for those "
				  "or for no engine");
	if (engine == COATI_SAMPLER_PERF)
		r = coati_sampler_open_perf(e, err);
	else if (engine == COATI_SAMPLER_THREADS)
		r = coati_sampler_open_threads(e, err);
	else if (e->only)
		r = coati_fail(err, -EINVAL,
			       "sampler: the process timer cannot sample a single thread");
	else
		r = coati_sampler_open_timer(e, err);
	if (r == 0)
		r = take_signal(engine == COATI_SAMPLER_PERF ? SIGTRAP : SIGPROF, err);
	if (r < 0)
		coati_sampler_close(e);
	run.stats.engine = engine;
	return r;
}

/* The first that works; what was wrong with the best is kept. */
static int open_best(enum coati_sampler_engine wanted, struct coati_error *err)
{
	int r;

	run.why = (struct coati_error){ .code = 0 };
	if (wanted != COATI_SAMPLER_UNKNOWN)
		return open_engine(wanted, err);
	if (run.events.clock == COATI_SAMPLER_WALL)
		return open_engine(COATI_SAMPLER_THREADS, err);
	if (open_engine(COATI_SAMPLER_PERF, &run.why) == 0)
		return 0;
	r = open_engine(COATI_SAMPLER_THREADS, err);
	return r == 0 || run.events.only ? r : open_engine(COATI_SAMPLER_TIMER, err);
}

/* ---- start and stop ---- */

/* The child has none of the threads, and events that are the parent's. */
void coati_sampler_forget(void)
{
	if (atomic_load_explicit(&run.pid, memory_order_relaxed) == getpid())
		return;
	atomic_store_explicit(&coati_sampler_shared.on, 0, memory_order_relaxed);
	coati_sampler_objects_forget();
	atomic_store(&coati_sampler_threads, 0);
	if (atomic_load_explicit(&run.state, memory_order_relaxed) == IDLE)
		return;
	for (uint32_t i = 0; i < run.events.len && !(run.flags & COATI_SAMPLER_OWN_FILES); i++)
		if (run.events.threads[i].fd >= 0)
			close(run.events.threads[i].fd);
	/* its memory stays: the heap may be locked now */
	run.events = (struct sampler_events){ 0 };
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		atomic_store_explicit(&coati_sampler_shared.slots[i].taken, 0,
				      memory_order_relaxed);
	atomic_store_explicit(&run.state, IDLE, memory_order_relaxed);
}

/* From now on no other thread uses the events and the readers' sides of the buffers. */
static void end_thread(void)
{
	/* pairs with: acquire in drain_until_end() */
	atomic_store_explicit(&run.ending, 1, memory_order_release);
	wake_thread();
	atomic_fetch_sub(&coati_sampler_threads, 1);
	pthread_join(run.thread, NULL);
	atomic_store_explicit(&run.looking, 0, memory_order_relaxed);
}

/* No more samples; those that are there are read. */
static void end_samples(void)
{
	coati_sampler_close(&run.events);
	atomic_store_explicit(&coati_sampler_shared.on, 0, memory_order_release);
	coati_sampler_slots_close();
	drain();
}

static int make_tables(const struct coati_sampler_opts *o, struct coati_error *err)
{
	run.max_table_bytes = o->max_table_bytes ? o->max_table_bytes : SAMPLER_TABLE_BYTES;
	atomic_store(&coati_sampler_wait, coati_sampler_slots_wait);
	return coati_sampler_objects_prepare("sampler", o->stacks, run.max_table_bytes,
					     &coati_sampler_shared.by_tables, err);
}

/* What the thread has to do beside reading samples, from now on. */
static void look_for_more(void)
{
	uint32_t looking = 0;

	if (run.events.only)
		return;
	if (run.stats.engine == COATI_SAMPLER_THREADS)
		looking |= LOOK_THREADS;
	if (run.stats.engine != COATI_SAMPLER_TIMER && run.events.clock == COATI_SAMPLER_CPU &&
	    coati_sampler_can_rest())
		looking |= LOOK_REST;
	run.rest_look_ns = LOOK_REST_NS;
	/* pairs with: acquire in look_around() */
	atomic_store_explicit(&run.looking, looking, memory_order_release);
	if (looking)
		wake_thread();
}

static int start(const struct coati_sampler_opts *o, struct coati_error *err)
{
	struct sampler_shared *g = &coati_sampler_shared;
	int r = coati_sampler_slots_make(err);

	if (r == 0)
		r = make_tables(o, err);
	if (r < 0)
		return r;
	run.rate_hz = o->rate_hz ? o->rate_hz : DEFAULT_RATE;
	run.flags = o->flags;
	run.stats = (struct coati_sampler_stats){ .period_ns = 1000000000u / run.rate_hz };
	run.events = (struct sampler_events){
		.seed = clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)(uintptr_t)&r,
		.clock = o->clock,
		.only = o->flags & COATI_SAMPLER_THIS_THREAD ? (int32_t)syscall(SYS_gettid) : 0
	};
	/* a signal of an earlier run may be on its way */
	__atomic_store_n(&g->period_ns, coati_sampler_dither(run.stats.period_ns, &run.events.seed),
			 __ATOMIC_RELAXED);
	run.events.asked_ns = run.stats.period_ns;
	run.events.period_ns = g->period_ns;
	g->max_depth = o->max_depth ? o->max_depth : DEFAULT_DEPTH;
	g->can_probe = coati_sampler_probe((uint64_t)(uintptr_t)g) && !coati_sampler_probe(0);
	atomic_store_explicit(&g->no_slot, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&g->run, 1, memory_order_relaxed);
	coati_sampler_fold_init(&run.fold);
	r = start_thread();
	if (r < 0) {
		coati_sampler_fold_fini(&run.fold);
		return coati_fail(err, r,
				  "sampler: cannot start the thread that reads samples: %m");
	}
	run.events.skip = run.tid;
	r = open_best(o->engine, err);
	clock_gettime(CLOCK_REALTIME, &run.wall);
	clock_gettime(CLOCK_MONOTONIC, &run.begin);
	run.used_ns = used_ns();
	run.stats.threads = run.events.len;
	/* pairs with: acquire in the handler; the slots are ready */
	atomic_store_explicit(&g->on, 1, memory_order_release);
	if (r == 0)
		r = coati_sampler_enable(&run.events, err);
	if (r < 0) {
		end_thread();
		end_samples();
		coati_sampler_fold_fini(&run.fold);
	} else {
		look_for_more();
	}
	return r;
}

/* The handler of fork() came too late for a child that was made while it was put there. */
static void be_ours(void)
{
	int32_t was = atomic_load_explicit(&run.pid, memory_order_relaxed);

	if (was && was != getpid())
		coati_sampler_forget();
	atomic_store_explicit(&run.pid, getpid(), memory_order_relaxed);
}

int coati_sampler_start(const struct coati_sampler_opts *opts, struct coati_error *err)
{
	struct coati_sampler_opts o;
	uint32_t state = IDLE;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || o.rate_hz > MAX_RATE || o.max_depth > SAMPLER_DEPTH_MAX ||
	    o.engine > COATI_SAMPLER_THREADS || o.clock > COATI_SAMPLER_WALL ||
	    o.stacks > COATI_SAMPLER_STACKS_TABLES ||
	    o.flags & ~(COATI_SAMPLER_NAMES | COATI_SAMPLER_OWN_FILES | COATI_SAMPLER_THIS_THREAD))
		return coati_fail(
			err, r < 0 ? r : -EINVAL,
			"sampler: invalid options: rate must be 1-%u Hz, depth at most %u",
			MAX_RATE, SAMPLER_DEPTH_MAX);
	be_ours();
	if (!atomic_compare_exchange_strong_explicit(&run.state, &state, CHANGING,
						     memory_order_acquire, memory_order_relaxed))
		return coati_fail(err, -EBUSY, "sampler: it runs already%s; stop it first",
				  atomic_load_explicit(&coati_auto_active, memory_order_relaxed)
					  ? ", as COATI_PROFILE asks"
					  : "");
	if (!run.at_fork) {
		run.at_fork = true;
		if (pthread_atfork(NULL, NULL, coati_sampler_forget))
			run.at_fork = false;
	}
	r = start(&o, err);
	/* pairs with: acquire of the next start or stop */
	atomic_store_explicit(&run.state, r < 0 ? IDLE : RUNNING, memory_order_release);
	return r;
}

/* ---- exec ---- */

/* The thread that calls it has no signal of them on its way when the system call has returned.
 * Timers need none of this: the kernel drops their signals at exec. */
static void switch_events(bool on)
{
	uint32_t state = RUNNING;

	if (atomic_load_explicit(&run.pid, memory_order_relaxed) != getpid() ||
	    !atomic_compare_exchange_strong_explicit(&run.state, &state, CHANGING,
						     memory_order_acquire, memory_order_relaxed))
		return; /* of the parent, or it does not run */
	/* what is in no sample meanwhile needs no timer either */
	if (!on)
		run.rest_was =
			atomic_fetch_and_explicit(&run.looking, ~LOOK_REST, memory_order_relaxed) &
			LOOK_REST;
	else
		atomic_fetch_or_explicit(&run.looking, run.rest_was, memory_order_relaxed);
	if (run.stats.engine == COATI_SAMPLER_PERF && !(run.flags & COATI_SAMPLER_OWN_FILES))
		coati_sampler_switch(&run.events, on);
	/* pairs with: acquire of the next start or stop */
	atomic_store_explicit(&run.state, RUNNING, memory_order_release);
}

void coati_sampler_before_exec(void)
{
	switch_events(false);
}

void coati_sampler_exec_failed(void)
{
	int keep = errno;

	switch_events(true);
	errno = keep;
}

static int write_profile(int fd, const struct sampler_profile *p, struct coati_error *err)
{
	struct strbuf out = STRBUF_INIT(PROFILE_BYTES_MAX);
	int r = coati_sampler_write_pprof(p, &out);

	if (r < 0)
		coati_fail(err, r, "sampler: making the profile: %m");
	else if ((r = coati_write_all(fd, out.text, out.len)) < 0)
		coati_fail(err, r, "sampler: writing the profile: %m");
	coati_strbuf_fini(&out);
	return r;
}

int coati_sampler_stop(int fd, struct coati_sampler_stats *ret, struct coati_error *err)
{
	struct sampler_shared *g = &coati_sampler_shared;
	struct sampler_profile p = { .fold = &run.fold, .stats = &run.stats, .why = run.why.text };
	uint32_t state = RUNNING;
	struct timespec end;
	uint64_t used;
	int r = 0;

	if (ret && !sized_has_room(ret))
		return coati_fail(err, -EINVAL, "sampler: the statistics have no size");
	be_ours();
	if (!atomic_compare_exchange_strong_explicit(&run.state, &state, CHANGING,
						     memory_order_acquire, memory_order_relaxed))
		return coati_fail(err, -ESRCH, "sampler: it does not run");
	p.no_kernel = run.events.no_kernel;
	p.clock = run.events.clock;
	p.one_thread = run.events.only;
	clock_gettime(CLOCK_MONOTONIC, &end);
	used = used_ns();
	end_thread();
	p.refused = run.events.refused;
	p.is_rest = run.fold.rest.is_on;
	p.is_swapped = run.events.is_swapped;
	end_samples();
	if (used > run.used_ns + run.own_ns)
		run.stats.total_ns = used - run.used_ns - run.own_ns;
	coati_sampler_rest_settle(&run.fold, true);
	coati_sampler_rest_limit(&run.fold, run.stats.total_ns > run.fold.weight_ns
						    ? run.stats.total_ns - run.fold.weight_ns
						    : 0);
	run.stats.rest_ns = run.fold.rest_ns;
	run.stats.replaced = run.fold.rest.replaced;
	run.stats.samples = run.fold.samples;
	run.stats.cpu_ns = run.fold.weight_ns;
	run.stats.lost = run.fold.lost + atomic_load_explicit(&g->no_slot, memory_order_relaxed);
	run.stats.cut = run.fold.cut;
	run.stats.stacks = run.fold.stacks;
	run.stats.how = g->by_tables ? COATI_SAMPLER_STACKS_TABLES : COATI_SAMPLER_STACKS_POINTERS;
	p.by_tables = g->by_tables;
	p.objects = coati_sampler_objects_stats();
	run.stats.objects = g->by_tables ? p.objects.with : 0;
	run.stats.table_bytes = g->by_tables ? p.objects.bytes : 0;
	add_totals();
	p.time_ns = as_ns(&run.wall);
	p.duration_ns = as_ns(&end) - as_ns(&run.begin);
	p.rate_hz = run.rate_hz;
	p.names = run.flags & COATI_SAMPLER_NAMES;
	p.replaced = is_replaced();
	if (ret)
		SIZED_FILL(ret, &run.stats);
	if (fd >= 0)
		r = write_profile(fd, &p, err);
	coati_sampler_fold_fini(&run.fold);
	atomic_store_explicit(&run.state, IDLE, memory_order_release);
	return r;
}
