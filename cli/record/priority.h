/* SPDX-License-Identifier: MIT */
/*
 * The priority of the recorder while it reads ring buffers: where the machine is busy, a recorder
 * that waits for a CPU like other processes loses records.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

/* SCHED_FIFO with @realtime, which must be allowed; 0: nice -10 where that is allowed. Threads and
 * processes that are started later inherit it only if they are threads of the recorder. */
int coati_record_priority_raise(uint32_t realtime, struct coati_error *err);
/* As it was: names are looked up at the end, which is not urgent. */
void coati_record_priority_restore(void);
