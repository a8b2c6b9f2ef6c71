/* SPDX-License-Identifier: MIT */
/* What glibc says of the callers. The address sanitizer puts a function of its own in front of
 * backtrace(), which then is the first frame. */
#pragma once

#include <execinfo.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define JUDGE_OWN_FRAMES 1
#endif
#endif
#if !defined(JUDGE_OWN_FRAMES) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define JUDGE_OWN_FRAMES 1
#endif
#ifndef JUDGE_OWN_FRAMES
#define JUDGE_OWN_FRAMES 0
#endif

/* Always inlined: the first frame is the caller's own. */
__attribute__((always_inline)) static inline int judge(void **ret, int max)
{
	int n = backtrace(ret, max);

	memmove(ret, ret + JUDGE_OWN_FRAMES, (size_t)(n - JUDGE_OWN_FRAMES) * sizeof(*ret));
	return n - JUDGE_OWN_FRAMES;
}
