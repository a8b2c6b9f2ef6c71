/* SPDX-License-Identifier: MIT */
/* Built with -fomit-frame-pointer, whatever the rest is built with. */
#include "unit/sampler-frames.h"

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((noinline, visibility("default")))

static volatile uint64_t sink; /* written by all threads; nobody reads it */

static void note(struct frames *f, void *caller)
{
	if (f->len < FRAMES_MAX)
		f->callers[f->len++] = (uint64_t)(uintptr_t)caller;
}

__attribute__((noinline)) static void with_room(struct frames *f, uint32_t depth)
{
	volatile char room[3072];

	note(f, __builtin_return_address(0));
	room[depth % sizeof(room)] = 1;
	coati_frames_down(f, depth);
	room[0] = 2; /* or it were a jump */
}

PUBLIC void coati_frames_down(struct frames *f, uint32_t depth)
{
	note(f, __builtin_return_address(0));
	if (!depth)
		f->leaf(f->ctx);
	else if (depth % 4 == 0)
		with_room(f, depth - 1);
	else
		coati_frames_down(f, depth - 1);
	__asm__ volatile("" ::: "memory"); /* or it were a jump */
}

PUBLIC void coati_frames_burn(uint32_t depth, uint64_t rounds)
{
	if (depth)
		coati_frames_burn(depth - 1, rounds);
	else
		for (uint64_t i = 0; i < rounds; i++)
			sink = i;
	__asm__ volatile("" ::: "memory");
}

PUBLIC void coati_frames_sleep(void *fd)
{
	struct pollfd p = { .fd = *(const int *)fd, .events = POLLIN };

	/* not by a function that a sanitizer replaces */
	syscall(SYS_ppoll, &p, 1UL, NULL, NULL, 8UL);
	__asm__ volatile("" ::: "memory");
}

PUBLIC void coati_frames_nap(void *ns)
{
	struct timespec t = { 0, *(const long *)ns };

	syscall(SYS_nanosleep, &t, NULL); /* whatever it returns */
	__asm__ volatile("" ::: "memory");
}
