/* SPDX-License-Identifier: MIT */
/* Hashes and numbers come in; open addressing, at most three quarters full, nothing is ever taken
 * out. */
#include "reading/index.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"

#define FIRST_CAP ((size_t)64)

void coati_index_init(struct index *x)
{
	*x = (struct index){ 0 };
	/* without entropy an address and the time must do */
	if (getrandom(&x->seed, sizeof(x->seed), GRND_NONBLOCK) != sizeof(x->seed))
		x->seed = coati_hash_u64(now_ns(), (uintptr_t)x);
}

void coati_index_fini(struct index *x)
{
	coati_free(x->slots);
	x->slots = NULL;
	x->len = x->cap = 0;
}

void coati_index_clear(struct index *x)
{
	if (x->cap)
		memset(x->slots, 0, x->cap * sizeof(*x->slots));
	x->len = 0;
}

static void place(struct index_slot *slots, size_t cap, struct index_slot slot)
{
	size_t at = slot.hash & (cap - 1);

	while (slots[at].id)
		at = (at + 1) & (cap - 1);
	slots[at] = slot;
}

static int grow(struct index *x)
{
	size_t cap = x->cap ? x->cap * 2 : FIRST_CAP;
	struct index_slot *slots = coati_alloc_array(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < x->cap; i++)
		if (x->slots[i].id)
			place(slots, cap, x->slots[i]);
	coati_free(x->slots);
	x->slots = slots;
	x->cap = cap;
	return 0;
}

int coati_index_add(struct index *x, uint64_t hash, uint32_t id)
{
	if (x->len >= x->cap / 4 * 3 && grow(x) < 0)
		return -ENOMEM;
	place(x->slots, x->cap, (struct index_slot){ .hash = (uint32_t)hash, .id = id + 1 });
	x->len++;
	return 0;
}
