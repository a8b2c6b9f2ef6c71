/* SPDX-License-Identifier: MIT */
/* The signal handler that writes down the stack of its thread, where it is asked for. */
#include "live/profiles/threads.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/labels.h"

_Atomic(struct thread_slot *) coati_thread_slots;
_Atomic bool coati_threads_by_tables;

static void fill(struct thread_slot *slot, const void *context)
{
	struct sampler_limits limits = { slot->frames, THREADS_DEPTH, true, 0 };
	struct sampler_reading reading = sampler_objects_enter();

	if (atomic_load_explicit(&coati_threads_by_tables, memory_order_relaxed) && reading.objects)
		slot->nr_frames = coati_sampler_walk_tables(context, reading.objects,
							    &slot->scratch, &limits, &slot->cut);
	else
		slot->nr_frames =
			coati_sampler_walk(context, slot->frames, THREADS_DEPTH, true, &slot->cut);
	sampler_objects_leave(&reading);
	coati_labels_read(coati_sampler_sp(context), &slot->labels);
}

static void write_down(uint64_t ticket, const void *context)
{
	/* pairs with: release in threads.c, before the first signal */
	struct thread_slot *slots = atomic_load_explicit(&coati_thread_slots, memory_order_acquire);
	struct thread_slot *slot = slots ? &slots[ticket % THREADS_SLOTS] : NULL;
	uint64_t asked = ticket << 2 | SLOT_ASKED;

	/* pairs with: release of who asked */
	if (!slot || !atomic_compare_exchange_strong_explicit(
			     &slot->state, &asked, ticket << 2 | SLOT_WRITING, memory_order_acquire,
			     memory_order_relaxed))
		return; /* too late: no thread waits */
	fill(slot, context);
	/* pairs with: acquire of who waits */
	atomic_store_explicit(&slot->state, ticket << 2 | SLOT_WRITTEN, memory_order_release);
}

void coati_threads_handler(int sig, siginfo_t *info, void *context)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	int keep = errno;

	if (info->si_code == SI_QUEUE && info->si_pid == getpid() &&
	    value >> 48 == THREADS_COOKIE) {
		write_down(THREADS_TICKET(value), context);
	} else { /* another sender's signal, which would have found no handler */
		sigaction(sig, &usual, NULL);
		syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), (long)sig);
	}
	errno = keep;
}
