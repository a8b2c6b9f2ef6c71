/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait in known ways and measure it themselves: sleep, a futex, a pipe, a page fault
 * that somebody else must resolve. One line a thread on stdout: name start_ns end_ns on_ns
 * waited_ns delay_ns; start and end by CLOCK_MONOTONIC, on is how long it had a CPU, waited how
 * long it had none while it waited, delay how long it was ready and had none, by /proc. A kind that
 * is not possible here has no line. wait-known ROUNDS MICROSECONDS
 *
 * On a CPU by a counter of the kernel's (task-clock), which runs from when a thread gets the CPU
 * until it loses it. The thread's CPU time is less on a virtual machine: what the host took is left
 * out of it (10 ms and more at a time), though the thread did not leave.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int rounds = 30;
static long pause_us = 20000;
static int fds[2];
static int faults = -1;
static char *pages;
static atomic_uint word;
static volatile uint64_t sink;

struct waiter {
	const char *name;
	void (*wait)(int round);
	uint64_t start, end, on, waited, delay;
};

struct instant {
	uint64_t wall, on;
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_task_clock(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		perror("task-clock");
		exit(1);
	}
	return fd;
}

/* Both clocks at once: again when something came between. */
static struct instant look(int task_clock)
{
	struct instant i = { 0 };

	for (int tries = 0; tries < 1000; tries++) {
		i.wall = now(CLOCK_MONOTONIC);
		if (read(task_clock, &i.on, sizeof(i.on)) != sizeof(i.on))
			exit(1);
		if (now(CLOCK_MONOTONIC) - i.wall < 100000)
			break;
	}
	return i;
}

static void nap(void)
{
	struct timespec t = { pause_us / 1000000, pause_us % 1000000 * 1000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void work(void)
{
	for (int i = 0; i < 200000; i++)
		sink = sink * 3 + 1;
}

static uint64_t run_delay(void)
{
	unsigned long long run = 0, delay = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f && fscanf(f, "%llu %llu", &run, &delay) != 2)
		delay = 0;
	if (f)
		fclose(f);
	return delay;
}

__attribute__((noinline)) static void wait_in_sleep(int round)
{
	nap();
	sink += (uint64_t)round;
}

__attribute__((noinline)) static void wait_for_futex(int round)
{
	while (atomic_load_explicit(&word, memory_order_acquire) <= (unsigned int)round)
		syscall(SYS_futex, &word, FUTEX_WAIT, round, NULL, NULL, 0);
}

__attribute__((noinline)) static void wait_for_pipe(int round)
{
	char c = 0;

	if (read(fds[0], &c, 1) == 1)
		sink += (uint64_t)(round + c);
}

__attribute__((noinline)) static void wait_for_page(int round)
{
	sink += (uint64_t) * (volatile char *)(pages + (size_t)round * 4096);
}

static void *run(void *ctx)
{
	struct waiter *w = ctx;
	int task_clock = open_task_clock();
	struct instant first, last;
	uint64_t delay;

	prctl(PR_SET_NAME, w->name);
	delay = run_delay();
	first = last = look(task_clock);
	for (int i = 0; i < rounds; i++) {
		struct instant before = look(task_clock);

		w->wait(i);
		last = look(task_clock);
		w->waited += last.wall - before.wall - (last.on - before.on);
		work();
	}
	last = look(task_clock);
	w->start = first.wall;
	w->end = last.wall;
	w->on = last.on - first.on;
	w->delay = run_delay() - delay;
	close(task_clock);
	return NULL;
}

/* Wakes the one who waits for the futex and the one at the pipe. */
static void *run_waker(void *unused)
{
	prctl(PR_SET_NAME, "waker");
	for (int i = 0; i < rounds; i++) {
		nap();
		atomic_store_explicit(&word, (unsigned int)i + 1, memory_order_release);
		syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
		if (write(fds[1], "x", 1) != 1)
			return NULL;
	}
	return unused;
}

/* Resolves each fault after a while. */
static void *run_pager(void *unused)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct uffd_msg m;

	prctl(PR_SET_NAME, "pager");
	for (int i = 0; i < rounds; i++) {
		struct uffdio_copy copy = { .src = (uintptr_t)page, .len = sizeof(page) };

		if (read(faults, &m, sizeof(m)) != sizeof(m))
			return NULL;
		nap();
		copy.dst = m.arg.pagefault.address & ~UINT64_C(4095);
		if (ioctl(faults, UFFDIO_COPY, &copy) < 0)
			return NULL;
	}
	return unused;
}

static int open_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	size_t size = (size_t)rounds * 4096;

	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (faults < 0 || pages == MAP_FAILED || ioctl(faults, UFFDIO_API, &api) < 0)
		return -1;
	reg.range.start = (uintptr_t)pages;
	reg.range.len = size;
	return ioctl(faults, UFFDIO_REGISTER, &reg);
}

int main(int argc, char **argv)
{
	struct waiter all[] = { { .name = "sleeper", .wait = wait_in_sleep },
				{ .name = "futexer", .wait = wait_for_futex },
				{ .name = "reader", .wait = wait_for_pipe },
				{ .name = "faulter", .wait = wait_for_page } };
	pthread_t threads[4], waker, pager;
	int nr = 4;

	if (argc > 2) {
		rounds = atoi(argv[1]);
		pause_us = atol(argv[2]);
	}
	if (rounds < 1 || pipe(fds) < 0)
		return 1;
	if (open_faults() < 0) {
		fprintf(stderr, "page faults: %s\n", strerror(errno));
		nr = 3;
	}
	for (int i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, run, &all[i]);
	pthread_create(&waker, NULL, run_waker, NULL);
	if (nr == 4)
		pthread_create(&pager, NULL, run_pager, NULL);
	for (int i = 0; i < nr; i++) {
		pthread_join(threads[i], NULL);
		printf("%s %llu %llu %llu %llu %llu\n", all[i].name,
		       (unsigned long long)all[i].start, (unsigned long long)all[i].end,
		       (unsigned long long)all[i].on, (unsigned long long)all[i].waited,
		       (unsigned long long)all[i].delay);
	}
	pthread_join(waker, NULL);
	if (nr == 4)
		pthread_join(pager, NULL);
	return 0;
}
