/* SPDX-License-Identifier: MIT */
/* Two threads and one lock: contention into mutex.pb.gz, for `go tool pprof`. locks [FILE] */
#include <coati/locks.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/locks-hook.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int rounds;

__attribute__((noinline)) static void hold_long(void)
{
	pthread_mutex_lock(&lock);
	usleep(2000);
	pthread_mutex_unlock(&lock);
	rounds++;
}

__attribute__((noinline)) static void hold_shortly(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *other(void *arg)
{
	for (int i = 0; i < 100; i++) {
		hold_shortly();
		usleep(500);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct coati_locks_opts opts = { .size = sizeof(opts), .mutex_fraction = 1 };
	const char *path = argc > 1 ? argv[1] : "mutex.pb.gz";
	struct coati_error err = { 0, 0, "" };
	pthread_t thread;
	int fd;

	if (coati_locks_start(&opts, &err) < 0 || pthread_create(&thread, NULL, other, NULL)) {
		fprintf(stderr, "locks: %s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 100; i++) /* the work */
		hold_long();
	pthread_join(thread, NULL);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || coati_locks_write(COATI_LOCKS_MUTEX, fd, COATI_LOCKS_NAMES, &err) < 0 ||
	    close(fd) < 0) {
		fprintf(stderr, "locks: %s: %s\n", path, err.text);
		return 1;
	}
	printf("%d rounds\n", rounds);
	return 0;
}
