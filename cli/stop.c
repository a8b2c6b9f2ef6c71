/* SPDX-License-Identifier: MIT */
/* The signal handler and what it remembers. */
#include "cli/stop.h"

#include <stddef.h>

static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP };
#define NR_STOP (sizeof(stop_signals) / sizeof(stop_signals[0]))

static volatile sig_atomic_t stop_count, stop_last, stop_terminal;

static void on_stop(int number, siginfo_t *info, void *context)
{
	stop_last = number;
	stop_terminal = info->si_code == SI_KERNEL;
	stop_count = stop_count + 1;
}

void coati_stop_catch(void)
{
	struct sigaction old, act = { .sa_sigaction = on_stop, .sa_flags = SA_SIGINFO };

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < NR_STOP; i++) {
		if (!sigaction(stop_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(stop_signals[i], &act, NULL);
	}
}

int coati_stop_count(void)
{
	return stop_count;
}

int coati_stop_signal(void)
{
	return stop_last;
}

bool coati_stop_from_terminal(void)
{
	return stop_terminal;
}

void coati_stop_mask(sigset_t *ret)
{
	sigemptyset(ret);
	for (size_t i = 0; i < NR_STOP; i++)
		sigaddset(ret, stop_signals[i]);
}
