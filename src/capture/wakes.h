/* SPDX-License-Identifier: MIT */
/*
 * Wakeups of the threads that are recorded, by whomever. The kernel reports a wakeup where the
 * waker runs, and an event of the woken thread writes no sample while that thread is off its CPU.
 * So the event watches all CPUs, and a filter of the kernel passes on the wakeups of the threads
 * that are recorded: those that exist, by their numbers, and those that they will start, which have
 * numbers above the last one that was given away.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/capture.h>

#include "base/map.h"
#include "capture/tally.h"

#define WAKES_RANGES_MAX 64
/* Room for the longest filter. */
#define WAKES_FILTER_BYTES 4096

struct coati_capture;

/* The filter for the threads of @o by the number in @field, "" to take all: where numbers are about
 * to start again from the bottom. @text has WAKES_FILTER_BYTES. A thread too many costs a record
 * that readers skip. -ENOMEM; -ESRCH: no thread lives. */
int coati_wakes_filter(const struct coati_capture_opts *o, const char *field, char *text);
/* Names of the wakers that came up since the last call and are not recorded themselves: as COMM
 * records. */
int coati_wakes_name(struct coati_capture *cap);
