/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of a flight recorder while a thread writes. The writer has a CPU of its own and takes
 * the time of every event with the cycle counter; between two events it works for a while. Windows
 * with a snapshot and windows as long without one take turns, so that what the host takes away hits
 * both.
 *
 *	bench-snapshot NR_ROUNDS WINDOWS
 *
 * Prints a line for each round of so many windows of both kinds:
 *
 *	SNAPSHOT_NS CPU_NS BYTES WITH_NS WITHOUT_NS WITH_MAX_NS WITHOUT_MAX_NS EVENTS
 *
 * median time of a snapshot into a new file in memory, and of the CPU for it; its size; what all
 * but one in a thousand events took at most, in windows with a snapshot and in those without; the
 * longest of each; events that the smaller of both is made of. Exit status 77 when this machine has
 * one CPU only.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/live.h>

#include "bench.h"

#define MEMORY	    (UINT64_C(13) << 20) /* holds about 10 MiB of events */
#define FILL_NS	    UINT64_C(3000000000)
#define WORK	    60 /* turns between two events: some 10 million bytes a second */
#define BUCKETS	    (1u << 18)
#define WINDOWS_MAX 1000u

enum { IDLE = 0, WITH, WITHOUT, STOP };

/* How long events took, in cycles; what is longer than the last bucket lies in it. */
struct spread {
	uint32_t buckets[BUCKETS];
	uint64_t longest, count;
};

static struct coati_site site = COATI_SITE_FOR("", COATI_SITE_REGION, "", "work", NULL, 0, 0);
static struct spread spreads[STOP];
static _Atomic int state;
static struct coati_live_clock live_clock;

static void fail(const char *what)
{
	fprintf(stderr, "bench-snapshot: %s\n", what);
	exit(1);
}

/* ---- the writer ---- */

static void timed(struct spread *s, void (*emit)(struct coati_site *))
{
	uint64_t start = bench_cycles(), took;

	emit(&site);
	took = bench_cycles() - start;
	s->buckets[took < BUCKETS ? took : BUCKETS - 1]++;
	s->count++;
	if (took > s->longest)
		s->longest = took;
	for (int i = 0; i < WORK; i++)
		__asm__ volatile("" ::: "memory");
}

static void *write_events(void *unused)
{
	int now;

	bench_pin(1);
	while ((now = atomic_load_explicit(&state, memory_order_relaxed)) != STOP) {
		timed(&spreads[now], coati_region_begin);
		timed(&spreads[now], coati_region_end);
	}
	return unused;
}

/* ---- one round ---- */

static uint64_t as_ns(uint64_t count)
{
	return count * live_clock.mult >> live_clock.shift;
}

/* What all but one in a thousand took at most. */
static uint64_t p999(const struct spread *s)
{
	uint64_t over = s->count / 1000;
	uint32_t i = BUCKETS - 1;

	for (uint64_t seen = s->buckets[i]; seen <= over && i > 0; seen += s->buckets[i])
		i--;
	return as_ns(i);
}

struct cost {
	uint64_t wall_ns, cpu_ns, bytes;
};

static struct cost take_snapshot(struct coati_recorder *rec)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	uint64_t start = bench_now_ns(), start_cpu = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct cost cost;

	if (fd < 0 || coati_recorder_snapshot(rec, fd, NULL) < 0)
		fail("no snapshot");
	cost = (struct cost){ bench_now_ns() - start,
			      bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_cpu,
			      (uint64_t)lseek(fd, 0, SEEK_END) };
	close(fd);
	return cost;
}

static void wait_for(uint64_t ns)
{
	uint64_t end = bench_now_ns() + ns;

	while (bench_now_ns() < end)
		usleep(500);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void run_round(struct coati_recorder *rec, unsigned int windows)
{
	static uint64_t walls[WINDOWS_MAX], cpus[WINDOWS_MAX];
	const struct spread *with = &spreads[WITH], *without = &spreads[WITHOUT];
	struct cost cost = { 0 };

	memset(&spreads[WITH], 0, 2 * sizeof(spreads[0]));
	for (unsigned int i = 0; i < windows; i++) {
		atomic_store(&state, WITH);
		cost = take_snapshot(rec);
		atomic_store(&state, WITHOUT);
		wait_for(cost.wall_ns);
		atomic_store(&state, IDLE);
		wait_for(cost.wall_ns * 2); /* what was overwritten is written again */
		walls[i] = cost.wall_ns;
		cpus[i] = cost.cpu_ns;
	}
	qsort(walls, windows, sizeof(walls[0]), by_value);
	qsort(cpus, windows, sizeof(cpus[0]), by_value);
	printf("%llu %llu %llu ", (unsigned long long)walls[windows / 2],
	       (unsigned long long)cpus[windows / 2], (unsigned long long)cost.bytes);
	printf("%llu %llu %llu %llu %llu\n", (unsigned long long)p999(with),
	       (unsigned long long)p999(without), (unsigned long long)as_ns(with->longest),
	       (unsigned long long)as_ns(without->longest),
	       (unsigned long long)(with->count < without->count ? with->count : without->count));
}

int main(int argc, char **argv)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .directory = "",
					    .bytes = MEMORY };
	struct coati_recorder *rec = NULL;
	struct coati_error err;
	unsigned int windows = argc == 3 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	pthread_t writer;

	if (!windows || windows > WINDOWS_MAX)
		return 2;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "the writer needs a CPU of its own\n");
		return 77;
	}
	coati_live_clock_init(&live_clock, 0);
	if (!live_clock.source) {
		fprintf(stderr, "the cycle counter cannot be used here\n");
		return 77;
	}
	if (coati_recorder_start(&opts, &rec, &err) < 0)
		fail(err.text);
	if (pthread_create(&writer, NULL, write_events, NULL))
		fail("no thread");
	bench_pin(0);
	wait_for(FILL_NS);
	for (unsigned long i = strtoul(argv[1], NULL, 10); i > 0; i--)
		run_round(rec, windows);
	atomic_store(&state, STOP);
	pthread_join(writer, NULL);
	return coati_recorder_stop(&rec, NULL) < 0;
}
