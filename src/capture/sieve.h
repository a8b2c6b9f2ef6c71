/* SPDX-License-Identifier: MIT */
/*
 * Records of the targets alone, where events are those of the CPUs and the kernel writes side-band
 * records, context switches and interrupts of the whole machine. In: the targets at the beginning,
 * then every FORK of the machine. Out: which records are kept, and context switches as events of
 * the targets themselves would have written them.
 *
 * A target is a thread, or a process with all of its threads. What a target starts is a target,
 * too. Side-band records of a process are kept when any of its threads is a target: what one thread
 * maps all of them use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>

#include "base/array.h"
#include "base/map.h"

#define SIEVE_RECORD_MAX 256 /* bytes of a context switch */

struct sieve_fork {
	uint32_t pid, ppid, tid, ptid;
	uint64_t round;
};

struct sieve {
	struct map processes; /* all threads of which are targets */
	struct map threads;   /* that are targets by themselves */
	struct map homes;     /* processes of such threads */
	/* whose parents are not known to be targets: a parent's own FORK may be in another ring */
	ARRAY(struct sieve_fork) forks;
	uint64_t round;
	bool follows;
	uint8_t record[SIEVE_RECORD_MAX];
};

void coati_sieve_init(struct sieve *s, bool follows);
void coati_sieve_fini(struct sieve *s);
/* 1: added, 0: it was there; -ENOMEM, -E2BIG. */
int coati_sieve_add_process(struct sieve *s, uint32_t pid);
int coati_sieve_add_thread(struct sieve *s, uint32_t pid, uint32_t tid);
/* A FORK, in any order within a round; other records do nothing. -ENOMEM. */
int coati_sieve_feed(struct sieve *s, const uint8_t *record);
/* All records of a round were fed: those that are older than it can be asked for. -ENOMEM. */
int coati_sieve_settle(struct sieve *s);
/* Is this a thread whose samples are taken? */
bool coati_sieve_has(const struct sieve *s, uint32_t pid, uint32_t tid);
/* A record that is no sample: itself, as it is to be written, or NULL. @format: of its trailer.
 * Lives until the next call. */
const uint8_t *coati_sieve_pass(struct sieve *s, const uint8_t *record,
				const struct coati_sample_format *format);
