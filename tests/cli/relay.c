/* SPDX-License-Identifier: MIT */
/*
 * relay ROUNDS: a baton goes round, and every hand-over wakes exactly one who waits: thread relay-a
 * wakes relay-b by a futex, that one relay-c by a pipe, that one the process relay-d by another,
 * and that one relay-a by a futex in shared memory. Who wakes makes sure that the other one has
 * left its CPU. Prints for each of the four its CPU time by getrusage() and the time on CPUs by
 * schedstat: "NAME TID user+system-us schedstat-ns".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct told {
	const char *name;
	uint32_t tid;
	long long cpu_us;
	unsigned long long on_cpu_ns;
};

struct shared {
	_Atomic uint32_t for_a, tid_a, tid_d;
	struct told a, b, c, d;
};

static struct shared *shared;
static _Atomic uint32_t for_b, tid_b, tid_c;
static int to_c[2], to_d[2];
static int rounds;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Until the thread waits in the kernel: "running" while it has not left its CPU. */
static void until_blocked(uint32_t tid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%u/syscall", tid);
	for (;;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (n <= 0)
			fail(path);
		close(fd);
		if (strncmp(text, "running", 7) != 0)
			return;
		usleep(100);
	}
}

static void futex_wait(_Atomic uint32_t *word, uint32_t old)
{
	while (atomic_load(word) == old)
		syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void start(const char *name, _Atomic uint32_t *tid)
{
	prctl(PR_SET_NAME, name);
	atomic_store(tid, (uint32_t)syscall(SYS_gettid));
}

/* Nothing is allocated until all have told: threads that map memory at once wait for each other in
 * the kernel, and such waits are edges too. */
static void tell(const char *name, struct told *t)
{
	char text[64];
	struct rusage u;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	getrusage(RUSAGE_THREAD, &u);
	if (n <= 0)
		fail("schedstat");
	close(fd);
	text[n] = '\0';
	t->name = name;
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->cpu_us = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL + u.ru_utime.tv_usec +
		    u.ru_stime.tv_usec;
	t->on_cpu_ns = strtoull(text, NULL, 10);
}

static void print(const struct told *t)
{
	printf("%s %u %lld %llu\n", t->name, t->tid, t->cpu_us, t->on_cpu_ns);
}

static void pass(int fd, uint32_t tid)
{
	until_blocked(tid);
	if (write(fd, "x", 1) != 1)
		fail("write");
}

static void take(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		fail("read");
}

static void *run_b(void *arg)
{
	(void)arg;
	start("relay-b", &tid_b);
	for (int i = 0; i < rounds; i++) {
		futex_wait(&for_b, (uint32_t)i);
		pass(to_c[1], atomic_load(&tid_c));
	}
	tell("relay-b", &shared->b);
	return NULL;
}

static void *run_c(void *arg)
{
	(void)arg;
	start("relay-c", &tid_c);
	for (int i = 0; i < rounds; i++) {
		take(to_c[0]);
		pass(to_d[1], atomic_load(&shared->tid_d));
	}
	tell("relay-c", &shared->c);
	return NULL;
}

static void run_d(void)
{
	start("relay-d", &shared->tid_d);
	for (int i = 0; i < rounds; i++) {
		take(to_d[0]);
		until_blocked(atomic_load(&shared->tid_a));
		futex_wake(&shared->for_a);
	}
	tell("relay-d", &shared->d);
	exit(0);
}

static void *run_a(void *arg)
{
	volatile uint64_t sum = 0;

	(void)arg;
	(void)sum;
	start("relay-a", &shared->tid_a);
	while (!atomic_load(&tid_b) || !atomic_load(&tid_c) || !atomic_load(&shared->tid_d))
		usleep(1000);
	for (int i = 0; i < rounds; i++) {
		for (int n = 0; n < 100000; n++)
			sum += (uint64_t)n;
		until_blocked(atomic_load(&tid_b));
		futex_wake(&for_b);
		futex_wait(&shared->for_a, (uint32_t)i);
	}
	tell("relay-a", &shared->a);
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*const run[])(void *) = { run_a, run_b, run_c };
	pthread_t threads[3];
	pid_t child;

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || pipe(to_c) < 0 || pipe(to_d) < 0)
		fail("mmap, pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child)
		run_d();
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, run[i], NULL) != 0)
			fail("pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, NULL, 0);
	print(&shared->a);
	print(&shared->b);
	print(&shared->c);
	print(&shared->d);
	return 0;
}
