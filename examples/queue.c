/* SPDX-License-Identifier: MIT */
/* A queue that one thread fills and another empties, with every kind of lock of POSIX: who waited
 * for what goes into block.pb.gz, for `go tool pprof`. queue [FILE] */
#include <coati/locks.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/locks-hook.h>

static pthread_rwlock_t settings = PTHREAD_RWLOCK_INITIALIZER; /* guards limit */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* guards length */
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static sem_t done;
static int length, limit = 4;

static void *fill(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_rwlock_rdlock(&settings);
		usleep(2000 / limit);
		pthread_rwlock_unlock(&settings);
		pthread_mutex_lock(&lock);
		length++;
		pthread_mutex_unlock(&lock);
		pthread_cond_signal(&filled);
	}
	sem_post(&done);
	return arg;
}

__attribute__((noinline)) static void take(void)
{
	pthread_mutex_lock(&lock);
	while (length == 0)
		pthread_cond_wait(&filled, &lock);
	length--;
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	struct coati_locks_opts opts = { .size = sizeof(opts), .block_rate_ns = 1 };
	int fd = open(argc > 1 ? argv[1] : "block.pb.gz", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	pthread_t thread;

	if (sem_init(&done, 0, 0) || coati_locks_start(&opts, NULL) < 0 ||
	    pthread_create(&thread, NULL, fill, NULL))
		return 1;
	for (int i = 0; i < 50; i++)
		take();
	pthread_rwlock_wrlock(&settings);
	limit++;
	pthread_rwlock_unlock(&settings);
	sem_wait(&done);
	printf("50 items taken, %d left\n", length);
	return coati_locks_write(COATI_LOCKS_BLOCK, fd, COATI_LOCKS_NAMES, NULL) < 0;
}
