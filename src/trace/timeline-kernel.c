/* SPDX-License-Identifier: MIT */
/*
 * What the kernel tells about threads, as states. A thread runs, waits for a CPU (it was started,
 * woken or preempted), or waits for something. What cannot follow from the state that is known (a
 * record was lost, or it is of before the recording) is counted, and the state becomes the reported
 * one.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "reading/wait.h"
#include "trace/timeline-parts.h"
#include "trace/timeline.h"

#define IRQS_DEEP 64 /* in each other: more are ends that were lost */

/* ---- system calls ---- */

#define CALL(name, wait) \
	case SYS_##name: \
		return COATI_WAIT_##wait

static enum coati_wait wait_of_call(uint64_t number)
{
	switch (number) {
		CALL(futex, FUTEX);
		CALL(nanosleep, SLEEP);
		CALL(clock_nanosleep, SLEEP);
		CALL(read, READ);
		CALL(pread64, READ);
		CALL(readv, READ);
		CALL(recvfrom, READ);
		CALL(recvmsg, READ);
		CALL(recvmmsg, READ);
		CALL(write, WRITE);
		CALL(pwrite64, WRITE);
		CALL(writev, WRITE);
		CALL(sendto, WRITE);
		CALL(sendmsg, WRITE);
		CALL(sendmmsg, WRITE);
		CALL(accept, ACCEPT);
		CALL(accept4, ACCEPT);
		CALL(connect, CONNECT);
		CALL(ppoll, POLL);
		CALL(pselect6, POLL);
		CALL(epoll_pwait, POLL);
#ifdef SYS_poll
		CALL(poll, POLL);
		CALL(select, POLL);
		CALL(epoll_wait, POLL);
#endif
		CALL(fsync, IO);
		CALL(fdatasync, IO);
		CALL(io_getevents, IO);
		CALL(wait4, CHILD);
		CALL(waitid, CHILD);
		CALL(rt_sigsuspend, SIGNAL);
		CALL(rt_sigtimedwait, SIGNAL);
		CALL(exit, EXIT);
		CALL(exit_group, EXIT);
	default:
		return COATI_WAIT_OTHER;
	}
}

/* ---- states ---- */

static struct stretch *last_of(struct thread *th)
{
	return th->stretches.len ? &th->stretches.v[th->stretches.len - 1] : NULL;
}

static int push(struct coati_timeline *t, struct thread *th, struct stretch s)
{
	struct stretch *last = last_of(th);

	if (s.begin < th->begin)
		s.begin = th->begin;
	if (last && s.begin < last->begin) {
		t->info.late++;
		s.begin = last->begin;
	}
	if (!last || last->begin < s.begin || last->wait == COATI_WAIT_RUNNABLE)
		last = ARRAY_ADD(&th->stretches);
	if (!last)
		return th->stretches.len >= th->stretches.max ? -E2BIG : -ENOMEM;
	*last = s;
	return 0;
}

/* What it did before it was first heard of. */
static int push_first(struct coati_timeline *t, struct thread *th, uint64_t time, uint8_t wait)
{
	if (th->stretches.len || !th->told || th->begin >= time)
		return 0;
	return push(t, th,
		    (struct stretch){ .begin = th->begin,
				      .wait = wait,
				      .cpu = -1,
				      .stack = COATI_TIMELINE_NONE });
}

/* A thread that was thought to run there, but is not the one that leaves, has left before: the time
 * is unknown. */
static void note_runner(struct coati_timeline *t, const struct thread *th,
			const struct coati_timeline_event *e)
{
	uint32_t *runs = e->cpu >= 0 && e->cpu < TIMELINE_CPUS_MAX ? &t->cpu_runs[e->cpu] : NULL;
	struct thread *before = runs && *runs ? &t->threads.v[*runs - 1] : NULL;
	struct stretch *last = before ? last_of(before) : NULL;

	if (!runs)
		return;
	if (e->other && before != th && last && !before->end && before->tid != e->other &&
	    last->wait == COATI_WAIT_RUNNING && last->cpu == e->cpu) {
		last->wait = COATI_WAIT_UNKNOWN;
		t->info.unpaired++;
	}
	*runs = (uint32_t)(th - t->threads.v) + 1;
}

static int take_out(struct coati_timeline *t, struct thread *th,
		    const struct coati_timeline_event *e)
{
	struct stretch s = { .begin = e->time, .cpu = -1, .stack = e->stack };
	int r = push_first(t, th, e->time, COATI_WAIT_RUNNING);

	t->info.switches++;
	t->info.has |= COATI_TIMELINE_HAS_SWITCHES;
	if (e->stack != COATI_TIMELINE_NONE)
		t->info.has |= COATI_TIMELINE_HAS_STACKS;
	if (last_of(th) && last_of(th)->wait != COATI_WAIT_RUNNING)
		t->info.unpaired++;
	s.wait = (uint8_t)e->wait;
	if (e->flags & COATI_TIMELINE_PREEMPTED)
		s.wait = COATI_WAIT_PREEMPTED;
	else if (e->wait == COATI_WAIT_RUNNING)
		s.wait = th->call == COATI_WAIT_RUNNING ? COATI_WAIT_OTHER : th->call;
	s.asks = !(e->flags & COATI_TIMELINE_PREEMPTED) && e->wait == COATI_WAIT_RUNNING &&
		 e->stack != COATI_TIMELINE_NONE;
	return r < 0 ? r : push(t, th, s);
}

/* Made so by the last wake. It stays even without length, because it tells of that. */
static int push_runnable(struct coati_timeline *t, struct thread *th, uint64_t time)
{
	struct stretch *s = ARRAY_ADD(&th->stretches);

	if (!s)
		return th->stretches.len >= th->stretches.max ? -E2BIG : -ENOMEM;
	*s = (struct stretch){ .begin = time > s[-1].begin ? time : s[-1].begin,
			       .wait = COATI_WAIT_RUNNABLE,
			       .cpu = -1,
			       .stack = (uint32_t)(t->wakes.len - 1) };
	return 0;
}

static int add_wake(struct coati_timeline *t, const struct wake *wake)
{
	struct wake *w = ARRAY_ADD(&t->wakes);

	if (!w)
		return t->wakes.len >= t->wakes.max ? -E2BIG : -ENOMEM;
	*w = *wake;
	return push_runnable(t, &t->threads.v[wake->woken], wake->time);
}

/* A thread that is about to sleep can be woken before it has left its CPU: the wakeup is recorded
 * before the switch, and none comes behind. Where every wakeup is recorded, nothing else brings it
 * back: it has waited for a CPU since it left the one that it had. */
static int take_early_wake(struct coati_timeline *t, struct thread *th)
{
	const struct stretch *last = last_of(th);
	struct early_wake early = th->early;
	struct wake w;

	th->early.time = 0;
	if (!early.time || !last || !is_away(last->wait) || last->begin < early.time ||
	    !(t->info.has & COATI_TIMELINE_ALL_WAKES))
		return 0;
	w = (struct wake){ .time = last->begin,
			   .waker = early.waker,
			   .woken = (uint32_t)(th - t->threads.v),
			   .stack = early.stack,
			   .flags = early.flags };
	t->unsorted = true;
	return add_wake(t, &w);
}

/* Its first switch is that it gets a CPU. It has slept since before the recording where a wakeup
 * says so, or the recorder, which knows the stack. */
static void settle_first(struct thread *th, uint32_t stack)
{
	struct stretch *first = th->stretches.len ? th->stretches.v : NULL;
	bool woken = th->stretches.len == 2 && first[1].wait == COATI_WAIT_RUNNABLE;

	if (!first || !(th->stretches.len == 1 || woken) || !th->told ||
	    first->wait != COATI_WAIT_UNKNOWN || first->begin != th->begin ||
	    (stack == COATI_TIMELINE_NONE && !woken))
		return;
	first->wait = COATI_WAIT_OTHER;
	first->stack = stack;
	first->asks = stack != COATI_TIMELINE_NONE;
}

static int take_in(struct coati_timeline *t, struct thread *th,
		   const struct coati_timeline_event *e)
{
	int r = push_first(t, th, e->time, COATI_WAIT_UNKNOWN);

	if (r == 0)
		settle_first(th, e->stack);
	if (r == 0)
		r = take_early_wake(t, th);
	if (r < 0)
		return r;
	t->info.has |= COATI_TIMELINE_HAS_SWITCHES;
	if (last_of(th) && last_of(th)->wait == COATI_WAIT_RUNNING)
		t->info.unpaired++;
	note_runner(t, th, e);
	return push(t, th,
		    (struct stretch){ .begin = e->time,
				      .wait = COATI_WAIT_RUNNING,
				      .cpu = (int16_t)e->cpu,
				      .stack = COATI_TIMELINE_NONE });
}

/* Counts when the thread that is woken is recorded and waits, whatever wakes it. */
static int take_wake(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	uint32_t woken = coati_timeline_find_thread(t, e->other, e->time), waker;
	struct thread *th = woken == COATI_TIMELINE_NONE ? NULL : &t->threads.v[woken];
	struct wake w;
	int r;

	t->info.has |= COATI_TIMELINE_HAS_WAKES;
	if (!th || th->outside)
		return 0;
	t->info.wakes++;
	if (th->end)
		return 0;
	r = push_first(t, th, e->time, COATI_WAIT_UNKNOWN);
	if (r < 0 || !th->stretches.len)
		return r;
	/* the waker of a thread that would run anyway is of no interest */
	if (last_of(th)->wait != COATI_WAIT_RUNNING && !is_away(last_of(th)->wait))
		return 0;
	waker = e->tid > 0 ? coati_timeline_need_waker(t, e->pid, e->tid, e->time)
			   : COATI_TIMELINE_NONE;
	th = &t->threads.v[woken]; /* they may have moved */
	if (!is_away(last_of(th)->wait)) {
		th->early = (struct early_wake){ .time = e->time,
						 .waker = waker,
						 .stack = e->stack,
						 .flags = e->flags & COATI_TIMELINE_IRQ };
		return 0;
	}
	w = (struct wake){
		.time = e->time,
		.blocked_ns = e->time > last_of(th)->begin ? e->time - last_of(th)->begin : 0,
		.waker = waker,
		.woken = woken,
		.stack = e->stack,
		.flags = e->flags & COATI_TIMELINE_IRQ,
	};
	return add_wake(t, &w);
}

static int take_exit(struct coati_timeline *t, struct thread *th,
		     const struct coati_timeline_event *e)
{
	int r = push_first(t, th, e->time, COATI_WAIT_RUNNING);

	th->end = e->time > th->begin ? e->time : th->begin;
	if (last_of(th) && th->end < last_of(th)->begin)
		th->end = last_of(th)->begin;
	return r;
}

static int take_fault(struct coati_timeline *t, struct thread *th,
		      const struct coati_timeline_event *e)
{
	uint64_t *time = ARRAY_ADD(&th->faults);

	t->info.faults++;
	t->info.has |= COATI_TIMELINE_HAS_FAULTS;
	if (!time)
		return th->faults.len >= th->faults.max ? -E2BIG : -ENOMEM;
	*time = e->time;
	return 0;
}

static int take_sample(struct coati_timeline *t, struct thread *th,
		       const struct coati_timeline_event *e)
{
	struct seen *s = ARRAY_ADD(&th->samples);

	t->info.samples++;
	t->info.has |= COATI_TIMELINE_HAS_SAMPLES;
	if (!s)
		return th->samples.len >= th->samples.max ? -E2BIG : -ENOMEM;
	*s = (struct seen){ .time = e->time,
			    .stack = e->stack,
			    .in_fault = e->wait == COATI_WAIT_FAULT };
	return 0;
}

/* The last loss may be reported long after; there is nothing before the last record of its CPU. */
static int take_loss(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	uint64_t from = e->cpu >= 0 && e->cpu < TIMELINE_CPUS_MAX ? t->cpu_last[e->cpu] : 0;
	struct loss_window *last = t->windows.len ? &t->windows.v[t->windows.len - 1] : NULL;
	struct loss_window *w;

	t->info.lost += e->number;
	if (last && from <= last->to) {
		last->to = e->time > last->to ? e->time : last->to;
		last->from = from < last->from ? from : last->from;
		return 0;
	}
	w = ARRAY_ADD(&t->windows);
	if (!w && last) {
		last->to = e->time; /* too many to keep apart */
		return 0;
	}
	if (!w)
		return -ENOMEM;
	*w = (struct loss_window){ from, e->time };
	return 0;
}

/* ---- interrupts ---- */

/* No interrupt outlasts its thread on a CPU: an end was lost. What is not known to be one stays
 * running. */
static void drop_irqs(struct coati_timeline *t, struct thread *th, size_t keep)
{
	t->info.unpaired += th->open_irqs.len - keep;
	th->open_irqs.len = keep;
}

static int take_irq_entry(struct coati_timeline *t, struct thread *th,
			  const struct coati_timeline_event *e)
{
	struct open_irq *open;

	t->info.has |= COATI_TIMELINE_HAS_IRQS;
	if (th->open_irqs.len >= IRQS_DEEP)
		drop_irqs(t, th, 0);
	open = ARRAY_ADD(&th->open_irqs);
	if (!open)
		return -ENOMEM;
	*open = (struct open_irq){ e->time, e->number };
	return 0;
}

/* The innermost of its kind ends; one inside of it whose end was lost is part of it. */
static int take_irq_exit(struct coati_timeline *t, struct thread *th,
			 const struct coati_timeline_event *e)
{
	size_t at = th->open_irqs.len;
	uint64_t begin;
	struct irq *irq;

	while (at && th->open_irqs.v[at - 1].number != e->number)
		at--;
	if (!at) {
		t->info.unpaired++;
		return 0;
	}
	drop_irqs(t, th, at);
	begin = th->open_irqs.v[--th->open_irqs.len].begin;
	t->info.irqs += !th->open_irqs.len;
	while (th->irqs.len && th->irqs.v[th->irqs.len - 1].begin >= begin)
		th->irqs.len--;
	irq = th->irqs.len ? &th->irqs.v[th->irqs.len - 1] : NULL;
	if (irq && irq->end > begin)
		begin = irq->end;
	if (e->time <= begin)
		return 0;
	irq = ARRAY_ADD(&th->irqs);
	if (!irq)
		return th->irqs.len >= th->irqs.max ? -E2BIG : -ENOMEM;
	*irq = (struct irq){ begin, e->time };
	return 0;
}

static int take_of_thread(struct coati_timeline *t, struct thread *th,
			  const struct coati_timeline_event *e)
{
	switch (e->kind) {
	case COATI_TIMELINE_START:
		return push(t, th,
			    (struct stretch){ .begin = e->time,
					      .wait = COATI_WAIT_RUNNABLE,
					      .cpu = -1,
					      .stack = COATI_TIMELINE_NONE });
	case COATI_TIMELINE_EXIT:
		return take_exit(t, th, e);
	case COATI_TIMELINE_IRQ_ENTRY:
		return take_irq_entry(t, th, e);
	case COATI_TIMELINE_IRQ_EXIT:
		return take_irq_exit(t, th, e);
	case COATI_TIMELINE_IN:
		drop_irqs(t, th, 0);
		return take_in(t, th, e);
	case COATI_TIMELINE_OUT:
		drop_irqs(t, th, 0);
		return take_out(t, th, e);
	case COATI_TIMELINE_SYSCALL:
		t->info.syscalls++;
		t->info.has |= COATI_TIMELINE_HAS_SYSCALLS;
		th->call = (uint8_t)wait_of_call(e->number);
		return 0;
	case COATI_TIMELINE_SYSRET:
		th->call = COATI_WAIT_RUNNING;
		return 0;
	case COATI_TIMELINE_FAULT:
		return take_fault(t, th, e);
	default:
		return take_sample(t, th, e);
	}
}

static void note_cpu(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	if (e->cpu < 0 || e->cpu >= TIMELINE_CPUS_MAX)
		return;
	if (e->time > t->cpu_last[e->cpu])
		t->cpu_last[e->cpu] = e->time;
	if (e->kind == COATI_TIMELINE_IN || e->kind == COATI_TIMELINE_SAMPLE)
		t->cpus[e->cpu / 8] |= (uint8_t)(1u << e->cpu % 8);
}

static int take_theft(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	struct theft *new;

	t->info.has |= COATI_TIMELINE_HAS_STEAL;
	if (!e->time) {
		t->info.stolen_ns = e->number;
		return 0;
	}
	new = ARRAY_ADD(&t->thefts);
	if (!new)
		return t->thefts.len >= t->thefts.max ? -E2BIG : -ENOMEM;
	*new = (struct theft){ e->id, e->time, e->number };
	return 0;
}

int coati_timeline_add_kernel(struct coati_timeline *t, const struct coati_timeline_event *e)
{
	struct thread *th;
	int r = 0;

	if (e->kind == COATI_TIMELINE_LOST)
		return take_loss(t, e);
	if (e->kind == COATI_TIMELINE_STOLEN)
		return take_theft(t, e);
	if (e->kind == COATI_TIMELINE_WAKE) {
		r = take_wake(t, e);
	} else if (e->tid > 0) {
		th = coati_timeline_need_thread(t, e->pid, e->tid, e->time);
		if (!th)
			return coati_timeline_no_thread(t);
		/* its last switch comes after its end; samples of live events come late */
		if (!th->end || (e->kind == COATI_TIMELINE_SAMPLE && e->time <= th->end))
			r = take_of_thread(t, th, e);
	}
	note_cpu(t, e);
	return r;
}
