/* SPDX-License-Identifier: MIT */
/*
 * Fibers: programs that switch between several stacks on one thread (ucontext, coroutines,
 * Boost.Context) report each switch to libcoati-live. Regions, the current task and labels then
 * belong to the fiber, not to the thread.
 *
 *	coati_fiber_create(&fiber, &err);
 *	...
 *	coati_fiber_switch(fiber);		from here on this thread runs the fiber
 *	swapcontext(&scheduler, &context);
 *	coati_fiber_switch(NULL);		it runs its own code again
 *	...
 *	coati_fiber_end(&fiber);
 *
 * Call coati_fiber_switch() directly before each switch of the program, or directly before and
 * after it as above. A fiber may run on one thread and later on another. C++ has coati::fiber and
 * coati::running in <coati/live.hpp>.
 *
 * Labels and task: a fiber starts with those of the thread or fiber that creates it. Changes stay
 * with the fiber. Samples carry the labels of the running fiber, and external profilers see them as
 * well.
 *
 * Regions of a fiber are nested in the open regions of its thread. A recording has one slice of a
 * region for each period in which its fiber ran: switching away ends the slice, switching back
 * begins the next one, so the duration is time on a thread. Use a task to measure the total time
 * including waiting. The minimum duration of a lazy region applies to its last slice. For regions
 * deeper than 128 the next slice is lost, and counted.
 *
 * Time between the program's own switch and coati_fiber_switch() is attributed to the previous
 * fiber. Fibers remain valid in the child of a fork().
 *
 * All functions: Thread: any; a fiber runs on one thread at a time.  Signal: not safe.
 */
#ifndef COATI_FIBER_H
#define COATI_FIBER_H

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coati_fiber;

/* Create a fiber: about 4 KB of memory. -ENOMEM. */
COATI_API int coati_fiber_create(struct coati_fiber **ret, struct coati_error *err);
/* From here on this thread runs @fiber; NULL: its own code. A thread must switch back to its own
 * code before it exits. -EBUSY: another thread runs it; nothing has changed.  Memory: never
 * allocates. */
COATI_API int coati_fiber_switch(struct coati_fiber *fiber);
/* Free it, and set *@fiber to NULL. If this thread runs it, the thread switches to its own code
 * first. NULL is fine. -EBUSY: another thread runs it; nothing has changed. */
COATI_API int coati_fiber_end(struct coati_fiber **fiber);

#ifdef __cplusplus
}
#endif
#endif
