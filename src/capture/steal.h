/* SPDX-License-Identifier: MIT */
/* Time that the host of a virtual machine took from its CPUs, and when it did. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Of all CPUs together since the start of the machine, as /proc/stat reports it in steps of a clock
 * tick. @procfs NULL: /proc. -ENODATA: the kernel does not report it.
 */
int coati_steal_read(const char *procfs, uint64_t *ret_ns);
/* One such step. */
uint64_t coati_steal_step_ns(void);

#define STEAL_WINDOWS  1024
#define STEAL_EVERY_NS 50000000 /* between two readings: one costs about 12 us */
#define STEAL_LINE     80	/* bytes of a window as text, at most */

/*
 * Windows between two readings in which the count grew. The count shows whole ticks: where it does
 * not grow less than a tick was taken, and where it grows less than a tick more than it shows. When
 * there are too many windows, each two neighbors become one.
 */
struct steal_log {
	struct {
		uint64_t begin, end, ns;
	} v[STEAL_WINDOWS];
	uint32_t nr;
	uint64_t first, last; /* readings; first UINT64_MAX: the kernel does not report it */
	uint64_t begin_ns;    /* when it was read first, */
	uint64_t read_ns;     /* and last */
};

/* Forget everything, and read for the first time. */
void coati_steal_begin(struct steal_log *log, const char *procfs, uint64_t now_ns);
/* Read again, unless that was done less than STEAL_EVERY_NS ago. */
void coati_steal_look(struct steal_log *log, const char *procfs, uint64_t now_ns);
/* The next time to read; UINT64_MAX: nothing was ever taken from this machine. */
uint64_t coati_steal_next(const struct steal_log *log);
/*
 * The last reading, and everything as lines for the recording: at most so much in all, in each
 * window, and between them. Each has one step more than the count grew. Takes at most STEAL_BYTES
 * of @text; how many.
 */
#define STEAL_BYTES (100 + (2 * STEAL_WINDOWS + 1) * STEAL_LINE)
size_t coati_steal_print(struct steal_log *log, const char *procfs, uint64_t now_ns, char *text,
			 size_t size);
