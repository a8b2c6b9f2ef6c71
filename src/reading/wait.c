/* SPDX-License-Identifier: MIT */
/*
 * What a thread waits for, from the stack with which it left its CPU: the functions of the kernel
 * tell, from the innermost on. Where these have no names, the call of the C library that led there
 * does.
 */
#include "reading/wait.h"

#include <string.h>

#include "reading/off-cpu.h"
#include "reading/parts.h"
#include "reading/profile.h"

static const char *const names[] = {
	[COATI_WAIT_RUNNING] = "running",   [COATI_WAIT_FUTEX] = "futex",
	[COATI_WAIT_READ] = "read",	    [COATI_WAIT_WRITE] = "write",
	[COATI_WAIT_ACCEPT] = "accept",	    [COATI_WAIT_CONNECT] = "connect",
	[COATI_WAIT_POLL] = "poll",	    [COATI_WAIT_SLEEP] = "sleep",
	[COATI_WAIT_FAULT] = "fault",	    [COATI_WAIT_IO] = "io",
	[COATI_WAIT_LOCK] = "lock",	    [COATI_WAIT_CHILD] = "wait",
	[COATI_WAIT_SIGNAL] = "signal",	    [COATI_WAIT_EXIT] = "exit",
	[COATI_WAIT_KERNEL] = "kernel",	    [COATI_WAIT_PREEMPTED] = "preempted",
	[COATI_WAIT_RUNNABLE] = "runnable", [COATI_WAIT_OTHER] = "other",
	[COATI_WAIT_UNKNOWN] = "unknown",
};

struct sign {
	const char *prefix; /* of a function's name */
	enum coati_wait wait;
};

/* How something is waited for. Why it is, an outer function may tell better. */
static const struct sign means[] = {
	{ "io_schedule", COATI_WAIT_IO },
	{ "folio_wait_bit", COATI_WAIT_IO },
	{ "bit_wait_io", COATI_WAIT_IO },
	{ "submit_bio_wait", COATI_WAIT_IO },
	{ "blk_", COATI_WAIT_IO },
	{ "wait_for_completion_io", COATI_WAIT_IO },
	{ "mutex_lock", COATI_WAIT_LOCK },
	{ "__mutex_lock", COATI_WAIT_LOCK },
	{ "rwsem_down", COATI_WAIT_LOCK },
	{ "down_read", COATI_WAIT_LOCK },
	{ "down_write", COATI_WAIT_LOCK },
	{ "__down", COATI_WAIT_LOCK },
	{ "percpu_rwsem_wait", COATI_WAIT_LOCK },
	{ "rt_mutex", COATI_WAIT_LOCK },
	{ "__rt_mutex", COATI_WAIT_LOCK },
	{ "schedule_preempt_disabled", COATI_WAIT_LOCK },
};

/* Calls into the kernel and what they do there. */
static const struct sign reasons[] = {
	{ "futex_", COATI_WAIT_FUTEX },
	{ "__futex_", COATI_WAIT_FUTEX },
	{ "do_futex", COATI_WAIT_FUTEX },
	{ "handle_userfault", COATI_WAIT_FAULT },
	{ "handle_mm_fault", COATI_WAIT_FAULT },
	{ "do_user_addr_fault", COATI_WAIT_FAULT },
	{ "exc_page_fault", COATI_WAIT_FAULT },
	{ "asm_exc_page_fault", COATI_WAIT_FAULT },
	{ "do_page_fault", COATI_WAIT_FAULT },
	{ "do_mem_abort", COATI_WAIT_FAULT },
	{ "hrtimer_nanosleep", COATI_WAIT_SLEEP },
	{ "do_nanosleep", COATI_WAIT_SLEEP },
	{ "common_nsleep", COATI_WAIT_SLEEP },
	{ "do_sys_poll", COATI_WAIT_POLL },
	{ "do_poll", COATI_WAIT_POLL },
	{ "do_select", COATI_WAIT_POLL },
	{ "core_sys_select", COATI_WAIT_POLL },
	{ "ep_poll", COATI_WAIT_POLL },
	{ "do_epoll_wait", COATI_WAIT_POLL },
	{ "do_epoll_pwait", COATI_WAIT_POLL },
	{ "io_cqring_wait", COATI_WAIT_IO },
	{ "read_events", COATI_WAIT_IO },
	{ "do_fsync", COATI_WAIT_IO },
	{ "vfs_fsync", COATI_WAIT_IO },
	{ "ksys_sync", COATI_WAIT_IO },
	{ "inet_csk_accept", COATI_WAIT_ACCEPT },
	{ "__sys_accept", COATI_WAIT_ACCEPT },
	{ "do_accept", COATI_WAIT_ACCEPT },
	{ "__sys_connect", COATI_WAIT_CONNECT },
	{ "vfs_read", COATI_WAIT_READ },
	{ "ksys_read", COATI_WAIT_READ },
	{ "ksys_pread", COATI_WAIT_READ },
	{ "do_readv", COATI_WAIT_READ },
	{ "do_preadv", COATI_WAIT_READ },
	{ "do_iter_read", COATI_WAIT_READ },
	{ "sock_recvmsg", COATI_WAIT_READ },
	{ "__sys_recv", COATI_WAIT_READ },
	{ "___sys_recv", COATI_WAIT_READ },
	{ "do_recvmmsg", COATI_WAIT_READ },
	{ "vfs_write", COATI_WAIT_WRITE },
	{ "ksys_write", COATI_WAIT_WRITE },
	{ "ksys_pwrite", COATI_WAIT_WRITE },
	{ "do_writev", COATI_WAIT_WRITE },
	{ "do_pwritev", COATI_WAIT_WRITE },
	{ "do_iter_write", COATI_WAIT_WRITE },
	{ "sock_sendmsg", COATI_WAIT_WRITE },
	{ "__sys_send", COATI_WAIT_WRITE },
	{ "___sys_send", COATI_WAIT_WRITE },
	{ "do_wait", COATI_WAIT_CHILD },
	{ "kernel_wait", COATI_WAIT_CHILD },
	{ "do_sigtimedwait", COATI_WAIT_SIGNAL },
	{ "sigsuspend", COATI_WAIT_SIGNAL },
	{ "__do_sys_pause", COATI_WAIT_SIGNAL },
	{ "do_signal_stop", COATI_WAIT_SIGNAL },
	{ "ptrace_stop", COATI_WAIT_SIGNAL },
	{ "do_exit", COATI_WAIT_EXIT },
	{ "do_group_exit", COATI_WAIT_EXIT },
	{ "exit_to_user_mode", COATI_WAIT_PREEMPTED },
	{ "irqentry_exit", COATI_WAIT_PREEMPTED },
	{ "preempt_schedule", COATI_WAIT_PREEMPTED },
	{ "__cond_resched", COATI_WAIT_PREEMPTED },
	{ "kthread", COATI_WAIT_KERNEL },
};

/* What the C library calls it, underscores and GI, libc left out. */
static const struct sign calls[] = {
	{ "read", COATI_WAIT_READ },
	{ "pread", COATI_WAIT_READ },
	{ "recv", COATI_WAIT_READ },
	{ "write", COATI_WAIT_WRITE },
	{ "pwrite", COATI_WAIT_WRITE },
	{ "send", COATI_WAIT_WRITE },
	{ "poll", COATI_WAIT_POLL },
	{ "ppoll", COATI_WAIT_POLL },
	{ "select", COATI_WAIT_POLL },
	{ "pselect", COATI_WAIT_POLL },
	{ "epoll_", COATI_WAIT_POLL },
	{ "nanosleep", COATI_WAIT_SLEEP },
	{ "clock_nanosleep", COATI_WAIT_SLEEP },
	{ "futex_", COATI_WAIT_FUTEX },
	{ "lll_lock_wait", COATI_WAIT_FUTEX },
	{ "pthread_", COATI_WAIT_FUTEX },
	{ "sem_", COATI_WAIT_FUTEX },
	{ "wait4", COATI_WAIT_CHILD },
	{ "waitid", COATI_WAIT_CHILD },
	{ "waitpid", COATI_WAIT_CHILD },
	{ "accept", COATI_WAIT_ACCEPT },
	{ "connect", COATI_WAIT_CONNECT },
	{ "sigsuspend", COATI_WAIT_SIGNAL },
	{ "sigtimedwait", COATI_WAIT_SIGNAL },
	{ "fsync", COATI_WAIT_IO },
	{ "fdatasync", COATI_WAIT_IO },
};

/* How a thread leaves its CPU: the same for all of them, whatever they wait for. */
static const char *const scheduler[] = {
	"schedule",	      "__schedule",  "io_schedule",	   "preempt_schedule",
	"__preempt_schedule", "__switch_to", "finish_task_switch", "__cond_resched",
};

bool coati_is_scheduler(const char *name)
{
	for (size_t i = 0; i < sizeof(scheduler) / sizeof(scheduler[0]); i++)
		if (!strncmp(name, scheduler[i], strlen(scheduler[i])))
			return true;
	return false;
}

#define FIND(table, name) find_sign(table, sizeof(table) / sizeof(*(table)), name)

static enum coati_wait find_sign(const struct sign *signs, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strncmp(name, signs[i].prefix, strlen(signs[i].prefix)))
			return signs[i].wait;
	return COATI_WAIT_RUNNING;
}

static enum coati_wait of_call(const char *name)
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

static enum coati_wait together(enum coati_wait how, enum coati_wait why)
{
	if (how == COATI_WAIT_LOCK && why != COATI_WAIT_FUTEX)
		return COATI_WAIT_LOCK;
	if (how == COATI_WAIT_IO && why != COATI_WAIT_FAULT && why != COATI_WAIT_FUTEX)
		return COATI_WAIT_IO;
	return why;
}

static enum coati_wait of_frame(uint64_t frame)
{
	switch (frame) {
	case OFF_FRAME_PREEMPTED:
		return COATI_WAIT_PREEMPTED;
	case OFF_FRAME_RUNNABLE:
		return COATI_WAIT_RUNNABLE;
	default:
		return COATI_WAIT_UNKNOWN;
	}
}

/* From the locations of a stack, whatever frames a view shows of it. */
static enum coati_wait of_stack(const struct coati_profile *p, const struct coati_profile_stack *s)
{
	enum coati_wait how = COATI_WAIT_RUNNING, why = COATI_WAIT_RUNNING;
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
		if (how == COATI_WAIT_RUNNING)
			how = FIND(means, name->function);
		why = FIND(reasons, name->function);
		if (why != COATI_WAIT_RUNNING)
			return together(how, why);
	}
	/* the address alone of a function that has no name is no function */
	if (!named && i < s->nr) {
		const struct coati_profile_location *l = &p->locations.v[s->locations[i]].pub;

		why = of_call(l->names[l->nr_names - 1].function);
		return why == COATI_WAIT_RUNNING ? COATI_WAIT_UNKNOWN : why;
	}
	return how != COATI_WAIT_RUNNING ? how : named ? COATI_WAIT_OTHER : COATI_WAIT_UNKNOWN;
}

const char *coati_wait_name(enum coati_wait wait)
{
	return (unsigned int)wait < COATI_WAIT_COUNT ? names[wait] : NULL;
}

/* Room for an answer about each stack, also those that came since. */
static uint8_t *find_answer(struct coati_profile *p, uint32_t stack)
{
	while (p->waits.len <= stack) {
		uint8_t *slot = ARRAY_ADD(&p->waits);

		if (!slot)
			return NULL;
		*slot = COATI_WAIT_RUNNING;
	}
	return &p->waits.v[stack];
}

enum coati_wait coati_profile_stack_wait(struct coati_profile *p, uint32_t stack)
{
	uint8_t *answer;
	enum coati_wait wait;

	if (stack >= p->stacks.len)
		return COATI_WAIT_UNKNOWN;
	answer = find_answer(p, stack);
	if (answer && *answer != COATI_WAIT_RUNNING)
		return (enum coati_wait) * answer;
	wait = of_stack(p, &p->stacks.v[stack]);
	if (answer)
		*answer = (uint8_t)wait;
	return wait;
}
