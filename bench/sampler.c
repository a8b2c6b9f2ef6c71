/* SPDX-License-Identifier: MIT */
/*
 * What a sample costs.
 *
 *	bench-sampler pointers|tables|gperftools DEPTH PAIRS
 *		signal included: pairs of "OURS PEER" in nanoseconds per signal that the thread sends itself at that depth of calls. Ours is the handler of the sampler, by a signal
 *		that looks like one of its timer's, or the one of gperftools; peer: a handler that does nothing
 *	bench-sampler overhead coati|gperftools RATE ROUNDS
 *		in a program that computes: CPU nanoseconds of the process for each sample, the thread that folds included, over the same work without samples
 *	bench-sampler rate RATE MILLISECONDS
 *		samples that were taken for each second of CPU time
 *
 * Without gperftools it exits with 77.
 */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "bench.h"
#include "live/sampler/sampler.h"

#define ROUNDS	   200u
#define ROUNDS_MAX 1000u

static pid_t pid;
static long tid;
static volatile uint64_t sink;

/* ---- gperftools ---- */

/* As in its <gperftools/profiler.h>. */
struct peer_state {
	int enabled;
	time_t start_time;
	char profile_name[1024];
	int samples_gathered;
};

static struct {
	int (*start)(const char *path);
	void (*stop)(void);
	void (*state)(struct peer_state *ret);
} peer;

/* It reads its rate when it is loaded. */
static void load_peer(const char *rate)
{
	void *library;

	setenv("CPUPROFILE_FREQUENCY", rate, 1);
	library = dlopen("libprofiler.so.0", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	*(void **)&peer.start = dlsym(library, "ProfilerStart");
	*(void **)&peer.stop = dlsym(library, "ProfilerStop");
	*(void **)&peer.state = dlsym(library, "ProfilerGetCurrentState");
	if (!peer.start || !peer.stop || !peer.state)
		exit(77);
}

/* ---- one sample ---- */

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
	sink = (uint64_t)depth; /* or it were a jump */
}

static void start(const struct coati_sampler_opts *o)
{
	struct coati_error err;

	if (coati_sampler_start(o, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static uint64_t stop(struct coati_sampler_stats *ret)
{
	if (coati_sampler_stop(-1, ret, NULL) < 0)
		exit(1);
	return ret->samples;
}

static int cost_of_one(const char *stacks, int depth, unsigned int pairs)
{
	struct sigaction act = { .sa_sigaction = do_nothing,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct coati_sampler_opts o = { .size = sizeof(o),
					.rate_hz = 1,
					.engine = COATI_SAMPLER_TIMER,
					.stacks = stacks[0] == 't'
							  ? COATI_SAMPLER_STACKS_TABLES
							  : COATI_SAMPLER_STACKS_POINTERS };
	struct coati_sampler_stats stats;
	bool is_peer = stacks[0] == 'g';

	sigfillset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	if (is_peer) {
		load_peer("1");
		peer.start("/dev/null");
		down(depth, pairs);
		peer.stop();
		return 0;
	}
	start(&o);
	down(depth, pairs);
	if (!stop(&stats))
		return 1;
	fprintf(stderr, "%llu samples, %llu lost\n", (unsigned long long)stats.samples,
		(unsigned long long)stats.lost);
	return 0;
}

/* ---- a program that computes ---- */

static uint64_t used_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Some hundred milliseconds. */
static uint64_t work(void)
{
	uint64_t begin = used_ns();

	for (uint64_t i = 0; i < 200000000; i++)
		sink = i;
	return used_ns() - begin;
}

static uint64_t samples_of_peer(void)
{
	struct peer_state state = { .enabled = 0 };

	peer.state(&state);
	return (uint64_t)state.samples_gathered;
}

static double one_round(const char *who, uint32_t rate)
{
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = rate };
	struct coati_sampler_stats stats;
	uint64_t without = work(), with, samples;

	if (who[0] == 'g') {
		peer.start("/dev/null");
		with = work();
		samples = samples_of_peer();
		peer.stop();
	} else {
		start(&o);
		with = work();
		samples = stop(&stats);
	}
	return samples ? ((double)with - (double)without) / (double)samples : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int overhead(const char *who, const char *rate, unsigned int rounds)
{
	static double costs[ROUNDS_MAX];

	if (!rounds || rounds > ROUNDS_MAX)
		return 2;
	if (who[0] == 'g')
		load_peer(rate);
	work();
	for (unsigned int i = 0; i < rounds; i++)
		costs[i] = one_round(who, (uint32_t)atoi(rate));
	qsort(costs, rounds, sizeof(costs[0]), by_value);
	printf("%.1f\n", costs[rounds / 2]);
	return 0;
}

static int delivered(uint32_t rate, uint64_t milliseconds)
{
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = rate };
	struct coati_sampler_stats stats;
	uint64_t begin, used;

	start(&o);
	begin = used_ns();
	do {
		for (uint64_t i = 0; i < 1000000; i++)
			sink = i;
		used = used_ns() - begin;
	} while (used < milliseconds * 1000000);
	stop(&stats);
	printf("%.1f\n", (double)stats.samples * 1e9 / (double)used);
	return 0;
}

int main(int argc, char **argv)
{
	pid = getpid();
	tid = syscall(SYS_gettid);
	if (argc == 5 && !strcmp(argv[1], "overhead"))
		return overhead(argv[2], argv[3], (unsigned int)atoi(argv[4]));
	if (argc == 4 && !strcmp(argv[1], "rate"))
		return delivered((uint32_t)atoi(argv[2]), (uint64_t)atoi(argv[3]));
	if (argc != 4)
		return 2;
	return cost_of_one(argv[1], atoi(argv[2]), (unsigned int)atoi(argv[3]));
}
