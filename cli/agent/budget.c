/* SPDX-License-Identifier: MIT */
/*
 * What the agent costs: CPU time of this process and of its programs in the kernel, and memory.
 * Over the budget the rate is halved, then the depth of stacks; well below it they come back. Each
 * sample says what it stands for, so that weights stay right.
 */
#include <malloc.h>
#include <sys/resource.h>

#include "agent/machine.h"
#include "base/clock.h"
#include "capture/session.h"
#include "cli/agent/session.h"
#include "cli/talk.h"
#include "image/hold.h"

#define HEAP_BLOCK     (128 << 10)
#define HEAP_ARENAS    2
#define LEAST_HZ       1.0
#define LEAST_FRAMES   16
#define ALL_FRAMES     127
#define OVER_WINDOWS   2
#define UNDER_WINDOWS  6
#define SETTLE_WINDOWS 2
#define GIVE_BACK      ((uint64_t)256 << 10) /* what is read of a file again takes less than a ms */

static uint64_t own_cpu(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static uint64_t walker_ns(const struct agent_session *s)
{
	struct coati_capture_stats st = { .size = sizeof(st) };

	if (!s->cap)
		return 0;
	coati_capture_get_stats(s->cap, &st);
	return st.walk_ns;
}

void coati_agent_budget_start(struct agent_session *s)
{
	s->budget.rate_hz = (double)agent_rate(s->args);
	s->budget.max_frames = s->args->max_stack;
	s->budget.cpu_ns = own_cpu();
	s->budget.at_ns = now_ns();
}

static void lower(struct agent_session *s)
{
	struct agent_budget *b = &s->budget;
	uint32_t frames = b->max_frames ? b->max_frames : ALL_FRAMES;

	if (coati_armed_shrink(&s->armed)) {
		coati_note("cost %.2f %% of the machine: nothing is traced until a condition holds",
			   100 * b->share);
	} else if (b->rate_hz / 2 >= LEAST_HZ) {
		b->rate_hz /= 2;
		b->wants_restart = true;
		coati_note("cost %.2f %% of the machine: sampling at %.1f Hz now", 100 * b->share,
			   b->rate_hz);
	} else if (frames / 2 >= LEAST_FRAMES) {
		b->max_frames = frames / 2;
		b->wants_restart = true;
		coati_note("cost %.2f %% of the machine: stacks of at most %u frames now",
			   100 * b->share, b->max_frames);
	}
}

static void come_back(struct agent_session *s)
{
	struct agent_budget *b = &s->budget;
	double asked = (double)agent_rate(s->args);

	if (b->max_frames != s->args->max_stack) {
		b->max_frames = s->args->max_stack;
		b->wants_restart = true;
	} else if (b->rate_hz < asked) {
		b->rate_hz = b->rate_hz * 2 < asked ? b->rate_hz * 2 : asked;
		b->wants_restart = true;
	}
}

static void measure(struct agent_session *s)
{
	struct agent_budget *b = &s->budget;
	uint64_t cpu = own_cpu(), walk = walker_ns(s), now = now_ns();
	uint64_t passed = now > b->at_ns ? now - b->at_ns : 1;

	b->own_cpu_ns = cpu - b->cpu_ns;
	b->own_kernel_ns = walk > b->walk_ns ? walk - b->walk_ns : 0;
	b->share = (double)(b->own_cpu_ns + b->own_kernel_ns) / (double)passed /
		   (double)(s->nr_cpus ? s->nr_cpus : 1);
	b->cpu_ns = cpu;
	b->walk_ns = walk;
	b->at_ns = now;
}

/* The heap of a program that runs for months: large blocks are pages of their own, and freed ones
 * go back to the kernel. */
void coati_agent_memory_start(void)
{
	mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK);
	mallopt(M_ARENA_MAX, HEAP_ARENAS);
}

/* What the window needed and the next one reads again if it needs it. */
void coati_agent_memory_trim(struct agent_session *s)
{
	coati_agent_build_clear(&s->build);
	if (s->cap)
		coati_images_give_back(coati_capture_images(s->cap), GIVE_BACK);
	malloc_trim(0);
}

static void look_at_memory(struct agent_session *s)
{
	struct agent_budget *b = &s->budget;
	uint64_t bytes = coati_machine_own_memory();

	if (!coati_memory_guard(&b->memory, now_ns(), bytes, s->args->memory))
		return;
	b->wants_restart = true;
	if (b->memory.restarts == 1)
		coati_note("memory of %llu MiB is over the limit of %llu MiB: sampling begins "
			   "anew now, and again when it has to, at growing intervals",
			   (unsigned long long)(bytes >> 20),
			   (unsigned long long)(s->args->memory >> 20));
}

void coati_agent_budget_look(struct agent_session *s)
{
	struct agent_budget *b = &s->budget;

	measure(s);
	look_at_memory(s);
	/* what opening costs is no sign of what sampling costs */
	if (now_ns() - s->capture_ns < SETTLE_WINDOWS * s->args->window_ns)
		return;
	b->over = b->share > s->args->budget ? b->over + 1 : 0;
	b->under = b->share < s->args->budget / 4 ? b->under + 1 : 0;
	if (b->over >= OVER_WINDOWS) {
		b->over = 0;
		lower(s);
	}
	if (b->under >= UNDER_WINDOWS) {
		b->under = 0;
		come_back(s);
	}
}
