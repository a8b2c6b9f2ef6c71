/* SPDX-License-Identifier: MIT */
/* What /proc says of a thread or the threads of a process. @procfs NULL: /proc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many threads a process has; 0: there is no such process. */
uint64_t coati_thread_count(const char *procfs, int32_t pid);
/* The process of a thread; 0: there is no such thread. */
int32_t coati_thread_process(const char *procfs, int32_t tid);
/* The same from the text of its file status, which is changed. */
int32_t coati_thread_process_in(char *status);
/* Has it begun to end, or is it gone? */
bool coati_thread_is_ending(const char *procfs, int32_t tid);
/* How often it left a CPU so far. False: it is gone, or the kernel does not count that. */
bool coati_thread_slices(const char *procfs, int32_t tid, uint64_t *ret);
/* Call @fn for each thread of a process until it returns something else than 0, which is
 * returned. */
int coati_thread_each(const char *procfs, int32_t pid, int (*fn)(void *ctx, int32_t tid),
		      void *ctx);
