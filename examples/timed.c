/* SPDX-License-Identifier: MIT */
/* Waits that end at a time, in the profile of waits: one for each kind of lock. timed [FILE] */
#include <coati/locks.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include <coati/locks-hook.h>

static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;

static const struct timespec *soon(void)
{
	static struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 2000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return &t;
}

/* Another thread holds what is to be waited for. */
static void *wait_for_all(void *timeouts)
{
	int *nr = timeouts;

	*nr += pthread_mutex_timedlock(&held, soon()) == ETIMEDOUT;
	*nr += pthread_rwlock_timedrdlock(&written, soon()) == ETIMEDOUT;
	*nr += pthread_rwlock_timedwrlock(&written, soon()) == ETIMEDOUT;
	pthread_mutex_lock(&own);
	*nr += pthread_cond_timedwait(&never, &own, soon()) == ETIMEDOUT;
	pthread_mutex_unlock(&own);
	*nr += sem_timedwait(&empty, soon()) < 0 && errno == ETIMEDOUT;
	return NULL;
}

int main(int argc, char **argv)
{
	struct coati_locks_opts opts = { .size = sizeof(opts), .block_rate_ns = 1 };
	int fd = open(argc > 1 ? argv[1] : "block.pb.gz", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	pthread_t thread;
	int timeouts = 0;

	if (sem_init(&empty, 0, 0) < 0 || coati_locks_start(&opts, NULL) < 0)
		return 1;
	pthread_mutex_lock(&held);
	pthread_rwlock_wrlock(&written);
	if (pthread_create(&thread, NULL, wait_for_all, &timeouts))
		return 1;
	pthread_join(thread, NULL);
	printf("%d of 5 waits timed out\n", timeouts);
	return coati_locks_write(COATI_LOCKS_BLOCK, fd, COATI_LOCKS_NAMES, NULL) < 0;
}
