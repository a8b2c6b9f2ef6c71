/* SPDX-License-Identifier: MIT */
/* see idset.h */
#include "live-read/idset.h"

#include <errno.h>

#include "base/alloc.h"

void coati_idset_init(struct idset *s, size_t max_pages)
{
	*s = (struct idset){ .list.max = max_pages };
	coati_map_init(&s->pages, max_pages);
}

static uint64_t key_of(int32_t pid, uint64_t id)
{
	return coati_hash_u64(id / IDSET_PAGE_BITS, (uint32_t)pid);
}

/* The page of a number; NULL: there is none. */
static struct idset_page *find(struct idset *s, uint64_t key)
{
	uint64_t at;

	if (s->last && s->last_key == key)
		return &s->list.v[s->last - 1];
	if (!coati_map_get(&s->pages, key, &at))
		return NULL;
	s->last = at + 1;
	s->last_key = key;
	return &s->list.v[at];
}

int coati_idset_add(struct idset *s, int32_t pid, uint64_t id)
{
	uint64_t key = key_of(pid, id);
	struct idset_page *page = find(s, key);
	int r;

	if (!page) {
		page = ARRAY_ADD(&s->list);
		if (!page)
			return s->list.len >= s->list.max ? -E2BIG : -ENOMEM;
		r = coati_map_put(&s->pages, key, s->list.len - 1);
		if (r < 0) {
			s->list.len--;
			return r;
		}
		s->last = s->list.len;
		s->last_key = key;
	}
	page->bits[id % IDSET_PAGE_BITS / 64] |= UINT64_C(1) << id % 64;
	return 0;
}

void coati_idset_del(struct idset *s, int32_t pid, uint64_t id)
{
	struct idset_page *page = find(s, key_of(pid, id));

	if (page)
		page->bits[id % IDSET_PAGE_BITS / 64] &= ~(UINT64_C(1) << id % 64);
}

bool coati_idset_has(struct idset *s, int32_t pid, uint64_t id)
{
	const struct idset_page *page = find(s, key_of(pid, id));

	return page && page->bits[id % IDSET_PAGE_BITS / 64] >> id % 64 & 1;
}

void coati_idset_fini(struct idset *s)
{
	coati_map_fini(&s->pages);
	ARRAY_FINI(&s->list);
}
