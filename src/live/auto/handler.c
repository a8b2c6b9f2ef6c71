/* SPDX-License-Identifier: MIT */
/* What may be called in a signal handler: telling the thread what is wanted, and waiting for it. */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/auto/auto.h"

struct auto_words coati_auto_words;

uint32_t coati_auto_ask(uint32_t wants)
{
	struct auto_words *w = &coati_auto_words;
	uint32_t ticket;

	/* pairs with: acquire in the thread's work() */
	atomic_fetch_or_explicit(&w->wants, wants, memory_order_release);
	ticket = atomic_fetch_add_explicit(&w->asked, 1, memory_order_release) + 1;
	syscall(SYS_futex, &w->asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return ticket;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool coati_auto_wait(uint32_t ticket, uint32_t seconds)
{
	struct auto_words *w = &coati_auto_words;
	uint64_t until = now_ns() + seconds * UINT64_C(1000000000);
	const struct timespec step = { .tv_sec = 1 };
	int keep = errno;
	bool done;

	for (;;) {
		/* pairs with: release in the thread's work() */
		uint32_t seen = atomic_load_explicit(&w->done, memory_order_acquire);

		done = (int32_t)(seen - ticket) >= 0 ||
		       atomic_load_explicit(&w->ended, memory_order_acquire);
		if (done || now_ns() >= until)
			break;
		syscall(SYS_futex, &w->done, FUTEX_WAIT_PRIVATE, seen, &step, NULL, 0);
	}
	errno = keep;
	return done;
}

void coati_auto_handler(int sig)
{
	int keep = errno;

	(void)sig;
	/* not the child of a vfork() */
	if (getpid() == atomic_load_explicit(&coati_auto_words.pid, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&coati_auto_words.signals, 1, memory_order_relaxed);
		coati_auto_ask(0);
	}
	errno = keep;
}
