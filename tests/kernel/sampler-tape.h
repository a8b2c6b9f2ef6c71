/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the sampler have in common: work that measures its own CPU time, and a profile
 * that is read back. Tolerances are those of the sampling itself, so that another load on the
 * machine does not matter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/event.h>
#include <coati/sampler.h>

#include "base/strbuf.h"
#include "lib/odds.h"

#define SHARES_MAX 16384

extern struct coati_error err;
extern volatile uint64_t sink; /* written by all threads; nobody reads it */
/*
 * Rounds of the parts below: 300, 180 and 120 us. Not known to the compiler: it would make
 * functions of other names for these.
 */
extern volatile uint64_t parts[3];

void burn_half(uint64_t n);
void burn_third(uint64_t n);
void burn_fifth(uint64_t n);

struct burnt {
	uint64_t half_ns, third_ns, fifth_ns;
	uint64_t thread_ns; /* of a thread: all that it used, its start too */
	int32_t tid;
};

/* Rounds that take about @ns on this machine, in this build. */
uint64_t rounds_for(uint64_t ns);
/* So much CPU time in the relation 5 : 3 : 2 or so, and how much it was. */
struct burnt burn(uint64_t cpu_ns);
/* As a thread; half_ns of the struct burnt that it gets says how long. */
void *burn_in_thread(void *arg);
uint64_t all_of(const struct burnt *b);
/* CPU time of the thread, and of the process. */
uint64_t thread_ns(void);
uint64_t usage_ns(void);

/*
 * The clock of the samples, counted: of this thread, or with COATI_ATTR_INHERIT also of those that
 * it starts. It goes on while the host has the CPU, as kernels with paravirtual time accounting do
 * not let the CPU time do.
 */
struct coati_event *counted_clock(uint64_t flags);
uint64_t counted_ns(struct coati_event *ev);

struct share {
	uint64_t id; /* of a function, or thread */
	uint64_t samples;
};

/* What the last profile says. */
struct sampler_tape {
	struct strbuf bytes;
	const char *texts[65536];
	size_t text_sizes[65536];
	uint32_t nr_texts;
	uint64_t leaf_name[65536];   /* text by function */
	uint64_t function_of[65536]; /* by location */
	struct share functions[SHARES_MAX], threads[SHARES_MAX], labels[SHARES_MAX];
	uint64_t samples, cpu_ns;
	uint64_t rooted; /* samples whose stack has the function @root */
};
extern struct sampler_tape profile;
/* A function; NULL: none. */
extern const char *root;

/* Skips where signals do not come when they come. */
void need_signals(void);
/* The rate of tests that want very many samples. On an emulated CPU a sample takes longer than the
 * period of 10000 Hz, and the thread that is sampled does nothing else. */
uint32_t top_rate_hz(void);
void start_sampler(uint32_t rate, enum coati_sampler_engine engine);
/* Stop, and read what was written. */
void stop_and_read(struct coati_sampler_stats *ret);
struct share *share_of(struct share *list, uint64_t id);
uint64_t samples_of_function(const char *name);
uint64_t samples_of_label(const char *value);
bool has_comment(const char *part);
/*
 * Makes the tries of the usual plan (lib/odds.h) and judges them: the test fails when more than 2
 * of 5 are off. What the host takes from a guest is in the samples, whose clock goes on, and not in
 * the CPU time, so a try that is off says nothing when the host took time from it. After 20 such
 * tries the test is skipped (need "quiet").
 */
void try_often(bool (*fn)(void));

#define SHARES_JUDGED_MAX 3
#define SHARE_ERROR	  0.05 /* of all samples */

/*
 * Calls @fn, which adds what a profile says of @nr shares, until there are enough samples, and
 * judges the shares once: the false-alarm rate is at most 1e-5, and a share that is off by 5 % of
 * all samples is found with the probability 0.99.
 */
void judge_shares(void (*fn)(struct odds_share *shares), unsigned int nr);
