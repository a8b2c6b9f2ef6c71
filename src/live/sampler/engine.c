/* SPDX-License-Identifier: MIT */
/* What all engines have: the list of threads, chance, starting and closing. */
#include "live/sampler/engine.h"

#include <dirent.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/parse.h"
#include "live/sampler/sampler.h"

#define IOC_ENABLE  0x2400
#define IOC_DISABLE 0x2401
#define THREADS_MAX (1u << SAMPLER_NUMBER_BITS)

/* ---- chance ---- */

uint64_t coati_sampler_random(uint64_t *seed)
{
	uint64_t r = *seed += UINT64_C(0x9e3779b97f4a7c15);

	r = (r ^ r >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	r = (r ^ r >> 27) * UINT64_C(0x94d049bb133111eb);
	return r ^ r >> 31;
}

/* Up to two in a hundred more or less, and never nearly the same. */
uint64_t coati_sampler_dither(uint64_t period_ns, uint64_t *seed)
{
	uint64_t r = coati_sampler_random(seed);
	uint64_t off = period_ns / 200 + (r >> 1) % (period_ns * 3 / 200 + 1);

	return r & 1 ? period_ns + off : period_ns - off;
}

/* ---- the kernel ---- */

bool coati_sampler_kernel_is(unsigned int major, unsigned int minor)
{
	struct utsname u;
	unsigned int is[2] = { 0 };
	const char *at = u.release;

	if (uname(&u) < 0)
		return false;
	for (int i = 0; i < 2; i++, at += *at == '.')
		for (; *at >= '0' && *at <= '9' && is[i] < 100000; at++)
			is[i] = is[i] * 10 + (unsigned int)(*at - '0');
	return is[0] > major || (is[0] == major && is[1] >= minor);
}

/* ---- threads ---- */

/* They are listed in the order of their coming, which is that of our list: *hint is where the next
 * one should be. */
static struct sampler_thread *find_thread(const struct sampler_events *e, int32_t tid,
					  uint32_t *hint)
{
	for (uint32_t i = 0; i < e->len; i++) {
		uint32_t at = (*hint + i) % e->len;

		if (e->threads[at].tid == tid) {
			*hint = at + 1;
			return &e->threads[at];
		}
	}
	return NULL;
}

static int add_thread(struct sampler_events *e, int32_t tid, sampler_add_fn add)
{
	struct sampler_thread t = { .tid = tid, .fd = -1, .is_there = true };
	int r;

	if (e->len == e->cap) {
		uint32_t cap = e->cap ? 2 * e->cap : 64;
		void *grown = cap <= THREADS_MAX
				      ? coati_realloc_array(e->threads, cap, sizeof(*e->threads))
				      : NULL;

		if (!grown)
			return cap > THREADS_MAX ? -E2BIG : -ENOMEM;
		e->threads = grown;
		e->cap = cap;
	}
	r = add(e, &t);
	if (r > 0)
		e->threads[e->len++] = t;
	return r;
}

int coati_sampler_add_threads(struct sampler_events *e, sampler_add_fn add)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int added = 0, r = 0;
	uint32_t hint = 0;

	if (!dir && e->only && !e->len)
		return add_thread(e, e->only, add);
	if (!dir)
		return -errno;
	while (r >= 0 && (entry = readdir(dir))) {
		struct sampler_thread *known;
		uint32_t tid;

		if (coati_parse_u32(entry->d_name, 1, INT32_MAX, &tid) < 0 ||
		    (int32_t)tid == e->skip || (e->only && (int32_t)tid != e->only))
			continue;
		known = find_thread(e, (int32_t)tid, &hint);
		if (known) {
			known->is_there = true;
			continue;
		}
		r = add_thread(e, (int32_t)tid, add);
		added += r > 0;
	}
	closedir(dir);
	return r < 0 ? r : added;
}

/* ---- running ---- */

/* The first one comes at any time, so that what is near the beginning is seen as often as all
 * else. */
static int start_timer(struct sampler_events *e, timer_t timer)
{
	uint64_t first = 1 + coati_sampler_random(&e->seed) % e->period_ns;
	struct itimerspec when = { .it_interval = { (time_t)(e->period_ns / 1000000000u),
						    (long)(e->period_ns % 1000000000u) },
				   .it_value = { (time_t)(first / 1000000000u),
						 (long)(first % 1000000000u) } };

	return timer_settime(timer, 0, &when, NULL) < 0 ? -errno : 0;
}

static int start_thread(struct sampler_events *e, const struct sampler_thread *t)
{
	if (t->fd >= 0 && ioctl(t->fd, IOC_ENABLE, 0) < 0)
		return -errno;
	return t->has_timer ? start_timer(e, t->timer) : 0;
}

int coati_sampler_enable(struct sampler_events *e, struct coati_error *err)
{
	int r = e->has_timer ? start_timer(e, e->timer) : 0;

	for (uint32_t i = 0; i < e->len && r == 0; i++) {
		r = start_thread(e, &e->threads[i]);
		if (r == -ESRCH)
			r = 0; /* it has ended */
	}
	return r < 0 ? coati_fail(err, r, "sampler: cannot start an event or timer: %m") : 0;
}

void coati_sampler_switch(struct sampler_events *e, bool on)
{
	for (uint32_t i = 0; i < e->len; i++)
		if (e->threads[i].fd >= 0)
			ioctl(e->threads[i].fd, on ? IOC_ENABLE : IOC_DISABLE, 0);
}

static void close_thread(const struct sampler_thread *t)
{
	if (t->fd >= 0) {
		ioctl(t->fd, IOC_DISABLE, 0);
		close(t->fd);
	}
	if (t->has_timer)
		timer_delete(t->timer);
}

void coati_sampler_close(struct sampler_events *e)
{
	for (uint32_t i = 0; i < e->len; i++)
		close_thread(&e->threads[i]);
	if (e->has_timer)
		timer_delete(e->timer);
	coati_free(e->threads);
	e->threads = NULL;
	e->len = e->cap = 0;
	e->has_timer = e->no_kernel = e->is_rest = false;
}

/* ---- timers ---- */

/* The handler knows our timers by the address that they send: @mark. */
static int create_timer(clockid_t clock, int32_t tid, int sig, void *mark, timer_t *ret)
{
	struct sigevent ev = { .sigev_notify = tid ? SIGEV_THREAD_ID : SIGEV_SIGNAL,
			       .sigev_signo = sig,
			       .sigev_value.sival_ptr = mark };

	if (tid)
		ev._sigev_un._tid = tid;
	return timer_create(clock, &ev, ret) < 0 ? -errno : 0;
}

/* The kernel knows neither the clock nor the target of a thread that is gone. */
static int add_timer(struct sampler_events *e, struct sampler_thread *t)
{
	clockid_t clock =
		e->clock == COATI_SAMPLER_WALL ? CLOCK_MONOTONIC : sampler_thread_clock(t->tid);
	int r = create_timer(clock, t->tid, SIGPROF, &coati_sampler_shared, &t->timer);

	if (r == -EINVAL)
		return 0;
	t->has_timer = r == 0;
	return r < 0 ? r : 1;
}

int coati_sampler_open_threads(struct sampler_events *e, struct coati_error *err)
{
	int r = coati_sampler_add_threads(e, add_timer);

	if (r == -EAGAIN)
		return coati_fail(
			err, r,
			"sampler: cannot create a timer for each of more than %u threads: they "
			"count as pending signals; raise `ulimit -i`",
			e->len);
	if (r < 0)
		return coati_fail(err, r, "sampler: cannot create a timer for each thread: %m");
	if (!e->len)
		return coati_fail(err, -EOPNOTSUPP, "sampler: cannot create a timer on any thread");
	return 0;
}

int coati_sampler_open_timer(struct sampler_events *e, struct coati_error *err)
{
	int r = create_timer(CLOCK_PROCESS_CPUTIME_ID, 0, SIGPROF, &coati_sampler_shared,
			     &e->timer);

	if (r < 0)
		return coati_fail(err, r, "sampler: cannot create a CPU-time timer: %m");
	e->has_timer = true;
	return 0;
}

int coati_sampler_add_rest(struct sampler_events *e, int sig)
{
	int r = create_timer(CLOCK_PROCESS_CPUTIME_ID, 0, sig, &coati_sampler_shared.rest,
			     &e->timer);

	if (r < 0)
		return r;
	r = start_timer(e, e->timer);
	if (r < 0)
		timer_delete(e->timer);
	e->has_timer = e->is_rest = r == 0;
	return r;
}

/* Before 6.4 the first thread got all signals of such a timer, also while it slept. */
bool coati_sampler_can_rest(void)
{
	return coati_sampler_kernel_is(6, 4);
}

static int add_running(struct sampler_events *e, struct sampler_thread *t)
{
	int r = add_timer(e, t);

	if (r > 0 && start_timer(e, t->timer) < 0) {
		timer_delete(t->timer);
		r = 0;
	}
	/* the others are still to be looked at */
	e->refused += r < 0;
	return r < 0 ? 0 : r;
}

void coati_sampler_look(struct sampler_events *e)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < e->len; i++)
		e->threads[i].is_there = false;
	/* no descriptor at the moment: the next look will do */
	if (coati_sampler_add_threads(e, add_running) < 0)
		return;
	for (uint32_t i = 0; i < e->len; i++) {
		if (e->threads[i].is_there)
			e->threads[len++] = e->threads[i];
		else
			close_thread(&e->threads[i]);
	}
	e->len = len;
}
