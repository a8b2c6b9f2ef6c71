/* SPDX-License-Identifier: MIT */
/*
 * What a sample costs.
 *
 *	bench-sampler pointers|tables|gperftools DEPTH PAIRS
 *		signal included: pairs of "OURS PEER" in nanoseconds per signal that the thread
 *		sends itself at that depth of calls. Ours is the handler of the sampler, by a signal
 *		that looks like one of its timer's, or the one of gperftools; peer: a handler that
 *		does nothing
 *	bench-sampler slices RATE ROUNDS
 *		a program that computes at a depth of 16 calls, for slices of time with the same
 *		work: without a sampler, with ours, with that of gperftools, with a bare timer,
 *		without. A line for each round of them,
 *		"BEFORE OURS PEER AFTER OUR_SAMPLES PEER_SAMPLES BARE", CPU nanoseconds of the
 *		thread that computes. No gperftools: PEER is 0.
 *		BARE is an event of the kernel at that rate that has no handler: what the interrupts
 *		alone cost on this machine; 0 where it may not be opened
 *	bench-sampler own RATE MILLISECONDS
 *		CPU time of the sampler's own thread: "PART EACH", of the program's CPU time, and
 *		nanoseconds for each sample
 *	bench-sampler rate RATE MILLISECONDS
 *		samples that were taken for each second of CPU time
 *
 * Without gperftools the first exits with 77.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "bench.h"
#include "live/sampler/sampler.h"

#define ROUNDS 200u
#define DEPTH  16
#define TURNS  7000000u /* of a slice: some 20 ms */
#define TABLE  4096u

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

/* It reads its rate when it is loaded. False when it is not here. */
static bool load_peer(const char *rate)
{
	void *library;

	setenv("CPUPROFILE_FREQUENCY", rate, 1);
	library = dlopen("libprofiler.so.0", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return false;
	}
	*(void **)&peer.start = dlsym(library, "ProfilerStart");
	*(void **)&peer.stop = dlsym(library, "ProfilerStop");
	*(void **)&peer.state = dlsym(library, "ProfilerGetCurrentState");
	return peer.start && peer.stop && peer.state;
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
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	bool is_peer = stacks[0] == 'g';

	sigfillset(&act.sa_mask);
	sigaction(SIGUSR1, &act, NULL);
	if (is_peer) {
		if (!load_peer("1"))
			return 77;
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
	return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t thread_ns(void)
{
	return bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Always the same, in the nearest cache, which a handler may take away. No system call. */
static __attribute__((noinline)) void compute(int depth)
{
	static uint64_t table[TABLE];
	uint64_t x = 1;

	if (depth > 0) {
		compute(depth - 1);
	} else {
		for (uint32_t i = 0; i < TURNS; i++) {
			x = (x ^ table[x % TABLE]) * 0x9e3779b97f4a7c15u + i;
			table[i % TABLE] = x;
		}
	}
	sink = x; /* or it were a jump */
}

static uint64_t slice(void)
{
	uint64_t begin = thread_ns();

	compute(DEPTH);
	return thread_ns() - begin;
}

static uint64_t our_slice(uint32_t rate, uint64_t *ret_samples)
{
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = rate };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t used;

	start(&o);
	used = slice();
	*ret_samples = stop(&stats);
	return used;
}

static uint64_t peer_slice(uint64_t *ret_samples)
{
	struct peer_state state = { .enabled = 0 };
	uint64_t used;

	peer.start("/dev/null");
	used = slice();
	peer.state(&state);
	peer.stop();
	*ret_samples = (uint64_t)state.samples_gathered;
	return used;
}

static uint64_t bare_slice(uint32_t rate)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = 1000000000u / rate,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t used;

	if (fd < 0)
		return 0;
	used = slice();
	close(fd);
	return used;
}

/* Whoever comes first in a round comes last in the next one. */
static int slices(const char *rate, unsigned int rounds)
{
	bool has_peer = load_peer(rate);
	uint32_t hz = (uint32_t)atoi(rate);

	slice();
	for (unsigned int i = 0; i < rounds; i++) {
		uint64_t before = slice(), ours_ns = 0, peer_ns = 0, nr_ours = 0, nr_peer = 0;
		uint64_t bare_ns;

		if (i % 2)
			ours_ns = our_slice(hz, &nr_ours);
		if (has_peer)
			peer_ns = peer_slice(&nr_peer);
		bare_ns = bare_slice(hz);
		if (i % 2 == 0)
			ours_ns = our_slice(hz, &nr_ours);
		printf("%llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)before,
		       (unsigned long long)ours_ns, (unsigned long long)peer_ns,
		       (unsigned long long)slice(), (unsigned long long)nr_ours,
		       (unsigned long long)nr_peer, (unsigned long long)bare_ns);
	}
	return 0;
}

static int own_thread(uint32_t rate, uint64_t milliseconds)
{
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = rate };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	uint64_t begin, all, own;

	start(&o);
	begin = thread_ns();
	all = used_ns();
	while (thread_ns() - begin < milliseconds * 1000000)
		compute(DEPTH);
	stop(&stats); /* what it still had to fold is its work, too */
	begin = thread_ns() - begin;
	own = used_ns() - all - begin;
	printf("%.6f %.1f\n", (double)own / (double)begin,
	       (double)own / (double)(stats.samples ? stats.samples : 1));
	return 0;
}

static int delivered(uint32_t rate, uint64_t milliseconds)
{
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = rate };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
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
	if (argc == 4 && !strcmp(argv[1], "slices"))
		return slices(argv[2], (unsigned int)atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "own"))
		return own_thread((uint32_t)atoi(argv[2]), (uint64_t)atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "rate"))
		return delivered((uint32_t)atoi(argv[2]), (uint64_t)atoi(argv[3]));
	if (argc != 4)
		return 2;
	return cost_of_one(argv[1], atoi(argv[2]), (unsigned int)atoi(argv[3]));
}
