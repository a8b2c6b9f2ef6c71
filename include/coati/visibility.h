/* SPDX-License-Identifier: MIT */
/*
 * Macros of the public headers: which functions are exported, and which a signal handler may call.
 *
 * Declarations that may still change are visible only when COATI_EXPERIMENTAL is defined as 1
 * before the first include; docs/stability.md says what that means.
 */
#ifndef COATI_VISIBILITY_H
#define COATI_VISIBILITY_H

#if defined(__GNUC__)
#define COATI_API		__attribute__((visibility("default")))
#define COATI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define COATI_API
#define COATI_PRINTF(fmt, args)
#endif

/* For functions that are called so often that the indirection through the procedure linkage table
 * matters. */
#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(noplt)
#define COATI_HOT __attribute__((noplt))
#endif
#endif
#ifndef COATI_HOT
#define COATI_HOT
#endif

/* Documents that a function may be called from a signal handler; tools/check-signal-safe proves
 * it for the objects of src/live. */
#define COATI_SIGSAFE

#endif
