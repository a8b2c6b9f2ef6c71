/* SPDX-License-Identifier: MIT */
/* How much memory the kernel lets us lock for rings: the limits, and what follows from them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What the mlock budget allows for @nr_rings rings at once: bytes of data per ring, a power of two
 * of pages; 0 when not even one page fits, UINT64_MAX when there is no limit for us. What other
 * processes of this user hold is not seen. */
uint64_t coati_ring_budget(uint32_t nr_rings);

struct coati_ring_limits {
	uint64_t mlock_kb;	/* kernel.perf_event_mlock_kb, per online CPU and user */
	uint64_t cpus;		/* online */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK, UINT64_MAX: none */
	uint64_t pinned_bytes;	/* already locked by this process (VmPin) */
	uint64_t page_bytes;
	bool exempt; /* CAP_IPC_LOCK, or kernel.perf_event_paranoid is -1 */
};

/* The limits of this process; @procfs is "/proc". What cannot be read counts as the kernel's
 * default. */
void coati_ring_limits_read(const char *procfs, struct coati_ring_limits *ret);
/* As coati_ring_budget(). */
uint64_t coati_ring_limits_share(const struct coati_ring_limits *limits, uint32_t nr_rings);
