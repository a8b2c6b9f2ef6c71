/* SPDX-License-Identifier: MIT */
/*
 * Fibers: programs that switch between several stacks on one thread (ucontext, coroutines,
 * Boost.Context) tell libcoati-live when they do. Regions, the task that is worked on and labels
 * then belong to the fiber, not to the thread.
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
 * after as above. A fiber may run on one thread and later on another. C++ has coati::fiber and
 * coati::running in <coati/live.hpp>.
 *
 * Labels and task: a fiber starts with those that the thread (or fiber) has which creates it.
 * Changes stay with the fiber. Samples carry the labels of the fiber that runs, and profilers
 * outside find them, too.
 *
 * Regions: those of a fiber lie inside the regions that the thread has open. A recording has one
 * slice of a region for each stretch in which its fiber ran: the switch away ends the slice, the
 * switch back begins the next one, so its time is time on a thread. The time in all, with the
 * waiting, is that of a task. A lazy region is judged by its last slice. Of regions deeper than 128
 * the next slice is lost, and counted.
 *
 * What a program does between its own switch and coati_fiber_switch() is charged to the fiber
 * before. In the child after fork() fibers stay what they are.
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

/* About 4 KB of memory. -ENOMEM. */
COATI_API int coati_fiber_create(struct coati_fiber **ret, struct coati_error *err);
/* From here on this thread runs @fiber; NULL: its own code. A thread switches back to its own code
 * before it exits.
 * -EBUSY: another thread runs it; nothing has changed.  Memory: never allocates. */
COATI_API int coati_fiber_switch(struct coati_fiber *fiber);
/* Free it, and set *@fiber to NULL. One that this thread runs is left first. NULL is fine.
 * -EBUSY: another thread runs it; nothing has changed. */
COATI_API int coati_fiber_end(struct coati_fiber **fiber);

#ifdef __cplusplus
}
#endif
#endif
