/* SPDX-License-Identifier: MIT */
/*
 * Mutex and block profiles inside the program, part of libcoati-live: who lets others wait, and who
 * waits.
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
 * The mutex profile charges who holds a lock: at its unlock, with its stack, the time that others
 * waited for it meanwhile, all of them together. The block profile charges who waits: with its
 * stack, the time that it waited. Both are what Go's are: contentions and delay, with the labels of
 * the thread (<coati/live.h>).
 *
 * Nothing is hooked by itself: seen are the calls below, calls of the usual names where
 * <coati/locks-hook.h> is included, and what a program says of primitives of its own by
 * coati_wait_begin(), coati_wait_end() and coati_wait_release(). A wait whose lock is given back by
 * other calls is in the block profile alone, and is counted. Not among the calls are those with a
 * clock of one's own (pthread_mutex_clocklock() and the like), C11's mtx_ and what C++'s std::mutex
 * calls; C++ has coati::mutex and so on in <coati/locks.hpp>.
 *
 * Cost: a lock that is free is taken by one try, and an unlock that nobody waits for looks at one
 * number; no other lock. A wait costs two looks at the clock, and a sample a stack walk: by tables
 * that coati_locks_start() makes, and by frame pointers through code that has none, all as
 * <coati/heap.h> says. Before coati_locks_start() every call is the plain one.
 *
 * A child after fork() goes on with the profiles that it inherited.
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
	uint64_t size; /* of this struct, set by the caller */
	/* Mutex profile: one wait in so many, by chance; each stands for all of them. 1: every one;
	 * 0: no mutex profile. */
	uint64_t mutex_fraction;
	/* Block profile: one sample for so many nanoseconds waited, by chance; longer waits are all
	 * taken, shorter ones are scaled up. 1: every wait; 0: no block profile. */
	uint64_t block_rate_ns;
	uint64_t seed;			  /* the same draws again, for tests; 0: by chance */
	enum coati_sampler_stacks stacks; /* how they are followed, as in <coati/sampler.h> */
	uint32_t reserved;
	uint64_t max_table_bytes; /* for unwind tables; 0: 64 MiB */
};

/* Start them, or change what is asked for. @opts NULL: one wait in 100, one sample for 10
 * microseconds.
 *   -EINVAL  options that cannot be
 *   -ENODATA COATI_SAMPLER_STACKS_TABLES is asked for, and there is no table at all
 *   -ENOMEM, ...  no memory for the tables
 * Thread: any.  Signal: not safe. */
COATI_API int coati_locks_start(const struct coati_locks_opts *opts, struct coati_error *err);
/* Take no more samples; the profiles can still be written.  Thread: any. */
COATI_API void coati_locks_stop(void);

enum coati_locks_profile { COATI_LOCKS_MUTEX, COATI_LOCKS_BLOCK };

/* flags of coati_locks_write() */
/* Put the names of functions into the profile, from the symbol tables of the files that are
 * mapped. */
#define COATI_LOCKS_NAMES (UINT32_C(1) << 0)
/* As text with names: Go's debug=1. */
#define COATI_LOCKS_TEXT (UINT32_C(1) << 1)

/* Write a profile of now to @fd: pprof (.pb.gz), or text.
 *   -ESRCH  they were never started
 * Thread: any.  Signal: not safe.  Memory: allocates; nobody waits for it. */
COATI_API int coati_locks_write(enum coati_locks_profile which, int fd, uint32_t flags,
				struct coati_error *err);

struct coati_locks_stats {
	uint64_t size;	    /* of this struct, set by the caller: so much is written */
	uint64_t unseen;    /* waits that nobody was charged for: no unlock came by these calls */
	uint64_t untracked; /* waits that there was no room to charge anybody for */
};

/* 0; -EINVAL: ret->size is not set.  Thread: any. */
COATI_API int coati_locks_stats(struct coati_locks_stats *ret);

/* ---- pthreads ---- */

/* As the functions of pthread_ and sem_: the same results, the same errno, on the same objects;
 * both kinds of calls may be mixed. A wait on a condition or a semaphore is in the block profile
 * alone.  Thread: any.  Hot. */
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

/* One wait. Fields are the library's. Frozen. */
struct coati_wait {
	const void *lock;
	uint64_t begin_ns; /* 0: not followed */
	uint64_t charges;
};

/* The caller is about to wait, after a try that failed. @lock: what for, the same address as in
 * coati_wait_release(), or NULL when nobody is to be charged. coati_wait_end() when it is over,
 * whatever came of it, on the same thread.  Thread: any.  Signal: not safe. */
COATI_API void coati_wait_begin(struct coati_wait *w, const void *lock);
COATI_API void coati_wait_end(struct coati_wait *w);
/* The caller is about to give @lock back: it is charged for those that wait.  Hot.  Thread: any.
 * Signal: not safe. */
COATI_API void coati_wait_release(const void *lock);

#ifdef __cplusplus
}
#endif
#endif
