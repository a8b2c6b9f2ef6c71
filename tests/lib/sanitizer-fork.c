/* SPDX-License-Identifier: MIT */
/*
 * fork() under ASan. The runtimes before clang 17 do not hold their own locks over a fork(): what a
 * thread that starts or allocates at that instant holds stays locked in the child, which then waits
 * forever in malloc(), free() or pthread_create(). This holds them, as newer runtimes do. The names
 * are private to the runtime; where one is missing nothing is done.
 */
#include "lib/sanitizer.h"

#include <pthread.h>
#include <stdlib.h>

#if defined(UNDER_ASAN) && __clang_major__ < 17

#define RUNTIME(name) __asm__(name) __attribute__((weak))

void runtime_lock_threads(void) RUNTIME("_ZN6__lsan18LockThreadRegistryEv");
void runtime_unlock_threads(void) RUNTIME("_ZN6__lsan20UnlockThreadRegistryEv");
void runtime_lock_memory(void) RUNTIME("_ZN6__lsan13LockAllocatorEv");
void runtime_unlock_memory(void) RUNTIME("_ZN6__lsan15UnlockAllocatorEv");
void runtime_lock_stacks(void) RUNTIME("_ZN11__sanitizer17StackDepotLockAllEv");
void runtime_unlock_stacks(void) RUNTIME("_ZN11__sanitizer19StackDepotUnlockAllEv");

/* A thread that starts takes them in this order. */
static void before_fork(void)
{
	runtime_lock_threads();
	runtime_lock_memory();
	runtime_lock_stacks();
}

static void after_fork(void)
{
	runtime_unlock_stacks();
	runtime_unlock_memory();
	runtime_unlock_threads();
}

void sanitizer_prepare_fork(void)
{
	if (runtime_lock_threads && runtime_unlock_threads && runtime_lock_memory &&
	    runtime_unlock_memory && runtime_lock_stacks && runtime_unlock_stacks &&
	    pthread_atfork(before_fork, after_fork, after_fork))
		abort();
}

#else

void sanitizer_prepare_fork(void)
{
}

#endif
