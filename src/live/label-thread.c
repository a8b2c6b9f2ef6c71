/* SPDX-License-Identifier: MIT */
/*
 * The state of labels in a thread: made at its first change, taken away when it exits. Destructors
 * that run after ours may set labels again; they get a state again, which goes in the next round,
 * but not in the last one, after which there is no cleanup.
 */
#include "live/labels.h"

#include <limits.h>
#include <pthread.h>

#include "base/alloc.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;
static LABEL_TLS uint8_t rounds;

/* The pointers first: a reader that stops this thread afterwards finds none. */
static void thread_exits(void *state)
{
	struct label_thread *t = state;

	rounds++;
	if (coati_label_thread_ends)
		coati_label_thread_ends(t);
	atomic_store_explicit(&coati_label_context, NULL, memory_order_release);
	atomic_store_explicit(&coati_label_self, NULL, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	coati_free(t);
}

/* So that scopes that longjmp() left are known. Where it cannot be said nothing is done about them.
 *  */
static void find_stack(struct label_thread *t)
{
	pthread_attr_t attr;
	void *low;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size) && size < UINT32_MAX) {
		t->stack_top = (uint64_t)(uintptr_t)low + size;
		t->stack_size = size;
	}
	pthread_attr_destroy(&attr);
}

static void make_key(void)
{
	key_error = pthread_key_create(&key, thread_exits);
}

struct label_thread *coati_label_thread_start(void)
{
	struct label_thread *t = NULL;

	pthread_once(&once, make_key);
	if (!key_error && rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
		t = coati_alloc(sizeof(*t));
	if (!t || pthread_setspecific(key, t)) {
		coati_free(t);
		label_lose(LOSS_MEMORY);
		return NULL;
	}
	find_stack(t);
	t->records[0].valid = t->records[1].valid = 1;
	atomic_store_explicit(&t->now, &t->records[0], memory_order_relaxed);
	atomic_store_explicit(&coati_label_context, &t->records[0], memory_order_release);
	/* pairs with: acquire in coati_labels_snapshot() */
	atomic_store_explicit(&coati_label_self, t, memory_order_release);
	if (coati_label_thread_begins)
		coati_label_thread_begins(t);
	return t;
}
