/* SPDX-License-Identifier: MIT */
/*
 * A stage on which programs are played for coati why: threads with a clock each that run, wait and
 * work on tasks; a sampler; a host that takes CPU time away, and a kernel that reports it in clock
 * ticks. What they do is put on a tape, and a timeline is made of it. Everything is drawn from a
 * seed, so that a play is the same each time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "reading/wait.h"
#include "trace/timeline.h"

#define STAGE_TYPICAL 500000.0 /* ns that a request computes, usually */

struct stage_event {
	struct coati_timeline_event e;
	uint64_t number; /* order of events at the same time */
};

struct stage_burst {
	double begin, end;
};

struct stage {
	uint64_t random;
	double tick_ns;		 /* of the sampler; 0: there is none */
	double bursts, burst_ns; /* of the host: how many in a second of running; their mean */
	bool told;		 /* whether the kernel reports them */
	uint64_t next_task;
	ARRAY(struct stage_event) tape;
	ARRAY(struct stage_burst) taken;
};

struct actor {
	struct stage *s;
	int32_t tid;
	double now, next_tick, next_burst;
};

void stage_init(struct stage *s, uint64_t seed);
/* The timeline of everything on the tape. The stage is empty then. */
struct coati_timeline *stage_end(struct stage *s);

/* Numbers by chance: 0 to 1, with the mean 1, and around 1 with a spread. */
double stage_draw(struct stage *s);
double stage_exponential(struct stage *s);
double stage_lognormal(struct stage *s, double sigma);

/* A thread that runs from this time on. */
void actor_init(struct actor *a, struct stage *s, int32_t tid, double now);
/* Work that takes @ns, and longer when the host takes CPU time. */
void actor_run(struct actor *a, double ns);
/* As much work in page faults. */
void actor_fault(struct actor *a, double ns);
/* Wait until a time; @waker ends it. */
void actor_wait(struct actor *a, enum coati_wait wait, double until, int32_t waker);
/* Somebody else has the CPU until a time. */
void actor_preempt(struct actor *a, double until);
/* Another host's work: a burst now. */
void actor_lose(struct actor *a, double ns);

/* A task that begins at a time, told by the thread; its number. */
uint64_t actor_begin(struct actor *a, const char *type, double time);
void actor_enter(struct actor *a, uint64_t task);
void actor_end(struct actor *a, uint64_t task);
void actor_region(struct actor *a, const char *name); /* NULL: its end */

/* ---- plays and what is to be said about them ---- */

struct stage_play {
	const char *name;
	void (*play)(struct stage *s);
	enum coati_why_answer answer;
	const char *causes[3]; /* that must be named */
	const char *may;       /* one that may be named, too */
	const char *hog_type, *hog_region;
};

/*
 * Each play for some rounds: at least 95 of a hundred get the right answer, and at most 2 get a
 * wrong one that is not "cannot tell". With @only_report nothing fails.
 */
void stage_check(const struct stage_play *plays, size_t nr, unsigned int rounds, bool only_report);
