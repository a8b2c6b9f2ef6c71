/* SPDX-License-Identifier: MIT */
/*
 * Items of a timeline one after the other, packed: a dozen bytes where an item in use has 64. What
 * an item has beside its kind, flags and time is written by its kind; numbers are differences to
 * the item before. Texts and places in the program are pointers to what lives as long as the
 * export, arguments are packed with their item.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct live_arg;
struct live_item;
struct live_site;

struct pack_chunk {
	uint8_t *bytes;
	uint32_t used, room;
};

/* What numbers are differences to. */
struct pack_last {
	uint64_t begin, id;
	uint32_t order;
};

struct live_pack {
	ARRAY(struct pack_chunk) chunks; /* whole items; the last one has room */
	struct pack_last last;
	uint64_t nr; /* items */
};

/* Behind the others. -ENOMEM. Hot. */
int coati_pack_add(struct live_pack *p, const struct live_item *i);
void coati_pack_fini(struct live_pack *p);

/* A way through a pack, from the front. */
struct live_unpack {
	struct live_pack *pack;
	struct live_site *const *sites; /* by number */
	size_t chunk;
	const uint8_t *at;
	struct pack_last last;
	bool frees;  /* what was passed */
	bool failed; /* no memory for arguments */
	struct {
		struct live_arg *v;
		size_t room;
	} args;
};

void coati_unpack_init(struct live_unpack *u, const struct live_pack *p,
		       struct live_site *const *sites);
/* The same, and the pack is empty in the end. */
void coati_unpack_consume(struct live_unpack *u, struct live_pack *p,
			  struct live_site *const *sites);
/* False: there is no more, or u->failed. @ret's arguments live until the next call. Hot. */
bool coati_unpack_next(struct live_unpack *u, struct live_item *ret);
void coati_unpack_fini(struct live_unpack *u);
