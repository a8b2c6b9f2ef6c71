/* SPDX-License-Identifier: MIT */
/* A reader over three rings in memory, for tests. */
#pragma once

#include <stdint.h>

#include <coati/ring.h>

#include "base/clock.h"
#include "lib/fake-ring.h"
#include "ring/reader.h"

#define PAGE	 UINT64_C(4096)
#define FAR	 (60 * NSEC_PER_SEC)
#define LITTLE	 (20 * NSEC_PER_MSEC)
#define NR_RINGS 3

/* A reader over rings in memory, each with an eventfd in place of the kernel's wakeup. */
struct rig {
	struct coati_reader *rd;
	struct fake_ring f[NR_RINGS];
	int bell[NR_RINGS];
};

void rig_open(struct rig *rig, enum coati_ring_kind kind, const struct coati_reader_opts *opts);
void rig_close(struct rig *rig);
/* A sample into ring @i; it wakes no reader. */
void rig_put(struct rig *rig, int i, uint64_t number);
/* Wake the reader as the kernel does for ring @i. */
void rig_ring(struct rig *rig, int i);
/* The next item is this sample of this ring. */
void rig_expect(struct rig *rig, int key, uint64_t number);
int64_t rig_from_now(uint64_t ns);
