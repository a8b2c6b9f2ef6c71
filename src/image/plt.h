/* SPDX-License-Identifier: MIT */
/*
 * Stubs through which one file calls another: an address inside .plt, .plt.sec, .plt.got or .iplt
 * comes in, "name@plt" goes out. Which function a stub leads to is read out of its code (the slot
 * that it jumps through) and the relocation of that slot. x86-64 and arm64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "image/copy.h"

#define PLT_STUBS_MAX	1048576
#define PLT_SECTION_MAX ((size_t)64 << 20)

struct plt_stub {
	uint64_t start, slot;
	uint32_t size;
};

/* What fills a slot. */
struct plt_slot {
	uint64_t slot;
	uint64_t target;  /* of an indirect function: the address that chooses the variant */
	const char *name; /* "": only the target is known */
};

struct plt {
	ARRAY(struct plt_stub) stubs;
	ARRAY(struct plt_slot) slots;
};

/* Reads all of it. -ENOMEM; what is damaged is left out. */
int coati_plt_init(struct plt *p, struct copy *c);
void coati_plt_fini(struct plt *p);
/* The stub at @vaddr and what its slot holds; false: none that we understand. */
bool coati_plt_find(const struct plt *p, uint64_t vaddr, struct plt_stub *ret_stub,
		    struct plt_slot *ret_slot);
