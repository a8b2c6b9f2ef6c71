/* SPDX-License-Identifier: MIT */
/*
 * libcoati-preload in front of the calls that could take the sampler's signal away. A program that
 * puts all signals back to what they usually do would be killed by the next sample, and one that
 * looks whether anything is in its way would find our handler: it sees, and sets, what it would
 * without us, and our handler calls what it set. A thread that blocks all signals would not be
 * seen: it does not block this one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <coati/visibility.h>

#include "live/auto/auto.h"
#include "live/sampler/sampler.h"

#undef signal /* is banned for us, and not for programs */

typedef int (*sigmask_fn)(int how, const sigset_t *set, sigset_t *old);

static sigmask_fn next_sigmask;

static void *find(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Before the rest of the library: the sampler calls them, too. */
__attribute__((constructor(101))) static void find_next(void)
{
	void *action = find("sigaction"), *mask = find("pthread_sigmask");

	memcpy(&coati_sampler_sigaction, &action, sizeof(action));
	memcpy(&next_sigmask, &mask, sizeof(mask));
}

/* Not in the child of a vfork(), whose signals are its own and whose memory is not. */
static bool is_here(void)
{
	return atomic_load_explicit(&coati_auto_words.pid, memory_order_relaxed) == getpid();
}

/* ---- what a signal does ---- */

/* What the program believes that it has, or NULL where it is right. */
static struct sigaction *believed(int sig)
{
	struct sigaction now;

	if ((sig != SIGTRAP && sig != SIGPROF) || !is_here() ||
	    coati_sampler_sigaction(sig, NULL, &now) < 0 || !(now.sa_flags & SA_SIGINFO) ||
	    now.sa_sigaction != coati_sampler_handler)
		return NULL;
	return sig == SIGTRAP ? &coati_sampler_shared.old_trap : &coati_sampler_shared.old_prof;
}

COATI_API int sigaction(int sig, const struct sigaction *act, struct sigaction *ret_old)
{
	struct sigaction *mine, before;

	if (!coati_sampler_sigaction || coati_sampler_sigaction == sigaction)
		find_next();
	mine = believed(sig);
	if (!mine)
		return coati_sampler_sigaction(sig, act, ret_old);
	before = *mine;
	if (act) {
		/* our handler may be reading it: never SA_SIGINFO with a handler that is none */
		mine->sa_flags = 0;
		atomic_signal_fence(memory_order_seq_cst);
		mine->sa_handler = act->sa_handler;
		mine->sa_mask = act->sa_mask;
		atomic_signal_fence(memory_order_seq_cst);
		mine->sa_flags = act->sa_flags;
	}
	if (ret_old)
		*ret_old = before;
	return 0;
}

/* As libc's. */
COATI_API sighandler_t signal(int sig, sighandler_t handler)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (handler == SIG_ERR || sigemptyset(&act.sa_mask) < 0 ||
	    sigaddset(&act.sa_mask, sig) < 0) {
		errno = EINVAL;
		return SIG_ERR;
	}
	return sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

/* ---- what is blocked ---- */

COATI_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_old)
{
	int sig = atomic_load_explicit(&coati_auto_words.signal, memory_order_relaxed);
	sigset_t without;

	if (!next_sigmask)
		find_next();
	if (set && how != SIG_UNBLOCK && is_here()) {
		without = *set;
		sigdelset(&without, sig ? sig : SIGTRAP);
		set = &without;
	}
	return next_sigmask ? next_sigmask(how, set, ret_old) : ENOSYS;
}

COATI_API int sigprocmask(int how, const sigset_t *set, sigset_t *ret_old)
{
	int r = pthread_sigmask(how, set, ret_old);

	if (r)
		errno = r;
	return r ? -1 : 0;
}
