/* SPDX-License-Identifier: MIT */
/*
 * What makes the signals: perf events, a timer on each thread, or one timer over the process. Each
 * is opened, then started; closing takes what is there. Called by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <coati/error.h>
#include <coati/sampler.h>

struct sampler_thread {
	int32_t tid;
	int fd; /* of a perf event; -1: none */
	timer_t timer;
	bool has_timer;
	bool is_there;
};

struct sampler_events {
	/* what is asked for */
	uint64_t asked_ns;
	uint64_t period_ns; /* of timers */
	uint64_t seed;	    /* of what is left to chance; any number */
	enum coati_sampler_clock clock;
	int32_t skip; /* the thread that is not sampled */
	int32_t only; /* the thread that alone is; 0: all */
	/* what there is */
	struct sampler_thread *threads;
	uint32_t len, cap;
	timer_t timer; /* over the process */
	bool has_timer;
	bool is_rest;	  /* that timer stands beside events or timers of threads */
	bool is_swapped;  /* perf events pass from thread to thread: engine-perf.c */
	bool no_kernel;	  /* what threads do inside the kernel is not sampled */
	uint32_t refused; /* threads that came later and could not be given a timer */
};

/* A period near the one that was asked for, another one each time: what works in step with the one
 * that was asked for would be hit at the same place again and again, or never. *seed moves on. */
uint64_t coati_sampler_dither(uint64_t period_ns, uint64_t *seed);
uint64_t coati_sampler_random(uint64_t *seed);

/* Open, but not running yet. */
int coati_sampler_open_perf(struct sampler_events *e, struct coati_error *err);
int coati_sampler_open_threads(struct sampler_events *e, struct coati_error *err);
int coati_sampler_open_timer(struct sampler_events *e, struct coati_error *err);
int coati_sampler_enable(struct sampler_events *e, struct coati_error *err);
/* Perf events: all off, or on again. */
void coati_sampler_switch(struct sampler_events *e, bool on);
void coati_sampler_close(struct sampler_events *e);
/* A timer over the CPU time of the process, with the signal @sig, beside what samples each thread:
 * rest.c says what it is for. It runs at once. */
int coati_sampler_add_rest(struct sampler_events *e, int sig);
/* Whether the kernel gives the signal of such a timer to the thread that ran at its tick. */
bool coati_sampler_can_rest(void);
/* Timers for threads that have come since, none for those that have gone. */
void coati_sampler_look(struct sampler_events *e);

/* The CPU clock of a thread of this process. */
static inline clockid_t sampler_thread_clock(int32_t tid)
{
	return (clockid_t)(~(uint32_t)tid << 3 | 6); /* as in the kernel's posix-timers_types.h */
}

/* ---- between the files of the engines ---- */

/* Whether the running kernel is this one or newer, for what cannot be tried out. */
bool coati_sampler_kernel_is(unsigned int major, unsigned int minor);

/* Opens what a new thread needs: 1 added, 0 it is gone meanwhile, negative. */
typedef int (*sampler_add_fn)(struct sampler_events *e, struct sampler_thread *t);

/* Every thread that is to be sampled and is not known yet: how many were added, or negative. Marks
 * those that are there. */
int coati_sampler_add_threads(struct sampler_events *e, sampler_add_fn add);
