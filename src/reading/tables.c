/* SPDX-License-Identifier: MIT */
/*
 * The numbered tables: a thing comes in, its number goes out; what was there before keeps its
 * number. Everything is compared whole, a hash alone decides nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "reading/hooks.h"
#include "reading/labels.h"
#include "reading/parts.h"
#include "reading/profile.h"

/* Why an ARRAY_ADD() failed. */
static int full(size_t len, size_t max)
{
	return len < max ? -ENOMEM : -E2BIG;
}

uint64_t coati_profile_bytes(const struct coati_profile *p)
{
	return p->arena.used_bytes + p->threads.cap * sizeof(*p->threads.v) +
	       p->label_sets.cap * sizeof(*p->label_sets.v) +
	       p->locations.cap * sizeof(*p->locations.v) + p->stacks.cap * sizeof(*p->stacks.v) +
	       p->entries.cap * sizeof(*p->entries.v) + p->series.cap * sizeof(*p->series.v) +
	       p->tails.cap * sizeof(*p->tails.v) +
	       (p->thread_index.cap + p->label_index.cap + p->location_index.cap +
		p->stack_index.cap + p->entry_index.cap) *
		       sizeof(struct index_slot);
}

/* There is room for one more thing. */
static int check_room(struct coati_profile *p)
{
	if (coati_profile_bytes(p) < p->max_bytes)
		return 0;
	p->over++;
	return -E2BIG;
}

/* The last element of a table becomes findable, or is taken out again. */
static int enter(struct index *x, uint64_t hash, size_t *len)
{
	int r = coati_index_add(x, hash, (uint32_t)*len - 1);

	if (r < 0)
		(*len)--;
	return r;
}

/* Nanoseconds of clocks can be added up; everything else only with its like. */
static const char *unit_of(const struct coati_attr *attr, const char *name)
{
	if (attr->type == COATI_TYPE_SOFTWARE &&
	    (attr->config == COATI_SW_CPU_CLOCK || attr->config == COATI_SW_TASK_CLOCK))
		return "ns";
	return name;
}

bool coati_profile_is_off(const struct coati_recording_event *e)
{
	return e->attr.type == COATI_TYPE_SOFTWARE && e->attr.config == COATI_SW_CONTEXT_SWITCHES &&
	       !strcmp(e->name, COATI_OFF_CPU_EVENT);
}

int coati_profile_find_event(struct coati_profile *p, const struct coati_recording_event *e,
			     uint32_t *ret)
{
	struct coati_profile_event *new;
	const char *name;

	for (size_t i = 0; i < p->events.len; i++)
		if (!strcmp(p->events.v[i].name, e->name)) {
			*ret = (uint32_t)i;
			return 0;
		}
	name = coati_arena_strdup(&p->arena, e->name);
	new = name ? ARRAY_ADD(&p->events) : NULL;
	if (!new)
		return full(p->events.len, p->events.max);
	new->name = name;
	new->is_off_cpu = !(p->flags & COATI_PROFILE_NO_OFF_CPU) && coati_profile_is_off(e);
	new->unit = new->is_off_cpu ? "ns" : unit_of(&e->attr, name);
	new->attr = e->attr;
	*ret = (uint32_t)p->events.len - 1;
	return 0;
}

static uint64_t hash_three(const struct index *x, uint64_t a, uint64_t b, uint64_t c)
{
	return coati_hash_u64(c, coati_hash_u64(b, coati_hash_u64(a, x->seed)));
}

int coati_profile_find_thread(struct coati_profile *p, const struct coati_profile_thread *t,
			      uint32_t *ret)
{
	uint64_t hash = hash_three(&p->thread_index, t->thread, t->file,
				   coati_hash_bytes(t->comm, strlen(t->comm), 0));
	struct probe probe = index_probe(&p->thread_index, hash);
	struct coati_profile_thread *new;
	int r;

	while (index_next(&p->thread_index, &probe, ret)) {
		const struct coati_profile_thread *old = &p->threads.v[*ret];

		if (old->thread == t->thread && old->file == t->file &&
		    !strcmp(old->comm, t->comm) && !strcmp(old->process_comm, t->process_comm))
			return 0;
	}
	r = check_room(p);
	if (r < 0)
		return r;
	new = ARRAY_ADD(&p->threads);
	if (!new)
		return full(p->threads.len, p->threads.max);
	*new = *t;
	*ret = (uint32_t)p->threads.len - 1;
	return enter(&p->thread_index, hash, &p->threads.len);
}

static bool same_labels(const struct label_set *set, const struct coati_label *labels, uint32_t nr)
{
	if (set->nr != nr)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (strcmp(set->labels[i].key, labels[i].key) != 0 ||
		    strcmp(set->labels[i].value, labels[i].value) != 0)
			return false;
	return true;
}

/* Sorted by key into @ret, one of each key: the last. */
static uint32_t sort_labels(const struct coati_label *labels, uint32_t nr, struct coati_label *ret)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = 0;

		while (at < len && strcmp(ret[at].key, labels[i].key) < 0)
			at++;
		if (at == len || strcmp(ret[at].key, labels[i].key) != 0) {
			memmove(&ret[at + 1], &ret[at], (len - at) * sizeof(*ret));
			len++;
		}
		ret[at] = labels[i];
	}
	return len;
}

/* A key that is new; over the ceiling it is not listed, and counts anyway. */
static int add_key(struct coati_profile *p, const char *key)
{
	const char **slot;

	if (coati_profile_has_label(p, key) || p->label_keys.len == p->label_keys.max)
		return 0;
	slot = ARRAY_ADD(&p->label_keys);
	if (!slot)
		return -ENOMEM;
	*slot = key;
	return 0;
}

static int add_labels(struct coati_profile *p, const struct coati_label *labels, uint32_t nr)
{
	struct coati_label *copy = coati_arena_alloc(&p->arena, nr * sizeof(*copy));
	struct label_set *set;

	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		copy[i].key = coati_arena_strdup(&p->arena, labels[i].key);
		copy[i].value = coati_arena_strdup(&p->arena, labels[i].value);
		if (!copy[i].key || !copy[i].value || add_key(p, copy[i].key) < 0)
			return -ENOMEM;
	}
	set = ARRAY_ADD(&p->label_sets);
	if (!set)
		return full(p->label_sets.len, p->label_sets.max);
	*set = (struct label_set){ .labels = copy, .nr = nr };
	return 0;
}

int coati_profile_find_labels(struct coati_profile *p, const struct coati_label *labels,
			      uint32_t nr, uint32_t *ret)
{
	struct coati_label sorted[PROFILE_LABELS_MAX + 1];
	uint64_t hash = p->label_index.seed;
	struct probe probe;
	int r;

	if (nr > PROFILE_LABELS_MAX)
		return -E2BIG;
	nr = sort_labels(labels, nr, sorted);
	for (uint32_t i = 0; i < nr; i++) {
		hash = coati_hash_bytes(sorted[i].key, strlen(sorted[i].key), hash);
		hash = coati_hash_bytes(sorted[i].value, strlen(sorted[i].value), hash);
	}
	probe = index_probe(&p->label_index, hash);
	while (index_next(&p->label_index, &probe, ret))
		if (same_labels(&p->label_sets.v[*ret], sorted, nr))
			return 0;
	r = check_room(p);
	if (r == 0)
		r = add_labels(p, sorted, nr);
	if (r == 0) {
		*ret = (uint32_t)p->label_sets.len - 1;
		r = enter(&p->label_index, hash, &p->label_sets.len);
	}
	return r;
}

int coati_profile_find_location(struct coati_profile *p, const struct location *l, uint32_t *ret)
{
	/* an address outside all mappings counts by itself, for those who look at addresses */
	uint64_t hash = hash_three(&p->location_index, l->pub.vaddr,
				   (uint64_t)l->pub.image << 32 | l->pub.flags, l->since);
	struct probe probe = index_probe(&p->location_index, hash);
	struct location *new;
	int r;

	while (index_next(&p->location_index, &probe, ret)) {
		const struct location *old = &p->locations.v[*ret];

		if (old->pub.vaddr == l->pub.vaddr && old->pub.image == l->pub.image &&
		    old->since == l->since && old->pub.flags == l->pub.flags)
			return 0;
	}
	r = check_room(p);
	if (r < 0)
		return r;
	new = ARRAY_ADD(&p->locations);
	if (!new)
		return full(p->locations.len, p->locations.max);
	*new = *l;
	*ret = (uint32_t)p->locations.len - 1;
	return enter(&p->location_index, hash, &p->locations.len);
}

int coati_profile_find_stack(struct coati_profile *p, const struct coati_profile_stack *s,
			     uint32_t *ret)
{
	size_t size = s->nr * sizeof(*s->locations);
	uint64_t hash = coati_hash_bytes(s->locations, size, p->stack_index.seed ^ s->flags);
	struct probe probe = index_probe(&p->stack_index, hash);
	struct coati_profile_stack *new;
	uint32_t *copy;
	int r;

	while (index_next(&p->stack_index, &probe, ret)) {
		const struct coati_profile_stack *old = &p->stacks.v[*ret];

		if (old->nr == s->nr && old->flags == s->flags &&
		    !memcmp(old->locations, s->locations, size))
			return 0;
	}
	r = check_room(p);
	copy = r == 0 ? coati_arena_alloc(&p->arena, size) : NULL;
	if (!copy)
		return r < 0 ? r : -ENOMEM;
	memcpy(copy, s->locations, size);
	new = ARRAY_ADD(&p->stacks);
	if (!new)
		return full(p->stacks.len, p->stacks.max);
	*new = (struct coati_profile_stack){ .locations = copy, .nr = s->nr, .flags = s->flags };
	*ret = (uint32_t)p->stacks.len - 1;
	return enter(&p->stack_index, hash, &p->stacks.len);
}

/* Find or add an entry, without its weight. */
static int find_entry(struct coati_profile *p, const struct coati_profile_entry *e, uint32_t *ret)
{
	uint32_t bin = profile_has_series(p) ? 0 : e->bin;
	uint64_t hash = hash_three(&p->entry_index, (uint64_t)e->stack << 32 | e->thread,
				   (uint64_t)e->event << 32 | e->labels,
				   (uint64_t)(uint32_t)e->cpu << 32 | bin);
	struct probe probe = index_probe(&p->entry_index, hash);
	struct coati_profile_entry *new;
	int r;

	while (index_next(&p->entry_index, &probe, ret))
		if (coati_profile_same_entry(p, &p->entries.v[*ret], e))
			return 0;
	r = check_room(p);
	if (r < 0)
		return r;
	new = ARRAY_ADD(&p->entries);
	if (!new)
		return full(p->entries.len, p->entries.max);
	*new = *e;
	new->bin = bin;
	new->count = new->weight = 0;
	*ret = (uint32_t)p->entries.len - 1;
	return enter(&p->entry_index, hash, &p->entries.len);
}

int coati_profile_find_entry(struct coati_profile *p, const struct coati_profile_entry *e,
			     uint32_t *ret)
{
	int r = find_entry(p, e, ret);

	return r < 0 ? r : profile_add_to_entry(p, *ret, e);
}

void coati_profile_join_bins(struct coati_profile *p)
{
	size_t nr = p->entries.len;
	uint64_t max_bytes = p->max_bytes;
	uint32_t id;

	p->bin_ns *= 2;
	if (profile_has_series(p)) {
		coati_series_join(p);
		return;
	}
	/* Only less is needed than there was: no step can fail, and none may be refused. */
	p->max_bytes = UINT64_MAX;
	p->entries.len = 0;
	coati_index_clear(&p->entry_index);
	for (size_t i = 0; i < nr; i++) {
		struct coati_profile_entry e = p->entries.v[i];

		e.bin /= 2;
		(void)coati_profile_find_entry(p, &e, &id);
	}
	p->max_bytes = max_bytes;
}
