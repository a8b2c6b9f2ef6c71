/* SPDX-License-Identifier: MIT */
/*
 * Profiling that the environment asks for. When the program is loaded: one look for COATI_PROFILE,
 * and nothing more when it is not there. Programs that run with the rights of others take no notice
 * of it. Child processes learn through the same variable that they are children: bash and others
 * hand on the array that main() was given, so the pointer in that array is changed and nothing is
 * added to it.
 */
#include <coati/auto.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "live/auto/auto.h"

extern char **environ;

/* Here, beside the constructor: who refers to it (the sampler does) has that out of an archive,
 * too. */
_Atomic uint32_t coati_auto_active;

static struct {
	struct auto_config config;
	char *own;	/* "COATI_PROFILE=..." as we found it */
	char *children; /* and as they get it */
} self;

static bool is_here(void)
{
	return atomic_load_explicit(&coati_auto_words.pid, memory_order_relaxed) == getpid() &&
	       !atomic_load_explicit(&coati_auto_words.ended, memory_order_relaxed);
}

/* ---- the environment of children ---- */

static char **slot_of(char **env)
{
	for (; env && *env; env++)
		if (!strncmp(*env, AUTO_VARIABLE "=", sizeof(AUTO_VARIABLE)))
			return env;
	return NULL;
}

static void forget_variable(void)
{
	char **slot = slot_of(environ);

	for (; slot && *slot; slot++)
		slot[0] = slot[1];
}

/* 0 or -ENOMEM */
static int tell_children(void)
{
	struct strbuf s = STRBUF_INIT(2 * AUTO_PATTERN_MAX);
	char **slot = slot_of(environ);

	if (!self.config.children) {
		forget_variable();
		return 0;
	}
	coati_strbuf_adds(&s, AUTO_VARIABLE "=");
	coati_auto_name_for_children(self.config.pattern, &s);
	self.children = coati_strbuf_take(&s);
	if (!self.children)
		return -ENOMEM;
	if (slot) {
		self.own = *slot;
		*slot = self.children;
	}
	return 0;
}

/* ---- fork ---- */

static void start_in_child(void)
{
	struct coati_error err = { 0 };

	if (atomic_load_explicit(&coati_auto_words.pid, memory_order_relaxed) == getpid())
		return;
	coati_auto_work_forget();
	if (!self.config.children ||
	    atomic_load_explicit(&coati_auto_words.ended, memory_order_relaxed)) {
		atomic_store_explicit(&coati_auto_words.pid, 0, memory_order_relaxed);
		return;
	}
	if (!self.config.keep && self.children) {
		self.config.keep = true;
		self.config.pattern = self.children + sizeof(AUTO_VARIABLE) + 1; /* behind "=+" */
	}
	if (coati_auto_work_start(&self.config, !self.config.signal, &err) < 0)
		coati_auto_say("%s", err.text);
}

/* ---- the end ---- */

static void finish(void)
{
	if (!is_here())
		return;
	if (!coati_auto_wait(coati_auto_ask(AUTO_END), AUTO_PATIENT))
		coati_auto_say(AUTO_VARIABLE ": the profile could not be written in time");
}

/* Behind what the program registered for its end itself. */
__attribute__((destructor)) static void finish_at_exit(void)
{
	int keep = errno;

	finish();
	errno = keep;
}

int coati_auto_finish(struct coati_error *err)
{
	if (!is_here())
		return coati_fail(err, -ESRCH, AUTO_VARIABLE " has no effect in this process");
	finish();
	return coati_auto_work_error(err);
}

void coati_auto_before_exit(void)
{
	int keep = errno;

	if (is_here())
		coati_auto_wait(coati_auto_ask(AUTO_END), AUTO_IMPATIENT);
	errno = keep;
}

/* ---- exec ---- */

int coati_auto_before_exec(const char **ret_own, const char **ret_children)
{
	struct auto_words *w = &coati_auto_words;
	uint32_t before = atomic_load_explicit(&w->written, memory_order_relaxed);

	*ret_own = *ret_children = NULL;
	if (!is_here())
		return 0;
	if (atomic_load_explicit(&w->phase, memory_order_relaxed) == AUTO_SAMPLING)
		coati_auto_wait(coati_auto_ask(AUTO_PAUSE), AUTO_IMPATIENT);
	if (atomic_load_explicit(&w->written, memory_order_relaxed) != before)
		return 1;
	if (!self.config.keep && !before) {
		*ret_own = self.own;
		*ret_children = self.children;
	}
	return 0;
}

void coati_auto_after_exec(void)
{
	if (is_here() && !self.config.signal)
		coati_auto_ask(AUTO_START);
}

/* ---- the start ---- */

static void take_signal(int sig)
{
	struct sigaction act = { .sa_handler = coati_auto_handler,
				 .sa_flags = SA_RESTART | SA_ONSTACK };

	sigemptyset(&act.sa_mask);
	if (sigaction(sig, &act, NULL) < 0)
		coati_auto_say("COATI_SIGNAL=%d: %m", sig);
}

/* Who started us may have blocked them. */
static void unblock_samples(void)
{
#ifndef COATI_AUTO_HEAP
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGTRAP);
	sigaddset(&own, SIGPROF);
	pthread_sigmask(SIG_UNBLOCK, &own, NULL);
#endif
}

static int start(const char *pattern, struct coati_error *err)
{
	int r = coati_auto_config_read(&self.config, pattern, secure_getenv, err);

	if (r < 0)
		return r;
	coati_auto_work_remember(time(NULL), program_invocation_short_name);
	unblock_samples();
	r = tell_children();
	if (r < 0)
		return coati_fail(err, r, AUTO_VARIABLE ": %m; no profile is taken");
	r = coati_auto_work_start(&self.config, false, err);
	if (r < 0)
		return r;
	pthread_atfork(NULL, NULL, start_in_child);
	at_quick_exit(finish);
	if (self.config.signal) {
		take_signal(self.config.signal);
		return 0;
	}
	if (!coati_auto_wait(coati_auto_ask(AUTO_START), AUTO_PATIENT))
		return coati_fail(err, -ETIMEDOUT, AUTO_VARIABLE ": sampling does not start");
	return coati_auto_work_error(NULL); /* which has been said */
}

/* Said once: what goes wrong here would go wrong in all children, too. */
__attribute__((constructor)) static void start_if_asked(void)
{
	const char *pattern = secure_getenv(AUTO_VARIABLE);
	struct coati_error err = { 0 };
	int keep = errno;

	if (!pattern || !*pattern || coati_auto_is_elsewhere())
		return;
	coati_auto_say_init();
	atomic_store_explicit(&coati_auto_active, 1, memory_order_relaxed);
	if (start(pattern, &err) < 0) {
		if (err.code)
			coati_auto_say("%s", err.text);
		forget_variable();
		atomic_store_explicit(&coati_auto_active, 0, memory_order_relaxed);
	}
	errno = keep;
}
