/* SPDX-License-Identifier: MIT */
/* BPF perf event arrays: what the tests and the tool need besides <coati/ring.h>. */
#pragma once

#include <coati/ring.h>

/* coati_bpf_array_opts.flags */
/* overwritable rings, read by coati_ring_snapshot() */
#define COATI_BPF_ARRAY_BACKWARD (UINT32_C(1) << 0)

struct coati_bpf_array_info {
	uint32_t entries; /* of the map */
	uint32_t open;	  /* CPUs that are read now */
	uint32_t offline; /* possible CPUs that are not online */
	/* online CPUs whose number is past the map's end: programs on them get -E2BIG */
	uint32_t uncovered;
};

/* Take the events out of the map (programs get -ENOENT, nothing counts as lost) and put them back.
 * Idempotent; -EBADF when the reader is closed.  Thread: any. */
int coati_bpf_array_pause(struct coati_bpf_array *array, struct coati_error *err);

int coati_bpf_array_resume(struct coati_bpf_array *array, struct coati_error *err);

/* CPUs came or went: open the new ones, end those that are gone. The number of changes.  Thread:
 * reader only. */
int coati_bpf_array_rescan(struct coati_bpf_array *array, struct coati_error *err);

void coati_bpf_array_get_info(const struct coati_bpf_array *array,
			      struct coati_bpf_array_info *ret);
