/* SPDX-License-Identifier: MIT */
/* wait-threads N FILE: starts N more threads, creates FILE when they run, and sleeps until it is
 * killed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t ready;

static void *rest(void *unused)
{
	pthread_barrier_wait(&ready);
	while (1)
		usleep(10000);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 1;
	pthread_t thread;
	int fd;

	pthread_barrier_init(&ready, NULL, nr + 1);
	for (unsigned int i = 0; i < nr; i++) {
		if (pthread_create(&thread, NULL, rest, NULL))
			return 1;
	}
	pthread_barrier_wait(&ready);
	fd = argc > 2 ? open(argv[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0666) : -1;
	if (fd >= 0)
		close(fd);
	while (1)
		usleep(10000);
}
