/* SPDX-License-Identifier: MIT */
/*
 * Clients for ./server: each a thread with a connection that asks and waits. Ends the server when
 * it is done.
 *
 *	./load SOCKET [CLIENTS [REQUESTS]]	(4 clients, 20000 requests each)
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_un to = { .sun_family = AF_UNIX };
static long requests = 20000;

/* The server may still be starting. */
static int dial(void)
{
	for (int tries = 0; tries < 1000; tries++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return -1;
}

static void *ask(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;
	int fd = dial();
	char line[64], reply[512];
	long done = 0;

	for (; fd >= 0 && done < requests; done++) {
		int key = rand_r(&seed) % 2000;
		int size = rand_r(&seed) % 4
				   ? snprintf(line, sizeof(line), "GET key%d\n", key)
				   : snprintf(line, sizeof(line), "SET key%d value%d\n", key, key);

		if (send(fd, line, (size_t)size, MSG_NOSIGNAL) != size ||
		    recv(fd, reply, sizeof(reply), 0) <= 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	return (void *)(size_t)done;
}

int main(int argc, char **argv)
{
	long clients = argc > 2 ? strtol(argv[2], NULL, 10) : 4, done = 0;
	pthread_t threads[64];
	int fd;

	requests = argc > 3 ? strtol(argv[3], NULL, 10) : requests;
	if (argc < 2 || argc > 4 || strlen(argv[1]) >= sizeof(to.sun_path) || clients < 1 ||
	    clients > 64 || requests < 0) {
		fprintf(stderr, "usage: load SOCKET [CLIENTS (1-64) [REQUESTS]]\n");
		return 2;
	}
	strcpy(to.sun_path, argv[1]);
	for (long i = 0; i < clients; i++)
		if (pthread_create(&threads[i], NULL, ask, (void *)(size_t)(i + 1)) != 0)
			return 1;
	for (long i = 0; i < clients; i++) {
		void *n;

		pthread_join(threads[i], &n);
		done += (long)(size_t)n;
	}
	fd = dial();
	if (fd < 0 || send(fd, "STOP\n", 5, MSG_NOSIGNAL) != 5)
		return 1;
	close(fd);
	printf("%ld requests\n", done);
	return done != clients * requests;
}
