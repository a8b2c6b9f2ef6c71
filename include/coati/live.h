/* SPDX-License-Identifier: MIT */
/*
 * libcoati-live: what a program embeds. Needs libc alone. Loading it starts no thread, opens no descriptor,
 * installs no handler and allocates nothing.
 *
 * Here now: the clock of the live side. Everything at rest in coati is CLOCK_MONOTONIC nanoseconds; inside a
 * program the cycle counter is read instead, and converted with a calibration whose error is known.
 */
#ifndef COATI_LIVE_H
#define COATI_LIVE_H

#include <stdint.h>

#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded libcoati-live.  Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API COATI_SIGSAFE const char *coati_live_version(void);

/* How the live clock runs. */
struct coati_live_clock {
	uint32_t source;      /* 0 clock_gettime, 1 cycle counter */
	uint32_t mult, shift; /* ns = (cycles - cycles_base) * mult >> shift, + ns_base */
	uint32_t reserved;
	uint64_t cycles_base, ns_base;
	uint64_t error_ns; /* bound of the conversion at the end of the calibration */
	uint64_t hz;	   /* of the cycle counter, 0 when it is not used */
};

/* Calibrate for about @budget_ns (0: 2 ms) and describe the clock. Where the cycle counter is not invariant, or the
 * pairs contradict each other, source is 0.  Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API COATI_SIGSAFE int coati_live_clock_init(struct coati_live_clock *ret, uint64_t budget_ns);
/* Now, in CLOCK_MONOTONIC nanoseconds by @clock.  Hot.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE uint64_t coati_live_clock_now(const struct coati_live_clock *clock);

#ifdef __cplusplus
}
#endif
#endif
