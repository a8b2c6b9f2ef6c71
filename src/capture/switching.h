/* SPDX-License-Identifier: MIT */
/*
 * Targets that switch often. At a context switch the kernel takes each event of the thread that
 * leaves from the CPU and puts each event of the next one there, with the timer of its clock: two
 * threads that hand a byte to each other ran at a third of their speed. So where switches are
 * recorded anyway, and are mostly those of the targets, events of the CPUs are cheaper (scope.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SWITCHING_MANY	20000 /* a second, of all targets together */
#define SWITCHING_SHARE 4     /* and a quarter of the machine's */

struct coati_capture;

/* Watches the targets for some milliseconds. */
bool coati_switching_often(const struct coati_capture *cap);
/* How often threads of the targets left a CPU so far, and all threads of the machine. False: the
 * kernel does not tell. */
bool coati_switching_count(const struct coati_capture *cap, uint64_t *ret, uint64_t *ret_all);
