/* SPDX-License-Identifier: MIT */
/*
 * Targets with many threads (scope.h). The events are those of the CPUs, the walker lets only
 * samples of the targets through, and records that no program sees are sifted here (sieve.h). The
 * kernel does not tell by an event when the targets are over: the walker counts it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/sieve.h"

struct coati_capture;

struct filter {
	bool is_on;
	uint32_t nr_given; /* targets that the walker has, or had */
	struct sieve sieve;
};

/* Before anything is opened: do all targets live? -ESRCH. */
int coati_filter_live(const struct coati_capture *cap);
/* The side-band events run, and the walker is loaded: its targets. Those that follow from them are
 * known from now on. Negative errno. */
int coati_filter_start(struct coati_capture *cap);
void coati_filter_close(struct filter *f);
/* A record on its way, with its id: as it is to be written, or NULL. Lives until the next call. */
const uint8_t *coati_filter_pass(struct coati_capture *cap, const uint8_t *record);
/* Now and then: have all targets that were given ended? */
bool coati_filter_is_over(const struct coati_capture *cap);
