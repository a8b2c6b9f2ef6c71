/* SPDX-License-Identifier: MIT */
/*
 * Batches of live events come in, the addresses of the stacks that they define become locations.
 * Nothing else of an event is looked at, and a batch whose head says that it defines nothing is
 * passed over. What cannot be found this way (an event of a kind that only its stream describes,
 * code that is replaced while it runs) is marked in coati_profile.lacks_places: a caller that needs
 * it reads all events instead.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "reading/reading.h"
#include "record/live-decode.h"

#define SITES_MAX     ((size_t)1 << 20)
#define ADDRESSES_MAX ((size_t)1 << 20)
#define FIELDS_BYTES  ((size_t)16 << 20)

/* From when and until when a stack with it may have been recorded. */
struct live_address {
	int32_t pid;
	uint64_t addr, from, to;
};

struct live_places {
	ARRAY(struct live_address) list;
	struct map index; /* pid and address, hashed, to the place in the list */
	struct map sites; /* pid and site to the text of the fields of its events */
	struct arena texts;
	struct live_schema schema; /* what was said of kinds, if it is what the code knows */
	uint32_t pid;		   /* of the batch at hand */
	uint64_t time;		   /* when it was written into the recording */
};

static struct live_places *get(struct reading *r)
{
	struct live_places *l = r->live_places;

	if (l)
		return l;
	l = coati_alloc(sizeof(*l));
	if (!l)
		return NULL;
	l->list.max = ADDRESSES_MAX;
	coati_map_init(&l->index, ADDRESSES_MAX);
	coati_map_init(&l->sites, SITES_MAX);
	coati_arena_init(&l->texts, FIELDS_BYTES);
	r->live_places = l;
	return l;
}

void coati_live_places_free(struct live_places **lp)
{
	struct live_places *l = *lp;

	if (!l)
		return;
	*lp = NULL;
	ARRAY_FINI(&l->list);
	coati_map_fini(&l->index);
	coati_map_fini(&l->sites);
	coati_arena_fini(&l->texts);
	coati_free(l);
}

/* ---- what is needed to walk over an event ---- */

static uint64_t site_key(const struct live_places *l, uint64_t site)
{
	return (uint64_t)l->pid << 32 | (site & UINT32_MAX);
}

static bool fields_of(void *ctx, uint64_t site, const char **ret, uint32_t *ret_size)
{
	const struct live_places *l = ctx;
	uint64_t found;

	if (site > UINT32_MAX || !coati_map_get(&l->sites, site_key(l, site), &found))
		return false;
	*ret = (const char *)(uintptr_t)found;
	*ret_size = (uint32_t)strlen(*ret);
	return true;
}

/* False: its fields are defined elsewhere, or there are too many of them. */
static bool learn_site(struct live_places *l, const struct live_event *e)
{
	const struct live_text *fields = &e->text[4];
	const char *copy;

	if (e->nr_texts < 5 || fields->is_ref || e->v[0] > UINT32_MAX)
		return false;
	if (coati_map_get(&l->sites, site_key(l, e->v[0]), &(uint64_t){ 0 }))
		return true; /* its number stays for the life of the process */
	copy = fields->size ? coati_arena_strndup(&l->texts, fields->text, fields->size) : "";
	return copy && coati_map_put(&l->sites, site_key(l, e->v[0]), (uintptr_t)copy) >= 0;
}

/* Are kinds what the code knows? */
static bool learn_schema(struct live_places *l, const struct live_view *b)
{
	struct live_walk w = coati_live_walk(b, NULL, NULL, NULL);
	struct live_schema_entry entry;
	int n;

	while ((n = coati_live_schema_next(&w, &entry)) > 0)
		if (coati_live_schema_add(&l->schema, &entry) < 0)
			return false;
	return n == 0 && !l->schema.is_other;
}

/* ---- addresses ---- */

static int add_address(struct live_places *l, uint64_t addr, uint64_t from, uint64_t to)
{
	uint64_t key = coati_hash_u64(addr, l->pid), at;
	struct live_address *a;

	if (coati_map_get(&l->index, key, &at) && l->list.v[at].addr == addr &&
	    l->list.v[at].pid == (int32_t)l->pid) {
		a = &l->list.v[at];
		a->from = from < a->from ? from : a->from;
		a->to = to > a->to ? to : a->to;
		return 0;
	}
	a = ARRAY_ADD(&l->list);
	if (!a)
		return l->list.len < ADDRESSES_MAX ? -ENOMEM : -E2BIG;
	*a = (struct live_address){ .pid = (int32_t)l->pid, .addr = addr, .from = from, .to = to };
	return coati_map_put(&l->index, key, l->list.len - 1) < 0 ? -ENOMEM : 0;
}

/* Tables have no times of their own: they were there when they were written. */
static int add_stack(struct live_places *l, const struct live_event *e, const struct live_batch *b)
{
	uint64_t from = b->kind == LIVE_BATCH_EVENTS && b->pair_ns ? b->pair_ns : l->time;
	uint64_t to = from > l->time ? from : l->time, addr = 0;
	uint32_t pos = 0;
	bool is_first = true;
	int r = 0;

	while (r == 0 && coati_live_stack_next(e, &pos, &addr) > 0) {
		if (addr) /* callers go on behind their call */
			r = add_address(l, addr - !is_first, from, to);
		is_first = false;
	}
	return r;
}

/* 0; -EBADMSG: not all of it could be walked. -ENOMEM, -E2BIG. */
static int walk(struct live_places *l, const struct live_view *b)
{
	struct live_walk w = coati_live_walk(b, NULL, fields_of, l);
	struct live_event e;
	int r = 0, n;

	while (r == 0 && (n = coati_live_next(&w, &e)) > 0) {
		if (e.kind == LIVE_STACK)
			r = add_stack(l, &e, &b->head);
		else if (e.kind == LIVE_SITE && !learn_site(l, &e))
			r = -EBADMSG;
	}
	return r ? r : n;
}

/* The other kinds, and those that say that they define nothing, have no stacks. */
static bool may_define(const struct live_batch *b)
{
	if (b->kind == LIVE_BATCH_EVENTS)
		return b->told || !(b->flags & LIVE_BATCH_CLOSED);
	return b->kind == LIVE_BATCH_TABLE || b->kind == LIVE_BATCH_SITES;
}

/* By its head, before anything else of it is looked at. Hot. */
static bool is_wanted(const void *bytes, size_t size)
{
	struct live_batch head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	return head.kind == LIVE_BATCH_SCHEMA || may_define(&head);
}

int coati_reading_live_batch(struct reading *r, const void *bytes, size_t size, uint64_t time)
{
	struct live_places *l = get(r);
	struct live_view b;
	int n = 0;

	if (!l)
		return -ENOMEM;
	if (r->profile->lacks_places || !is_wanted(bytes, size) || coati_live_open(bytes, size, &b))
		return 0; /* who reads events says that one is damaged */
	l->pid = b.head.pid;
	l->time = time;
	if (b.head.kind == LIVE_BATCH_SCHEMA)
		n = learn_schema(l, &b) ? 0 : -EBADMSG;
	else if (may_define(&b.head))
		n = walk(l, &b);
	if (n == -ENOMEM)
		return n;
	r->profile->lacks_places = n < 0;
	return 0;
}

int coati_reading_live_places(struct reading *r)
{
	struct live_places *l = r->live_places;

	for (size_t i = 0; i < l->list.len; i++) {
		const struct live_address *a = &l->list.v[i];
		int n = coati_reading_user_place(r, a->pid, a->addr, a->from);

		if (n == 0 && a->to != a->from)
			n = coati_reading_user_place(r, a->pid, a->addr, a->to);
		if (n < 0)
			return n;
		r->profile->lacks_places |= n > 0;
	}
	return 0;
}

bool coati_profile_lacks_places(const struct coati_profile *p)
{
	return p->lacks_places;
}
