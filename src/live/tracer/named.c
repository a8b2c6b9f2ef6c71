/* SPDX-License-Identifier: MIT */
/*
 * Regions whose names are made at run time: a name in, the site of that name out, the same for the
 * same name, for good. Sites lie in a mapping of fixed size and are only ever added; a table of
 * their numbers finds them by hash, without a lock. When there are too many names, all further ones
 * share a site, and each of its regions begins with the name as a log line. Safe.
 */
#include "live/tracer/emit.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES	   4096u
#define HEADS	   (2 * NAMES) /* a power of two */
#define NAME_BYTES 127u

struct named {
	struct coati_site site;
	uint32_t size;
	char name[NAME_BYTES + 1];
};

struct names {
	_Atomic uint32_t used;	       /* entries taken, also by who lost a race */
	_Atomic uint32_t heads[HEADS]; /* number of the entry plus one; 0: none */
	struct named list[NAMES];
};

static _Atomic(struct names *) all;
static struct coati_site other =
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "(other names)", NULL, 0, 0);
static struct coati_site other_name = COATI_SITE_FOR("", COATI_SITE_LOG, "", "", NULL, 0, 0);

/* NULL: there is no memory. */
static struct names *table(void)
{
	/* pairs with: release below, in another thread */
	struct names *names = atomic_load_explicit(&all, memory_order_acquire), *none = NULL;
	long memory;

	if (likely(names != NULL))
		return names;
	memory = syscall(SYS_mmap, NULL, (long)sizeof(*names), (long)(PROT_READ | PROT_WRITE),
			 (long)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE), -1L, 0L);
	if (memory == -1)
		return NULL;
	if (atomic_compare_exchange_strong_explicit(&all, &none, (struct names *)memory,
						    memory_order_acq_rel, memory_order_acquire))
		return (struct names *)memory;
	syscall(SYS_munmap, memory, (long)sizeof(*names));
	return none;
}

/* FNV-1a. */
static uint32_t hash_of(const char *name, uint32_t size)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < size; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619u;
	return h ^ h >> 15;
}

/* The number of a new entry plus one; 0: there is no room. */
static uint32_t new_entry(struct names *names, const char *name, uint32_t size)
{
	uint32_t nr = atomic_load_explicit(&names->used, memory_order_relaxed);
	struct named *n;

	do {
		if (nr == NAMES)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&names->used, &nr, nr + 1, memory_order_relaxed, memory_order_relaxed));
	n = &names->list[nr];
	n->size = size;
	memcpy(n->name, name, size);
	n->site = (struct coati_site){ .mask = ~UINT64_C(0),
				       .name = n->name,
				       .category = "",
				       .file = "",
				       .function = "",
				       .kind = COATI_SITE_REGION };
	return nr + 1;
}

static struct coati_site *find(struct names *names, const char *name, uint32_t size)
{
	uint32_t at = hash_of(name, size) % HEADS, mine = 0;

	for (;; at = (at + 1) % HEADS) {
		/* pairs with: release below; the entry is whole */
		uint32_t nr = atomic_load_explicit(&names->heads[at], memory_order_acquire);

		if (!nr) {
			mine = mine ? mine : new_entry(names, name, size);
			if (!mine)
				return NULL;
			if (atomic_compare_exchange_strong_explicit(&names->heads[at], &nr, mine,
								    memory_order_acq_rel,
								    memory_order_acquire))
				return &names->list[mine - 1].site;
		}
		if (names->list[nr - 1].size == size &&
		    !memcmp(names->list[nr - 1].name, name, size))
			return &names->list[nr - 1].site;
	}
}

struct coati_site *coati_region_begin_named(const char *name)
{
	struct names *names = table();
	uint32_t size = cut_text(name, strlen(name), NAME_BYTES);
	struct coati_site *site = names ? find(names, name, size) : NULL;

	coati_region_begin(site ? site : &other);
	if (site)
		return site;
	coati_log_text(&other_name, name, strlen(name));
	return &other;
}
