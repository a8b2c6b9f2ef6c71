/* SPDX-License-Identifier: MIT */
/*
 * What a thread waits for, from the stack with which it left its CPU: the functions of the kernel tell, from the innermost on. Where
 * these have no names, the call of the C library that led there does.
 */
#include <string.h>

#include "profile/off-cpu.h"
#include "profile/view.h"

enum wait {
	WAIT_NONE,
	WAIT_FUTEX,
	WAIT_READ,
	WAIT_WRITE,
	WAIT_ACCEPT,
	WAIT_CONNECT,
	WAIT_POLL,
	WAIT_SLEEP,
	WAIT_FAULT,
	WAIT_IO,
	WAIT_LOCK,
	WAIT_CHILD,
	WAIT_SIGNAL,
	WAIT_EXIT,
	WAIT_KERNEL,
	WAIT_PREEMPTED,
	WAIT_RUNNABLE,
	WAIT_OTHER,
	WAIT_UNKNOWN,
};

static const char *const names[] = {
	[WAIT_NONE] = "running",      [WAIT_FUTEX] = "futex",
	[WAIT_READ] = "read",	      [WAIT_WRITE] = "write",
	[WAIT_ACCEPT] = "accept",     [WAIT_CONNECT] = "connect",
	[WAIT_POLL] = "poll",	      [WAIT_SLEEP] = "sleep",
	[WAIT_FAULT] = "fault",	      [WAIT_IO] = "io",
	[WAIT_LOCK] = "lock",	      [WAIT_CHILD] = "wait",
	[WAIT_SIGNAL] = "signal",     [WAIT_EXIT] = "exit",
	[WAIT_KERNEL] = "kernel",     [WAIT_PREEMPTED] = "preempted",
	[WAIT_RUNNABLE] = "runnable", [WAIT_OTHER] = "other",
	[WAIT_UNKNOWN] = "unknown",
};

struct sign {
	const char *prefix; /* of a function's name */
	enum wait wait;
};

/* How something is waited for. Why it is, an outer function may tell better. */
static const struct sign means[] = {
	{ "io_schedule", WAIT_IO },
	{ "folio_wait_bit", WAIT_IO },
	{ "bit_wait_io", WAIT_IO },
	{ "submit_bio_wait", WAIT_IO },
	{ "blk_", WAIT_IO },
	{ "wait_for_completion_io", WAIT_IO },
	{ "mutex_lock", WAIT_LOCK },
	{ "__mutex_lock", WAIT_LOCK },
	{ "rwsem_down", WAIT_LOCK },
	{ "down_read", WAIT_LOCK },
	{ "down_write", WAIT_LOCK },
	{ "__down", WAIT_LOCK },
	{ "percpu_rwsem_wait", WAIT_LOCK },
	{ "rt_mutex", WAIT_LOCK },
	{ "__rt_mutex", WAIT_LOCK },
	{ "schedule_preempt_disabled", WAIT_LOCK },
};

/* Calls into the kernel and what they do there. */
static const struct sign reasons[] = {
	{ "futex_", WAIT_FUTEX },
	{ "__futex_", WAIT_FUTEX },
	{ "do_futex", WAIT_FUTEX },
	{ "handle_userfault", WAIT_FAULT },
	{ "handle_mm_fault", WAIT_FAULT },
	{ "do_user_addr_fault", WAIT_FAULT },
	{ "exc_page_fault", WAIT_FAULT },
	{ "asm_exc_page_fault", WAIT_FAULT },
	{ "do_page_fault", WAIT_FAULT },
	{ "do_mem_abort", WAIT_FAULT },
	{ "hrtimer_nanosleep", WAIT_SLEEP },
	{ "do_nanosleep", WAIT_SLEEP },
	{ "common_nsleep", WAIT_SLEEP },
	{ "do_sys_poll", WAIT_POLL },
	{ "do_poll", WAIT_POLL },
	{ "do_select", WAIT_POLL },
	{ "core_sys_select", WAIT_POLL },
	{ "ep_poll", WAIT_POLL },
	{ "do_epoll_wait", WAIT_POLL },
	{ "do_epoll_pwait", WAIT_POLL },
	{ "io_cqring_wait", WAIT_IO },
	{ "read_events", WAIT_IO },
	{ "do_fsync", WAIT_IO },
	{ "vfs_fsync", WAIT_IO },
	{ "ksys_sync", WAIT_IO },
	{ "inet_csk_accept", WAIT_ACCEPT },
	{ "__sys_accept", WAIT_ACCEPT },
	{ "do_accept", WAIT_ACCEPT },
	{ "__sys_connect", WAIT_CONNECT },
	{ "vfs_read", WAIT_READ },
	{ "ksys_read", WAIT_READ },
	{ "ksys_pread", WAIT_READ },
	{ "do_readv", WAIT_READ },
	{ "do_preadv", WAIT_READ },
	{ "do_iter_read", WAIT_READ },
	{ "sock_recvmsg", WAIT_READ },
	{ "__sys_recv", WAIT_READ },
	{ "___sys_recv", WAIT_READ },
	{ "do_recvmmsg", WAIT_READ },
	{ "vfs_write", WAIT_WRITE },
	{ "ksys_write", WAIT_WRITE },
	{ "ksys_pwrite", WAIT_WRITE },
	{ "do_writev", WAIT_WRITE },
	{ "do_pwritev", WAIT_WRITE },
	{ "do_iter_write", WAIT_WRITE },
	{ "sock_sendmsg", WAIT_WRITE },
	{ "__sys_send", WAIT_WRITE },
	{ "___sys_send", WAIT_WRITE },
	{ "do_wait", WAIT_CHILD },
	{ "kernel_wait", WAIT_CHILD },
	{ "do_sigtimedwait", WAIT_SIGNAL },
	{ "sigsuspend", WAIT_SIGNAL },
	{ "__do_sys_pause", WAIT_SIGNAL },
	{ "do_signal_stop", WAIT_SIGNAL },
	{ "ptrace_stop", WAIT_SIGNAL },
	{ "do_exit", WAIT_EXIT },
	{ "do_group_exit", WAIT_EXIT },
	{ "exit_to_user_mode", WAIT_PREEMPTED },
	{ "irqentry_exit", WAIT_PREEMPTED },
	{ "preempt_schedule", WAIT_PREEMPTED },
	{ "__cond_resched", WAIT_PREEMPTED },
	{ "kthread", WAIT_KERNEL },
};

/* What the C library calls it, underscores and GI, libc left out. */
static const struct sign calls[] = {
	{ "read", WAIT_READ },
	{ "pread", WAIT_READ },
	{ "recv", WAIT_READ },
	{ "write", WAIT_WRITE },
	{ "pwrite", WAIT_WRITE },
	{ "send", WAIT_WRITE },
	{ "poll", WAIT_POLL },
	{ "ppoll", WAIT_POLL },
	{ "select", WAIT_POLL },
	{ "pselect", WAIT_POLL },
	{ "epoll_", WAIT_POLL },
	{ "nanosleep", WAIT_SLEEP },
	{ "clock_nanosleep", WAIT_SLEEP },
	{ "futex_", WAIT_FUTEX },
	{ "lll_lock_wait", WAIT_FUTEX },
	{ "pthread_", WAIT_FUTEX },
	{ "sem_", WAIT_FUTEX },
	{ "wait4", WAIT_CHILD },
	{ "waitid", WAIT_CHILD },
	{ "waitpid", WAIT_CHILD },
	{ "accept", WAIT_ACCEPT },
	{ "connect", WAIT_CONNECT },
	{ "sigsuspend", WAIT_SIGNAL },
	{ "sigtimedwait", WAIT_SIGNAL },
	{ "fsync", WAIT_IO },
	{ "fdatasync", WAIT_IO },
};

#define FIND(table, name) find_sign(table, sizeof(table) / sizeof(*(table)), name)

static enum wait find_sign(const struct sign *signs, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strncmp(name, signs[i].prefix, strlen(signs[i].prefix)))
			return signs[i].wait;
	return WAIT_NONE;
}

static enum wait of_call(const char *name)
{
	for (;;) {
		if (*name == '_')
			name++;
		else if (!strncmp(name, "GI_", 3))
			name += 3;
		else if (!strncmp(name, "libc_", 5))
			name += 5;
		else
			return FIND(calls, name);
	}
}

static enum wait together(enum wait how, enum wait why)
{
	if (how == WAIT_LOCK && why != WAIT_FUTEX)
		return WAIT_LOCK;
	if (how == WAIT_IO && why != WAIT_FAULT && why != WAIT_FUTEX)
		return WAIT_IO;
	return why;
}

static enum wait of_frame(uint64_t frame)
{
	switch (frame) {
	case OFF_FRAME_PREEMPTED:
		return WAIT_PREEMPTED;
	case OFF_FRAME_RUNNABLE:
		return WAIT_RUNNABLE;
	default:
		return WAIT_UNKNOWN;
	}
}

/* From the locations of a stack, whatever frames the view shows of it. */
static enum wait of_stack(const struct coati_profile *p, const struct coati_profile_stack *s)
{
	enum wait how = WAIT_NONE, why = WAIT_NONE;
	bool named = false;
	uint32_t i = 0;

	for (; i < s->nr; i++) {
		const struct coati_profile_location *l = &p->locations.v[s->locations[i]].pub;
		const struct coati_name *name = &l->names[l->nr_names - 1];

		if (l->flags & COATI_LOCATION_OFF_CPU)
			return of_frame(l->vaddr);
		if (!(l->flags & COATI_LOCATION_KERNEL))
			break;
		named = named || !(name->flags & COATI_NAME_SYNTHETIC);
		if (how == WAIT_NONE)
			how = FIND(means, name->function);
		why = FIND(reasons, name->function);
		if (why != WAIT_NONE)
			return together(how, why);
	}
	/* the address alone of a function that has no name is no function */
	if (!named && i < s->nr) {
		const struct coati_profile_location *l = &p->locations.v[s->locations[i]].pub;

		why = of_call(l->names[l->nr_names - 1].function);
		return why == WAIT_NONE ? WAIT_UNKNOWN : why;
	}
	return how != WAIT_NONE ? how : named ? WAIT_OTHER : WAIT_UNKNOWN;
}

const char *coati_view_wait(struct coati_view *v, const struct coati_profile_entry *e)
{
	const struct coati_profile *p = v->profile;
	uint8_t known;

	if (!p->events.v[e->event].is_off_cpu)
		return names[WAIT_NONE];
	if (!v->waits)
		v->waits = coati_view_own(v, p->stacks.len, sizeof(*v->waits));
	known = v->waits ? v->waits[e->stack] : WAIT_NONE;
	if (known == WAIT_NONE)
		known = (uint8_t)of_stack(p, &p->stacks.v[e->stack]);
	if (v->waits)
		v->waits[e->stack] = known;
	return names[known];
}
