/* SPDX-License-Identifier: MIT */
/*
 * woken ROUNDS IN OUT: threads that another process wakes, and that then wait for their CPU.
 *
 * The process to be recorded has a thread woken-t. When somebody writes a line into the pipe IN it
 * starts a second one, woken-late. Process woken-by wakes both in turn, ROUNDS times each, after
 * they have left their CPU, and goes on using the CPU that all of them share. Afterwards one line
 * for each of the two threads goes into the pipe OUT: "NAME TID WAITED-NS", how long it waited for
 * a CPU since then, by schedstat. Prints the number of the process to be recorded.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURN_NS 3000000L

struct waiter {
	const char *name;
	int pipe[2];
	unsigned long long before, after;
	volatile int tid;
};

/* Shared with the process that wakes. */
static struct waiter *waiters;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The second number: how long the thread waited for a CPU. */
static unsigned long long waited(const char *who)
{
	char path[64], text[128], *at;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", who);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		fail("schedstat");
	close(fd);
	text[n] = '\0';
	at = strchr(text, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static void *wait_here(void *arg)
{
	struct waiter *w = arg;
	char c;

	prctl(PR_SET_NAME, w->name);
	w->tid = (int)syscall(SYS_gettid);
	while (read(w->pipe[0], &c, 1) == 1 && c != 'e')
		;
	w->after = waited("thread-self");
	return NULL;
}

static void until_blocked(int tid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	for (;;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (n <= 0)
			fail(path);
		close(fd);
		if (strncmp(text, "running", 7) != 0)
			return;
		usleep(200);
	}
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wake(const struct waiter *w, char c)
{
	long long until;

	until_blocked(w->tid);
	if (write(w->pipe[1], &c, 1) != 1)
		fail("write");
	for (until = now() + BURN_NS; now() < until;)
		;
}

/* What the process waited for a CPU before it waits for the line does not count. */
static void run_waker(int rounds, pid_t recorded)
{
	char who[16];

	prctl(PR_SET_NAME, "woken-by");
	snprintf(who, sizeof(who), "%d", recorded);
	until_blocked(recorded);
	waiters[0].before = waited(who);
	printf("%d\n", recorded);
	fflush(stdout);
	while (!waiters[0].tid || !waiters[1].tid)
		usleep(1000);
	for (int i = 1; i <= rounds; i++)
		for (int n = 0; n < 2; n++)
			wake(&waiters[n], i == rounds ? 'e' : 'x');
	exit(0);
}

/* The first CPU that there is, and no preemption at a wake-up. */
static void share_cpu(void)
{
	struct sched_param p = { 0 };
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		fail("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
			break;
		}
	if (sched_setaffinity(0, sizeof(one), &one) < 0 || sched_setscheduler(0, SCHED_BATCH, &p))
		fail("sched_setaffinity");
}

static void record_me(const char *in, const char *out)
{
	char line[16];
	pthread_t late;
	FILE *f;

	prctl(PR_SET_NAME, waiters[0].name);
	f = fopen(in, "r");
	if (!f || !fgets(line, sizeof(line), f))
		fail(in);
	if (pthread_create(&late, NULL, wait_here, &waiters[1]) != 0)
		fail("pthread_create");
	wait_here(&waiters[0]);
	pthread_join(late, NULL);
	waiters[0].after = waited("thread-self");
	f = fopen(out, "w");
	if (!f)
		fail(out);
	for (int i = 0; i < 2; i++)
		fprintf(f, "%s %d %llu\n", waiters[i].name, waiters[i].tid,
			waiters[i].after - waiters[i].before);
	fclose(f);
	exit(0);
}

int main(int argc, char **argv)
{
	pid_t recorded;

	if (argc != 4)
		return 2;
	waiters = mmap(NULL, 2 * sizeof(*waiters), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (waiters == MAP_FAILED)
		fail("mmap");
	waiters[0].name = "woken-t";
	waiters[1].name = "woken-late";
	for (int i = 0; i < 2; i++)
		if (pipe(waiters[i].pipe) < 0)
			fail("pipe");
	share_cpu();
	recorded = fork();
	if (!recorded)
		record_me(argv[2], argv[3]);
	if (recorded < 0)
		fail("fork");
	if (!fork())
		run_waker(atoi(argv[1]), recorded);
	while (wait(NULL) > 0)
		;
	return 0;
}
