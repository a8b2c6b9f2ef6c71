/* SPDX-License-Identifier: MIT */
/* see ask.h */
#include "live/tracer/ask.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/auto/auto.h"
#include "live/tracer/emit.h"
#include "live/tracer/page.h"
#include "live/tracer/recorder.h"

#define MOST_BYTES  (UINT64_C(32) << 20)
#define LEAST_BYTES (UINT64_C(1) << 20)

/* In one page: who asks wants it in one mapping. Zeros until the constructor, so that it is not in
 * the file. */
struct tracer_ask coati_tracer_ask __attribute__((aligned(4096)));

/* How far the block is from the 8 bytes that say so. */
__asm__(".pushsection .note.coati, \"a\", %note\n"
	".balign 4\n"
	".4byte 6, 8, 2\n"
	".ascii \"coati\\0\\0\\0\"\n"
	".8byte coati_tracer_ask - .\n"
	".popsection\n");

static struct {
	_Atomic uint32_t busy;	  /* a thread answers, or ends it */
	_Atomic uint32_t started; /* there is a recorder; released after it is written */
	_Atomic uint32_t ending;
	bool environment;
	struct coati_recorder *recorder;
} ask;

/* A program that exits normally has not died: readers of the file must see that. */
static __attribute__((destructor)) void say_the_end(void)
{
	struct live_map *map = coati_tracer.map;

	if (map && coati_tracer.pid == (uint32_t)getpid())
		__atomic_store_n(&map->state, 2, __ATOMIC_RELEASE);
}

static bool may_be_in_a_handler(void)
{
	sigset_t now;

	return pthread_sigmask(SIG_BLOCK, NULL, &now) != 0 || !sigisemptyset(&now);
}

static int start_asked(void)
{
	struct tracer_ask *a = &coati_tracer_ask;
	char folder[ASK_PATH];
	struct coati_recorder_opts o = { .size = sizeof(o), .fd = -1 };
	int r;

	/* written by others: read once */
	memcpy(folder, a->directory, sizeof(folder));
	folder[sizeof(folder) - 1] = '\0';
	o.flags =
		a->flags & (COATI_RECORDER_STACKS | COATI_RECORDER_SAMPLES | COATI_RECORDER_LABELS);
	o.bytes = a->bytes ? a->bytes : MOST_BYTES;
	o.directory = folder[0] == '/' ? folder : NULL;
	do {
		r = coati_recorder_start(&o, &ask.recorder, NULL);
		o.bytes /= 2;
	} while ((r == -ENOSPC || r == -ENOMEM || r == -EFBIG) && o.bytes >= LEAST_BYTES);
	return r;
}

/* The recorder that made the directory reports it, and removes it: a link needs no space, and no
 * limit of file sizes holds for it. In another directory it would stay. */
static void leave_word(int r)
{
	char path[ASK_PATH + 32], what[16];

	if (!strstr(coati_tracer_ask.directory, "/" ASK_FOLDER))
		return;
	snprintf(path, sizeof(path), "%s/%d" ASK_FAILED, coati_tracer_ask.directory, (int)getpid());
	snprintf(what, sizeof(what), "%d", -r);
	if (symlink(what, path) < 0)
		return; /* the same, already, or nowhere to leave it */
}

/* Only the block reports it: the program has not asked. */
static void answer(void)
{
	struct tracer_ask *a = &coati_tracer_ask;
	uint32_t asked = atomic_load_explicit(&a->asked, memory_order_acquire);
	int r = asked ? start_asked() : -EINVAL;

	if (r < 0)
		__atomic_store_n(&coati_tracer_gate, tracer_closed_gate(), __ATOMIC_RELAXED);
	if (r < 0 && ask.environment)
		leave_word(r);
	atomic_store_explicit(&ask.started, r == 0, memory_order_release);
	atomic_store_explicit(&a->error, r, memory_order_relaxed);
	/* pairs with: who asked, which reads it before the rest */
	atomic_store_explicit(&a->answered, asked, memory_order_release);
}

void coati_tracer_asked(void)
{
	int keep = errno;

	if (!may_be_in_a_handler() &&
	    !atomic_exchange_explicit(&ask.busy, 1, memory_order_acquire)) {
		if (!tracer_generation() &&
		    !atomic_load_explicit(&ask.started, memory_order_acquire))
			answer();
		atomic_store_explicit(&ask.busy, 0, memory_order_release);
	}
	errno = keep;
}

/* The address is known when the program is loaded; and what the environment wants, at once: nothing
 * of the program is missed. Programs that run with the rights of others take no notice of it. */
static __attribute__((constructor)) void read_environment(void)
{
	const char *folder = secure_getenv("COATI_TRACE");
	int keep = errno;

	coati_tracer_ask.gate = (uint64_t)(uintptr_t)&coati_tracer_gate;
	coati_tracer_ask.size = sizeof(coati_tracer_ask);
	coati_tracer_ask.version = ASK_VERSION;
	coati_tracer_page_provide();
	coati_auto_say_init();
	if (!folder || folder[0] != '/' || strlen(folder) >= ASK_PATH)
		return;
	ask.environment = true;
	memcpy(coati_tracer_ask.directory, folder, strlen(folder) + 1);
	coati_tracer_ask.flags = COATI_RECORDER_LABELS;
	atomic_fetch_add_explicit(&coati_tracer_ask.asked, 1, memory_order_release);
	answer();
	errno = keep;
}

/* ---- the end ---- */

static bool is_wanted(void)
{
	struct tracer_ask *a = &coati_tracer_ask;
	uint32_t watcher = atomic_load_explicit(&a->watcher, memory_order_relaxed);

	if (atomic_load_explicit(&a->released, memory_order_acquire) ==
	    atomic_load_explicit(&a->asked, memory_order_relaxed))
		return false;
	return !watcher || kill((pid_t)watcher, 0) == 0 || errno != ESRCH;
}

static void *end_it(void *ctx)
{
	uint32_t asked = atomic_load_explicit(&coati_tracer_ask.asked, memory_order_relaxed);

	(void)ctx;
	while (atomic_exchange_explicit(&ask.busy, 1, memory_order_acquire))
		sched_yield();
	coati_recorder_stop(&ask.recorder, NULL);
	atomic_store_explicit(&ask.started, 0, memory_order_relaxed);
	atomic_store_explicit(&ask.ending, 0, memory_order_relaxed);
	atomic_store_explicit(&coati_tracer_ask.ended, asked, memory_order_release);
	atomic_store_explicit(&ask.busy, 0, memory_order_release);
	return NULL;
}

/* The thread of the recorders cannot end itself: another one does. */
void coati_tracer_ask_look(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (!atomic_load_explicit(&ask.started, memory_order_acquire) || is_wanted() ||
	    atomic_exchange_explicit(&ask.ending, 1, memory_order_acquire))
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, end_it, NULL) != 0)
		atomic_store_explicit(&ask.ending, 0, memory_order_release); /* next time */
	pthread_attr_destroy(&attr);
}

void coati_tracer_ask_child(void)
{
	ask.recorder = NULL; /* the parent's */
	atomic_store_explicit(&ask.started, 0, memory_order_relaxed);
	atomic_store_explicit(&ask.busy, 0, memory_order_relaxed);
	atomic_store_explicit(&ask.ending, 0, memory_order_relaxed);
	coati_tracer_ask.path[0] = '\0';
	if (ask.environment)
		__atomic_store_n(&coati_tracer_gate, ~UINT64_C(0), __ATOMIC_RELAXED);
}
