/* SPDX-License-Identifier: MIT */
/* The functions of pthreads that wait or end a wait, with a word to the profiles: a try first, and
 * only what has to wait is looked at. */
#include <errno.h>

#include "live/profiles/locks.h"

#define HERE __builtin_frame_address(0)

/* A try, and when it says that one has to wait, the wait. */
#define TRY_THEN_WAIT(lock, busy, try_it, wait_for_it) \
	({                                             \
		int r_ = (try_it);                     \
		if (r_ == (busy)) {                    \
			struct coati_wait w_;          \
			coati_wait_begin(&w_, lock);   \
			r_ = (wait_for_it);            \
			coati_locks_waited(&w_, HERE); \
		}                                      \
		r_;                                    \
	})

/* What others waited is known before, and written down after it. */
#define CHARGE_AROUND(lock, give_it_back)                 \
	({                                                \
		struct locks_charge c_ = { 0, 0 };        \
		int r_;                                   \
		if (locks_on())                           \
			c_ = coati_locks_releasing(lock); \
		r_ = (give_it_back);                      \
		if (c_.waits || c_.ns)                    \
			coati_locks_released(&c_, HERE);  \
		r_;                                       \
	})

int coati_mutex_lock(pthread_mutex_t *m)
{
	if (!locks_on())
		return pthread_mutex_lock(m);
	return TRY_THEN_WAIT(m, EBUSY, pthread_mutex_trylock(m), pthread_mutex_lock(m));
}

int coati_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (!locks_on())
		return pthread_mutex_timedlock(m, until);
	return TRY_THEN_WAIT(m, EBUSY, pthread_mutex_trylock(m), pthread_mutex_timedlock(m, until));
}

int coati_mutex_unlock(pthread_mutex_t *m)
{
	return CHARGE_AROUND(m, pthread_mutex_unlock(m));
}

int coati_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (!locks_on())
		return pthread_rwlock_rdlock(l);
	return TRY_THEN_WAIT(l, EBUSY, pthread_rwlock_tryrdlock(l), pthread_rwlock_rdlock(l));
}

int coati_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (!locks_on())
		return pthread_rwlock_timedrdlock(l, until);
	return TRY_THEN_WAIT(l, EBUSY, pthread_rwlock_tryrdlock(l),
			     pthread_rwlock_timedrdlock(l, until));
}

int coati_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (!locks_on())
		return pthread_rwlock_wrlock(l);
	return TRY_THEN_WAIT(l, EBUSY, pthread_rwlock_trywrlock(l), pthread_rwlock_wrlock(l));
}

int coati_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (!locks_on())
		return pthread_rwlock_timedwrlock(l, until);
	return TRY_THEN_WAIT(l, EBUSY, pthread_rwlock_trywrlock(l),
			     pthread_rwlock_timedwrlock(l, until));
}

int coati_rwlock_unlock(pthread_rwlock_t *l)
{
	return CHARGE_AROUND(l, pthread_rwlock_unlock(l));
}

/* The mutex is given back for the wait: those that wait for it are charged to who waits here, and
 * before that. */
#define WAIT_ON_CONDITION(m, wait_for_it)                \
	({                                               \
		struct locks_charge c_ = { 0, 0 };       \
		struct coati_wait w_;                    \
		int r_;                                  \
		if (locks_on())                          \
			c_ = coati_locks_releasing(m);   \
		if (c_.waits || c_.ns)                   \
			coati_locks_released(&c_, HERE); \
		coati_wait_begin(&w_, NULL);             \
		r_ = (wait_for_it);                      \
		coati_locks_waited(&w_, HERE);           \
		r_;                                      \
	})

int coati_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return WAIT_ON_CONDITION(m, pthread_cond_wait(c, m));
}

int coati_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	return WAIT_ON_CONDITION(m, pthread_cond_timedwait(c, m, until));
}

/* sem_trywait() says by errno what it is; what it is not is for the wait to say. */
int coati_sem_wait(sem_t *s)
{
	if (!locks_on())
		return sem_wait(s);
	return TRY_THEN_WAIT(NULL, -1, sem_trywait(s), sem_wait(s));
}

int coati_sem_timedwait(sem_t *s, const struct timespec *until)
{
	if (!locks_on())
		return sem_timedwait(s, until);
	return TRY_THEN_WAIT(NULL, -1, sem_trywait(s), sem_timedwait(s, until));
}
