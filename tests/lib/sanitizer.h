/* SPDX-License-Identifier: MIT */
/* Which sanitizer a test is built with, for what cannot be claimed under it. */
#pragma once

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1 /* no new threads in a child of a process that has some; signals come late */
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1 /* an allocation that cannot be ends the program */
#endif
#endif
