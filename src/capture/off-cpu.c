/* SPDX-License-Identifier: MIT */
/* see off-cpu.h */
#include "capture/off-cpu.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/attr.h"
#include "capture/capture.h"
#include "capture/wakes.h"
#include "event/list.h"

#define COPY_MOST     4096
#define COPY_LEAST    2048	   /* less is not worth the way */
#define COPIES	      256	   /* in a ring at least */
#define RATE_MOST     10000	   /* copies a second */
#define RATE_SWITCHES 256	   /* so many are a rate, however short the time was */
#define RATE_NS	      NSEC_PER_SEC /* and a recording is never older than this */
#define TRY_NS	      (50 * NSEC_PER_MSEC)
/* the inode of the first namespace, by the kernel's ABI */
#define INIT_PID_NS UINT32_C(0xeffffffc)

#define SWITCHES "context-switches/name=" COATI_OFF_CPU_EVENT "/"
#define WAKING	 "sched:sched_waking/name=" COATI_OFF_CPU_WAKING "/"

/* Not every architecture has the vectors. */
static const char *const irq_events[] = {
	"irq:irq_handler_entry/name=" COATI_IRQ_PREFIX "handler-entry/",
	"irq:irq_handler_exit/name=" COATI_IRQ_PREFIX "handler-exit/",
	"irq:softirq_entry/name=" COATI_IRQ_PREFIX "soft-entry/",
	"irq:softirq_exit/name=" COATI_IRQ_PREFIX "soft-exit/",
	"irq_vectors:local_timer_entry/name=" COATI_IRQ_PREFIX "timer-entry/",
	"irq_vectors:local_timer_exit/name=" COATI_IRQ_PREFIX "timer-exit/",
};

static uint32_t copy_bytes(uint64_t ring_bytes)
{
	uint64_t bytes = ring_bytes / COPIES;

	return bytes < COPY_MOST ? (uint32_t)bytes : COPY_MOST;
}

/* How stacks are taken first; *ret_adapts: and by frame pointers when there are too many. */
static enum coati_stacks choose_stacks(const struct coati_capture *cap, uint64_t ring_bytes,
				       bool *ret_adapts)
{
	enum coati_stacks asked = cap->opts.stacks;

	*ret_adapts = false;
	if (asked == COATI_STACKS_LBR)
		return COATI_STACKS_FP;
	if (asked != COATI_STACKS_AUTO)
		return asked;
	*ret_adapts = copy_bytes(ring_bytes) >= COPY_LEAST;
	return *ret_adapts ? COATI_STACKS_TABLE : COATI_STACKS_FP;
}

/* There may be as many as there are switches: by frame pointers, which cost little. */
static enum coati_stacks wake_stacks(const struct coati_capture *cap)
{
	if (!(cap->opts.flags & COATI_CAPTURE_WAKE_STACKS) || cap->opts.stacks == COATI_STACKS_NONE)
		return COATI_STACKS_NONE;
	return COATI_STACKS_FP;
}

/* Attributes of the events in a set's own list. */
static int prepare_attrs(const struct coati_capture *cap, struct capture_set_state *st,
			 enum coati_stacks stacks, uint32_t copy)
{
	uint32_t nr = coati_event_list_count(st->own_list);
	struct coati_capture_opts o = cap->opts;

	st->attrs = coati_alloc_array(nr, sizeof(*st->attrs));
	st->unwinds = coati_alloc_array(nr, sizeof(*st->unwinds));
	if (!st->attrs || !st->unwinds)
		return -ENOMEM;
	o.stacks = stacks;
	o.period = o.freq_hz = 0;
	o.flags &= ~(COATI_CAPTURE_OVERWRITE | COATI_CAPTURE_DATA);
	for (uint32_t i = 0; i < nr; i++) {
		coati_capture_attr(st->own_list, i, &o, copy, &st->attrs[i]);
		if (cap->opts.stacks == COATI_STACKS_AUTO)
			st->attrs[i].flags &= ~COATI_ATTR_EXCLUDE_CALLCHAIN_USER;
		st->unwinds[i] = stacks == COATI_STACKS_TABLE || stacks == COATI_STACKS_BPF;
	}
	st->list = st->own_list;
	return 0;
}

/* One event, taken every time, as a set of its own: what is refused takes nothing else with it. */
static int prepare_set(struct coati_capture *cap, int which, const char *event,
		       enum coati_stacks stacks, uint32_t copy)
{
	struct capture_set_state *st = &cap->sets[which];
	struct coati_error why = { 0 };
	int r = coati_event_list_new(NULL, &st->own_list, &why);

	if (r == 0)
		r = coati_event_list_add(st->own_list, event, &why);
	if (r < 0 && which == SET_WAKE && r != -ENOMEM) {
		cap->off.no_wakes = why;
		return 0;
	}
	return r < 0 ? r : prepare_attrs(cap, st, stacks, copy);
}

/* Of threads: on all CPUs, while one of them runs there. Six events of each thread would make every
 * context switch of theirs slower. @filter is "" where they are taken by thread: the whole machine
 * has too many. -ENOMEM. */
static int filter_irqs(const struct coati_capture *cap, char filter[WAKES_FILTER_BYTES])
{
	int r = 0;

	filter[0] = '\0';
	if (cap->tasks && !cap->off.wakes_no_ns)
		r = coati_wakes_filter(&cap->opts, "common_pid", filter);
	if (r < 0)
		filter[0] = '\0';
	return r == -ENOMEM ? r : 0;
}

/* Those of them that there are. */
static int prepare_irqs(struct coati_capture *cap)
{
	struct capture_set_state *st = &cap->sets[SET_IRQ];
	struct coati_error first = { 0 };
	char filter[WAKES_FILTER_BYTES];
	int r = coati_event_list_new(NULL, &st->own_list, NULL);

	if (r == 0)
		r = filter_irqs(cap, filter);
	cap->off.irqs_wide = r == 0 && filter[0];
	for (size_t i = 0; r >= 0 && i < sizeof(irq_events) / sizeof(*irq_events); i++) {
		struct coati_error why = { 0 };

		r = coati_event_list_add(st->own_list, irq_events[i], &why);
		if (r == 0 && filter[0] && coati_event_list_filter(st->own_list, filter, NULL) < 0)
			cap->off.irqs_wide = false;
		if (r < 0 && r != -ENOMEM) {
			if (!first.code)
				first = why;
			r = 0;
		}
	}
	if (r == 0 && !coati_event_list_count(st->own_list))
		cap->off.no_irqs = first;
	if (r < 0 || !coati_event_list_count(st->own_list))
		return r;
	return prepare_attrs(cap, st, COATI_STACKS_NONE, 0);
}

/* The wakeup record has the TID of the woken thread in the initial PID namespace; in another
 * namespace that is another thread. */
bool coati_off_cpu_numbers_agree(const char *procfs)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/self/ns/pid", procfs ? procfs : "/proc");
	return stat(path, &st) < 0 || st.st_ino == INIT_PID_NS;
}

/* Of threads: on all CPUs, where that is allowed, else as those threads themselves wake each other.
 *  */
static int prepare_wakes(struct coati_capture *cap)
{
	struct coati_event_list *list;
	char filter[WAKES_FILTER_BYTES];
	int r = prepare_set(cap, SET_WAKE, WAKING, wake_stacks(cap), 0);

	list = cap->sets[SET_WAKE].own_list;
	if (r < 0 || cap->off.no_wakes.code || !cap->tasks)
		return r;
	r = coati_wakes_filter(&cap->opts, "pid", filter);
	if (r == -ENOMEM)
		return r;
	cap->off.wakes_wide =
		r == 0 && (!filter[0] || coati_event_list_filter(list, filter, NULL) == 0);
	return 0;
}

/* From now on switches come with copies alone. */
static void begin_copies(struct off_cpu *o, uint64_t time)
{
	o->copies[o->nr_copies++ % OFF_COPIES] =
		(struct off_copies){ .from = time, .to = UINT64_MAX };
}

int coati_off_cpu_prepare(struct coati_capture *cap, uint64_t ring_bytes, struct coati_error *err)
{
	bool adapts;
	enum coati_stacks stacks = choose_stacks(cap, ring_bytes, &adapts);
	uint32_t copy = copy_bytes(ring_bytes);
	int r;

	if (!(cap->opts.flags & COATI_CAPTURE_OFF_CPU))
		return 0;
	r = prepare_set(cap, SET_OFF, SWITCHES, stacks, copy);
	if (r == 0 && adapts)
		r = prepare_set(cap, SET_OFF_FAST, SWITCHES, COATI_STACKS_FP, 0);
	cap->off.wakes_no_ns = !coati_off_cpu_numbers_agree(cap->opts.procfs);
	if (r == 0 && cap->off.wakes_no_ns)
		coati_fail(&cap->off.no_wakes, -EOPNOTSUPP,
			   "wakeups: the kernel reports them with the IDs of the initial PID "
			   "namespace, and this is another one; record from outside the container");
	else if (r == 0)
		r = prepare_wakes(cap);
	if (r == 0 && cap->opts.flags & COATI_CAPTURE_IRQ)
		r = prepare_irqs(cap);
	cap->off.checked_ns = now_ns();
	/* of what runs already it is not known how many there are, nor when they are read first; a
	 * command begins with few */
	cap->off.fast = cap->off.trying =
		adapts && !(cap->opts.flags & COATI_CAPTURE_ON_EXEC && cap->started);
	if (!cap->off.fast)
		begin_copies(&cap->off, 0);
	return r < 0 ? coati_fail(err, r, "preparing to record context switches: %m") : 0;
}

bool coati_off_cpu_copies_at(const struct off_cpu *o, uint64_t time)
{
	uint32_t nr = o->nr_copies < OFF_COPIES ? o->nr_copies : OFF_COPIES;

	for (uint32_t i = 0; i < nr; i++)
		if (time >= o->copies[i].from && time < o->copies[i].to)
			return true;
	return false;
}

static int turn(struct coati_capture *cap, int from, int to)
{
	struct off_cpu *o = &cap->off;
	int r;

	o->fast = to == SET_OFF_FAST;
	o->fast_times += o->fast;
	if (o->fast && o->nr_copies)
		o->copies[(o->nr_copies - 1) % OFF_COPIES].to = now_ns();
	/* a switch in between is reported twice, which does no harm */
	r = coati_set_enable(cap->sets[to].set, NULL);
	if (r == 0)
		r = coati_set_disable(cap->sets[from].set, NULL);
	if (r == 0 && !o->fast)
		begin_copies(o, now_ns());
	return r;
}

uint64_t coati_off_cpu_tick(const struct coati_capture *cap)
{
	return cap->off.trying ? TRY_NS : RATE_NS;
}

int coati_off_cpu_adapt(struct coati_capture *cap)
{
	struct off_cpu *o = &cap->off;
	uint64_t now, rate, nr = cap->tally.switches - o->checked;

	if (!cap->sets[SET_OFF_FAST].set || !cap->sets[SET_OFF].set || !cap->started)
		return 0;
	now = now_ns();
	if (now <= o->checked_ns ||
	    (now - o->checked_ns < coati_off_cpu_tick(cap) && nr < RATE_SWITCHES))
		return 0;
	rate = nr * NSEC_PER_SEC / (now - o->checked_ns);
	o->checked_ns = now;
	o->checked = cap->tally.switches;
	o->trying = false;
	if (!o->fast && rate > RATE_MOST && nr >= RATE_SWITCHES)
		return turn(cap, SET_OFF, SET_OFF_FAST);
	if (o->fast && rate < RATE_MOST / 2)
		return turn(cap, SET_OFF_FAST, SET_OFF);
	return 0;
}
