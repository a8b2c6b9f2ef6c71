/* SPDX-License-Identifier: MIT */
/*
 * The lock of the tracer: a futex word, 0 free, 1 held, 2 held and waited for. Safe: signals are
 * blocked while it is held, but those that the CPU itself raises (blocking them ends the program);
 * a handler of one of these finds that its thread holds the lock and gives up.
 */
#include "live/tracer/tracer.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(sig) (UINT64_C(1) << ((sig)-1))

#define RAISED (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))

static TRACER_TLS volatile sig_atomic_t holds;

bool coati_tracer_holds(void)
{
	return holds;
}

static void wait(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void coati_tracer_lock(struct tracer_guard *ret)
{
	uint64_t block = ~RAISED;
	uint32_t free = 0;

	syscall(SYS_rt_sigprocmask, (long)SIG_BLOCK, &block, &ret->signals, sizeof(block));
	holds = 1;
	atomic_signal_fence(memory_order_seq_cst);
	/* pairs with: release in coati_tracer_unlock() */
	if (atomic_compare_exchange_strong_explicit(&coati_tracer.lock, &free, 1,
						    memory_order_acquire, memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(&coati_tracer.lock, 2, memory_order_acquire))
		wait(&coati_tracer.lock, 2);
}

void coati_tracer_unlock(const struct tracer_guard *guard)
{
	/* pairs with: acquire in coati_tracer_lock() */
	if (atomic_exchange_explicit(&coati_tracer.lock, 0, memory_order_release) == 2)
		syscall(SYS_futex, &coati_tracer.lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	atomic_signal_fence(memory_order_seq_cst);
	holds = 0;
	syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &guard->signals, NULL,
		sizeof(guard->signals));
}

void coati_tracer_lock_reset(void)
{
	atomic_store_explicit(&coati_tracer.lock, 0, memory_order_relaxed);
	holds = 0;
}

void coati_tracer_wake(_Atomic uint32_t *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void coati_tracer_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec time = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &time : NULL, NULL, 0);
}
