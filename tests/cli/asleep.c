/* SPDX-License-Identifier: MIT */
/* asleep FILE: threads that wait for different things, and do so until the process is killed;
 * creates FILE when all of them do. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t never;
static int ends[2];
static volatile long tids[4];

static void *wait_semaphore(void *arg)
{
	prctl(PR_SET_NAME, "asleep-futex");
	tids[0] = syscall(SYS_gettid);
	sem_wait(&never);
	return arg;
}

static void *wait_pipe(void *arg)
{
	char c;

	prctl(PR_SET_NAME, "asleep-read");
	tids[1] = syscall(SYS_gettid);
	if (read(ends[0], &c, 1) < 0)
		perror("read");
	return arg;
}

static void *wait_epoll(void *arg)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	prctl(PR_SET_NAME, "asleep-poll");
	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e);
	tids[2] = syscall(SYS_gettid);
	epoll_wait(fd, &e, 1, -1);
	return arg;
}

static void until_blocked(long tid)
{
	char path[64], text[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/syscall", tid);
	do {
		int fd = open(path, O_RDONLY);

		usleep(1000);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text));
		close(fd);
	} while (n < 7 || !strncmp(text, "running", 7));
}

int main(int argc, char **argv)
{
	void *(*const run[])(void *) = { wait_semaphore, wait_pipe, wait_epoll };
	pthread_t t;
	FILE *f;

	if (argc != 2 || pipe(ends) < 0 || sem_init(&never, 0, 0) < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t, NULL, run[i], NULL) != 0)
			return 1;
	for (int i = 0; i < 3; i++) {
		while (!tids[i])
			usleep(1000);
		until_blocked(tids[i]);
	}
	prctl(PR_SET_NAME, "asleep-sleep");
	f = fopen(argv[1], "w");
	if (!f || fclose(f) != 0)
		return 1;
	sleep(600);
	return 0;
}
