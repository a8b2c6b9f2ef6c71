/* SPDX-License-Identifier: MIT */
/* see record/signals.h */
#include "cli/record/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include <coati/capture.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGCHLD };
#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t stops, stop_signal, stop_terminal, user, child;
/* Handlers run on whatever thread; the capture is set before they matter and cleared before it
 * goes. */
static _Atomic(struct coati_capture *) waiting;

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct coati_capture *cap = atomic_load_explicit(&waiting, memory_order_relaxed);

	if (number == SIGCHLD) {
		child = 1;
	} else if (number == SIGUSR2) {
		user = 1;
	} else {
		stop_signal = number;
		stop_terminal = info->si_code == SI_KERNEL;
		stops = stops + 1;
	}
	if (cap)
		coati_capture_wake(cap);
}

static void catch_one(int number)
{
	struct sigaction old, act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	bool ignored = !sigaction(number, NULL, &old) && old.sa_handler == SIG_IGN;

	sigemptyset(&act.sa_mask);
	if (!ignored || number == SIGCHLD)
		sigaction(number, &act, NULL);
}

void coati_record_signals_expect(void)
{
	catch_one(SIGUSR2);
}

void coati_record_signals_catch(void)
{
	for (size_t i = 0; i < NR_SIGNALS; i++)
		catch_one(signals[i]);
}

void coati_record_signals_wake(struct coati_capture *cap)
{
	atomic_store_explicit(&waiting, cap, memory_order_relaxed);
}

int coati_record_stops(void)
{
	return stops;
}

int coati_record_stop_signal(void)
{
	return stop_signal;
}

bool coati_record_stop_from_terminal(void)
{
	return stop_terminal;
}

bool coati_record_take_user(void)
{
	bool was = user;

	user = 0;
	return was;
}

bool coati_record_take_child(void)
{
	bool was = child;

	child = 0;
	return was;
}
