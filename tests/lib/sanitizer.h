/* SPDX-License-Identifier: MIT */
/* Which sanitizer a test is built with, for what cannot be claimed under it. */
#pragma once

#include "lib/test.h"

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1 /* no new threads in a child of a process that has some; signals come late */
#endif
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1 /* an allocation that cannot be ends the program */
#endif
#endif

/* Before any thread and any other handler of fork(): lets children of processes with threads
 * allocate and start threads. */
void sanitizer_prepare_fork(void);

/* TSan has a thread of its own: in the child that a test runs in, the loader is not asked. */
static inline void skip_where_the_loader_is_not_asked(void)
{
#ifdef UNDER_TSAN
	test_skip("TSan has a thread of its own: a child after fork() does not ask the loader");
#endif
}
