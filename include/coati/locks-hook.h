/* SPDX-License-Identifier: MIT */
/*
 * Adds the locks of one source file to the mutex and block profiles (<coati/locks.h>): calls of
 * pthread_mutex_lock() and so on after this include go through coati_mutex_lock() and its
 * companions. Include it last, or for a whole program use cc -include coati/locks-hook.h.
 */
#ifndef COATI_LOCKS_HOOK_H
#define COATI_LOCKS_HOOK_H

#include <coati/locks.h>

#define pthread_mutex_lock(m)		    coati_mutex_lock(m)
#define pthread_mutex_timedlock(m, until)   coati_mutex_timedlock(m, until)
#define pthread_mutex_unlock(m)		    coati_mutex_unlock(m)
#define pthread_cond_wait(c, m)		    coati_cond_wait(c, m)
#define pthread_cond_timedwait(c, m, until) coati_cond_timedwait(c, m, until)
#define sem_wait(s)			    coati_sem_wait(s)
#define sem_timedwait(s, until)		    coati_sem_timedwait(s, until)
#ifdef PTHREAD_RWLOCK_INITIALIZER
#define pthread_rwlock_rdlock(l)	     coati_rwlock_rdlock(l)
#define pthread_rwlock_timedrdlock(l, until) coati_rwlock_timedrdlock(l, until)
#define pthread_rwlock_wrlock(l)	     coati_rwlock_wrlock(l)
#define pthread_rwlock_timedwrlock(l, until) coati_rwlock_timedwrlock(l, until)
#define pthread_rwlock_unlock(l)	     coati_rwlock_unlock(l)
#endif

#endif
