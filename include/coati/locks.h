/* SPDX-License-Identifier: MIT */
/*
 * Lock contention profiles inside the program, part of libcoati-live: by holder (mutex profile) and
 * by waiter (block profile).
 *
 *	struct coati_locks_opts opts = { .size = sizeof(opts), .mutex_fraction = 1,
 *					 .block_rate_ns = 1 };
 *	coati_locks_start(&opts, &err);
 *	...
 *	coati_mutex_lock(&mutex);	or pthread_mutex_lock(&mutex) with <coati/locks-hook.h>
 *	coati_mutex_unlock(&mutex);
 *	...
 *	coati_locks_write(COATI_LOCKS_MUTEX, fd, COATI_LOCKS_NAMES, &err);
 *
 * The mutex profile charges the holder of a lock: the stack of its unlock gets the sum of the times
 * that other threads waited for the lock meanwhile. The block profile charges the waiter: its stack
 * gets the time that it waited. Both have the values of Go's profiles, contentions and delay, with
 * the labels of the thread (<coati/live.h>).
 *
 * Nothing is intercepted automatically. The profiles see the calls below, calls of the usual names
 * where <coati/locks-hook.h> is included, and waits for other primitives that the program reports
 * by coati_wait_begin(), coati_wait_end() and coati_wait_release(). A wait whose lock is released
 * by another call is only in the block profile, and is counted. Calls with an explicit clock
 * (pthread_mutex_clocklock() and others), C11's mtx_ functions and std::mutex of C++ are not
 * covered; for C++ use coati::mutex and others in <coati/locks.hpp>.
 *
 * Cost: taking a free lock costs one trylock, and an unlock without waiters costs one memory read;
 * no other lock is taken. A wait costs two clock reads, and a sample costs a stack walk: with
 * unwind tables that coati_locks_start() builds, and by frame pointers through code without unwind
 * data, as in <coati/heap.h>. Before coati_locks_start() every call is the plain one.
 *
 * The child of a fork() continues with a copy of the profiles.
 */
#ifndef COATI_LOCKS_H
#define COATI_LOCKS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

#include <coati/error.h>
#include <coati/sampler.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coati_locks_opts {
	uint64_t size; /* sizeof(struct coati_locks_opts) */
	/* Mutex profile: sample one wait in this many, at random, and scale it up. 1: every wait;
	 * 0: no mutex profile. */
	uint64_t mutex_fraction;
	/* Block profile: one sample per this many nanoseconds of waiting, at random; all longer
	 * waits are sampled, shorter ones are scaled up. 1: every wait; 0: no block profile. */
	uint64_t block_rate_ns;
	uint64_t seed;			  /* of the random numbers, for tests; 0: random */
	enum coati_sampler_stacks stacks; /* how stacks are unwound, as in <coati/sampler.h> */
	uint32_t reserved;
	uint64_t max_table_bytes; /* for unwind tables; 0: 64 MiB */
};

/* Start the profiles, or change their options. @opts NULL: one wait in 100, one sample per 10
 * microseconds.
 *   -EINVAL  invalid options
 *   -ENODATA COATI_SAMPLER_STACKS_TABLES was requested, and there is no unwind table at all
 *   -ENOMEM, ...  no memory for the tables
 * Thread: any.  Signal: not safe. */
COATI_API int coati_locks_start(const struct coati_locks_opts *opts, struct coati_error *err);
/* Stop sampling; the profiles can still be written.  Thread: any. */
COATI_API void coati_locks_stop(void);

enum coati_locks_profile { COATI_LOCKS_MUTEX, COATI_LOCKS_BLOCK };

/* flags of coati_locks_write() */
/* Add function names to the profile, from the symbol tables of the mapped files. */
#define COATI_LOCKS_NAMES (UINT32_C(1) << 0)
/* Write text with function names, as Go's debug=1 does. */
#define COATI_LOCKS_TEXT (UINT32_C(1) << 1)

/* Write the current profile to @fd: pprof (.pb.gz), or text.
 *   -ESRCH  they were never started
 * Thread: any.  Signal: not safe.  Memory: allocates; other threads do not wait for it. */
COATI_API int coati_locks_write(enum coati_locks_profile which, int fd, uint32_t flags,
				struct coati_error *err);

struct coati_locks_stats {
	uint64_t size; /* sizeof(struct coati_locks_stats) */
	/* waits that are not in the mutex profile because the unlock was not seen */
	uint64_t unseen;
	uint64_t untracked; /* waits that are not in the mutex profile for lack of space */
};

/* 0; -EINVAL: ret->size is not set.  Thread: any. */
COATI_API int coati_locks_stats(struct coati_locks_stats *ret);

/* ---- pthreads ---- */

/* These behave like the functions of pthread_ and sem_: same results, same errno, on the same
 * objects; both kinds of calls may be mixed. A wait on a condition or a semaphore is only in the
 * block profile.  Thread: any.  Hot. */
COATI_API int coati_mutex_lock(pthread_mutex_t *m);
COATI_API int coati_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until);
COATI_API int coati_mutex_unlock(pthread_mutex_t *m);
COATI_API int coati_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
COATI_API int coati_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				   const struct timespec *until);
COATI_API int coati_sem_wait(sem_t *s);
COATI_API int coati_sem_timedwait(sem_t *s, const struct timespec *until);
#ifdef PTHREAD_RWLOCK_INITIALIZER /* not in the strictest C */
COATI_API int coati_rwlock_rdlock(pthread_rwlock_t *l);
COATI_API int coati_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until);
COATI_API int coati_rwlock_wrlock(pthread_rwlock_t *l);
COATI_API int coati_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until);
COATI_API int coati_rwlock_unlock(pthread_rwlock_t *l);
#endif

/* ---- other primitives ---- */

/* One wait. Its fields are private to the library. Frozen. */
struct coati_wait {
	const void *lock;
	uint64_t begin_ns; /* 0: not tracked */
	uint64_t charges;
};

/* Call coati_wait_begin() before waiting, after a try has failed. @lock identifies the lock by the
 * same address as in coati_wait_release(); NULL: no holder is charged. Call coati_wait_end() on the
 * same thread when the wait is over, whatever its result.  Thread: any.  Signal: not safe. */
COATI_API void coati_wait_begin(struct coati_wait *w, const void *lock);
COATI_API void coati_wait_end(struct coati_wait *w);
/* Call it directly before releasing @lock: the caller is charged for the threads that wait.  Hot.
 * Thread: any.  Signal: not safe. */
COATI_API void coati_wait_release(const void *lock);

#ifdef __cplusplus
}
#endif
#endif
