/* SPDX-License-Identifier: MIT */
/*
 * The fast read. In: the control page that the kernel keeps up to date, and this CPU's counter.
 * Out: value and times as read(2) would give them, or the word that read(2) must be used. Every
 * field is loaded with acquire order, so that the second look at the lock comes after all of them;
 * that costs nothing on x86 and little on arm64.
 */
#include "event/counter-page.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/counter.h"
#include "arch/cycles.h"
#include "base/error.h"
#include "event/event.h"

/* A page that is written all the time is a mistake of the kernel; read(2) does not depend on it. */
#define MAX_TRIES 1000

/* pairs with: the kernel's writes between the two steps of the lock */
#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

/* The page at one moment. */
struct snapshot {
	uint64_t capabilities;
	uint64_t enabled, running;
	int64_t offset;
	uint32_t index;
	uint16_t width, shift;
	uint32_t mult;
	uint64_t time_offset, time_cycles, time_mask;
	uint64_t counter, cycles;
	bool counted;
};

static void take_snapshot(const struct coati_control_page *p, const struct counter_cpu *cpu,
			  struct snapshot *s)
{
	s->capabilities = LOAD(p->capabilities);
	s->enabled = LOAD(p->time_enabled);
	s->running = LOAD(p->time_running);
	s->index = LOAD(p->index);
	s->offset = LOAD(p->offset);
	s->width = LOAD(p->pmc_width);
	if (s->capabilities & COATI_CAP_USER_TIME) {
		s->cycles = cpu->cycles(cpu->ctx);
		s->shift = LOAD(p->time_shift);
		s->mult = LOAD(p->time_mult);
		s->time_offset = LOAD(p->time_offset);
		s->time_cycles = LOAD(p->time_cycles);
		s->time_mask = LOAD(p->time_mask);
	}
	/* index 0: not on the PMU now, the page may be old */
	s->counted = s->capabilities & COATI_CAP_USER_RDPMC && s->index &&
		     cpu->counter(cpu->ctx, s->index - 1, &s->counter);
}

static bool consistent_snapshot(const struct coati_control_page *p, const struct counter_cpu *cpu,
				struct snapshot *s)
{
	for (int i = 0; i < MAX_TRIES; i++) {
		uint32_t lock = LOAD(p->lock);

		if (lock & 1)
			continue;
		take_snapshot(p, cpu, s);
		if (LOAD(p->lock) == lock)
			return true;
	}
	return false;
}

/* The hardware counter has @width bits and is signed: it counts up to an overflow at zero. */
static int64_t extend(uint64_t counter, uint16_t width)
{
	unsigned int unused;

	if (width == 0 || width >= 64)
		return (int64_t)counter;
	unused = 64u - width;
	return (int64_t)(counter << unused) >> unused;
}

/* Nanoseconds since the times of the page were written. */
static uint64_t elapsed_ns(const struct snapshot *s)
{
	uint64_t cycles = s->cycles, quotient, rest;
	unsigned int shift = s->shift & 63u;

	if (s->capabilities & COATI_CAP_USER_TIME_SHORT)
		cycles = s->time_cycles + ((cycles - s->time_cycles) & s->time_mask);
	quotient = cycles >> shift;
	rest = cycles & ((UINT64_C(1) << shift) - 1);
	return s->time_offset + quotient * s->mult +
	       (uint64_t)(((__uint128_t)rest * s->mult) >> shift);
}

int coati_counter_page_read(const struct coati_control_page *page, const struct counter_cpu *cpu,
			    struct counter_value *ret)
{
	struct snapshot s = { 0 };

	if (!consistent_snapshot(page, cpu, &s) || !s.counted)
		return 0;
	ret->value = (uint64_t)(s.offset + extend(s.counter, s.width));
	ret->enabled_ns = s.enabled;
	ret->running_ns = s.running;
	ret->times = s.capabilities & COATI_CAP_USER_TIME;
	if (ret->times) {
		uint64_t more = elapsed_ns(&s);

		ret->enabled_ns += more;
		ret->running_ns += more;
	}
	return 1;
}

static bool this_counter(void *ctx, uint32_t counter, uint64_t *ret)
{
	return arch_counter(counter, ret);
}

static uint64_t these_cycles(void *ctx)
{
	return arch_cycles();
}

static const struct counter_cpu this_cpu = { NULL, this_counter, these_cycles };

/* The counter is that of the CPU we run on: only a thread that watches itself, without inheritance,
 * can use it. */
static bool page_is_ours(const struct coati_event *ev)
{
	return arch_has_counter() && ev->target.cgroup_fd < 0 && ev->target.cpu < 0 &&
	       (ev->target.pid == 0 || ev->target.pid == gettid()) &&
	       !(ev->attr.flags & COATI_ATTR_INHERIT);
}

int coati_event_map_counter(struct coati_event *ev, struct coati_error *err)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page;
	int r = event_state(ev);

	if (r < 0)
		return coati_fail(err, r, "map counter: the event is not open; open it first");
	if (ev->page || !page_is_ours(ev))
		return 0;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, ev->fd, 0);
	if (page == MAP_FAILED && errno == EPERM)
		return coati_fail(
			err, -EPERM,
			"map counter of %s: the memory that may be locked is used up; raise "
			"it with: ulimit -l, or: sudo sysctl -w kernel.perf_event_mlock_kb=N",
			ev->label);
	if (page == MAP_FAILED && errno == EINVAL) /* this kind of event has no page */
		return 0;
	if (page == MAP_FAILED)
		return coati_fail(err, -errno, "map counter of %s: %m; read it without mapping",
				  ev->label);
	ev->page = page;
	ev->page_bytes = size;
	ev->owner = pthread_self();
	ev->fast = true;
	return 0;
}

/* What the page cannot tell: losses of a sampling event, and times where the clock cannot be
 * read. */
static bool page_is_enough(const struct coati_event *ev, const struct counter_value *v)
{
	uint64_t format = ev->attr.read_format;

	if (format & (COATI_READ_ENABLED | COATI_READ_RUNNING) && !v->times)
		return false;
	return !(format & COATI_READ_LOST && ev->attr.sample_period);
}

int coati_event_read_fast(struct coati_event *ev, struct coati_count *ret, int *ret_fast)
{
	uint64_t format;
	struct counter_value v;
	int r = event_state(ev);

	if (r < 0)
		return r;
	if (!ret)
		return -EINVAL;
	format = ev->attr.read_format;
	if (ev->fast && !(format & COATI_READ_GROUP) && pthread_equal(ev->owner, pthread_self()) &&
	    coati_counter_page_read(ev->page, &this_cpu, &v) && page_is_enough(ev, &v)) {
		*ret = (struct coati_count){
			.value = v.value,
			.enabled_ns = format & COATI_READ_ENABLED ? v.enabled_ns : 0,
			.running_ns = format & COATI_READ_RUNNING ? v.running_ns : 0,
			.id = format & COATI_READ_ID ? ev->id : 0,
			.label = ev->label,
		};
		if (ret_fast)
			*ret_fast = 1;
		return 0;
	}
	r = coati_event_read(ev, ret);
	if (r == 0 && ret_fast)
		*ret_fast = 0;
	return r;
}
