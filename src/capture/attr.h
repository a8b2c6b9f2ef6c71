/* SPDX-License-Identifier: MIT */
/*
 * How an event samples. In: an event as it was asked for and what holds for the whole capture. Out:
 * the attributes to open it with. All events of a capture have the same identity (IDENTIFIER, TID,
 * TIME, CPU), so that any record of any ring can be identified by its bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/capture.h>

#define CAPTURE_DEFAULT_HZ    1000
#define CAPTURE_DEFAULT_STACK 8192
#define CAPTURE_STACK_MAX     65528

#if defined(__x86_64__)
#define USER_REG_SP 7
#define USER_REG_PC 8
#elif defined(__aarch64__)
#define USER_REG_SP 31
#define USER_REG_PC 32
#endif

#define CAPTURE_IDENTITY                                                                    \
	(COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP | COATI_SAMPLE_TID | COATI_SAMPLE_TIME | \
	 COATI_SAMPLE_CPU)
/* Where those lie in a sample, header included. */
#define CAPTURE_ID_AT	8
#define CAPTURE_TID_AT	24
#define CAPTURE_TIME_AT 32

/* How the stacks of event @d are taken; never AUTO. */
enum coati_stacks coati_capture_stacks(const struct coati_event_desc *d,
				       const struct coati_capture_opts *opts);
/* The attributes of event @i of @list. @table_bytes: of the stack to copy for TABLE when the size
 * is not given. */
void coati_capture_attr(const struct coati_event_list *list, uint32_t i,
			const struct coati_capture_opts *opts, uint32_t table_bytes,
			struct coati_attr *ret);
/* The event that takes no samples but tells of processes, mappings and the kernel; rings of
 * @ring_bytes are mapped by it. */
void coati_capture_side_attr(const struct coati_capture_opts *opts, uint64_t ring_bytes,
			     struct coati_attr *ret);
/* Event @i of those that ask for a snapshot. */
void coati_capture_when_attr(const struct coati_capture_opts *opts, uint32_t i,
			     struct coati_attr *ret);
