/* SPDX-License-Identifier: MIT */
/* Marks used by the public headers: what is exported, and what a signal handler may call. */
#ifndef COATI_VISIBILITY_H
#define COATI_VISIBILITY_H

#if defined(__GNUC__)
#define COATI_API		__attribute__((visibility("default")))
#define COATI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define COATI_API
#define COATI_PRINTF(fmt, args)
#endif

/* Documents that a function may be called from a signal handler; tools/check-signal-safe proves
 * it for the objects of src/live. */
#define COATI_SIGSAFE

#endif
