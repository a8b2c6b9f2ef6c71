/* SPDX-License-Identifier: MIT */
/* What the dynamic loader has loaded, as far as stacks need it. One thread at a time, but for the
 * gate. */
#pragma once

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#define SHOWN_CODE_MAX 4u /* executable segments of one object */

/* An object as the loader shows it. Addresses in the file's own terms. */
struct shown {
	uint64_t bias, id; /* id: a hash of the index of its unwind data */
	uint64_t frame, frame_end;
	uint64_t code[SHOWN_CODE_MAX], code_end[SHOWN_CODE_MAX];
	uint32_t nr_code, reserved; /* no gaps: compared as bytes */
};

struct shown_list {
	struct shown *list;
	uint32_t len, cap, seen;
	uint64_t adds, subs; /* what the loader has counted */
};

/* One of us is in the loader, or a fork is under way. */
void coati_loader_take(void);
void coati_loader_give(void);

/* dl_iterate_phdr() behind the gate. Its lock is held while it calls @fn: nothing may be allocated
 * there. Not where coati_sampler_objects_shut(). */
void coati_loader_ask(int (*fn)(struct dl_phdr_info *, size_t, void *), void *ctx);
/* Only its counters. */
void coati_loader_count(struct shown_list *l);
/* All objects; 0 or -ENOMEM. The list is to be freed in either case. */
int coati_loader_list(struct shown_list *l);
/* A copy of the unwind data of @s, to be freed. 0, -ENODATA: there is none, or it was unloaded
 * meanwhile; -ENOMEM. */
int coati_loader_copy(const struct shown *s, uint8_t **ret);
