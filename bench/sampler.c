/* SPDX-License-Identifier: MIT */
/*
 * What one sample costs, signal included: pairs of "OURS PEER" in nanoseconds per signal that the thread sends itself at a given depth of calls. Ours is the sampler's
 * handler, by a signal that looks like one of its timer's; peer: a handler that does nothing.
 *
 *	bench-sampler pointers|tables DEPTH PAIRS
 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "bench.h"
#include "live/sampler/sampler.h"

#define ROUNDS 200u

static pid_t pid;
static long tid;
static volatile int sink;

static void send_signal(int sig)
{
	siginfo_t info = { .si_signo = sig, .si_code = SI_TIMER };

	info.si_value.sival_ptr = &coati_sampler_shared;
	if (syscall(SYS_rt_tgsigqueueinfo, (long)pid, tid, (long)sig, &info) < 0)
		abort();
}

static void ours(void *ctx)
{
	(void)ctx;
	send_signal(SIGPROF);
}

static void empty(void *ctx)
{
	(void)ctx;
	send_signal(SIGUSR1);
}

static void do_nothing(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
}

static __attribute__((noinline)) void down(int depth, unsigned int pairs)
{
	if (depth > 0)
		down(depth - 1, pairs);
	else
		bench_pairs(pairs, ROUNDS, ours, empty, NULL);
	sink = depth; /* or it were a jump */
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = do_nothing,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct coati_sampler_opts o = { .size = sizeof(o),
					.rate_hz = 1,
					.engine = COATI_SAMPLER_TIMER };
	struct coati_sampler_stats stats;
	struct coati_error err;

	if (argc < 4)
		return 2;
	o.stacks = argv[1][0] == 't' ? COATI_SAMPLER_STACKS_TABLES : COATI_SAMPLER_STACKS_POINTERS;
	pid = getpid();
	tid = syscall(SYS_gettid);
	sigfillset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	if (coati_sampler_start(&o, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	down(atoi(argv[2]), (unsigned int)atoi(argv[3]));
	if (coati_sampler_stop(-1, &stats, &err) < 0 || !stats.samples)
		return 1;
	fprintf(stderr, "%llu samples, %llu lost\n", (unsigned long long)stats.samples,
		(unsigned long long)stats.lost);
	return 0;
}
