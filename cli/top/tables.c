/* SPDX-License-Identifier: MIT */
/* see tables.h: what entries refer to, each thing once. */
#include "cli/top/tables.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "reading/parts.h"

#define TABLE_MAX ((size_t)1 << 26)

int coati_top_tables_init(struct top_model *m)
{
	m->functions.max = m->images.max = m->stacks.max = TABLE_MAX;
	m->threads.max = m->labels.max = TABLE_MAX;
	m->types.max = TOP_TYPES_MAX;
	coati_index_init(&m->function_index);
	coati_index_init(&m->stack_index);
	coati_index_init(&m->thread_index);
	coati_index_init(&m->label_index);
	coati_map_init_strings(&m->strings, TABLE_MAX);
	coati_map_init_strings(&m->image_ids, TABLE_MAX);
	coati_map_init_strings(&m->type_ids, TABLE_MAX);
	coati_arena_init(&m->arena, SIZE_MAX / 4);
	return ARRAY_ADD(&m->labels) ? 0 : -ENOMEM;
}

void coati_top_tables_fini(struct top_model *m)
{
	ARRAY_FINI(&m->functions);
	ARRAY_FINI(&m->images);
	ARRAY_FINI(&m->stacks);
	ARRAY_FINI(&m->threads);
	ARRAY_FINI(&m->labels);
	ARRAY_FINI(&m->types);
	coati_index_fini(&m->function_index);
	coati_index_fini(&m->stack_index);
	coati_index_fini(&m->thread_index);
	coati_index_fini(&m->label_index);
	coati_map_fini(&m->strings);
	coati_map_fini(&m->image_ids);
	coati_map_fini(&m->type_ids);
	coati_arena_fini(&m->arena);
}

#define SLOT_BYTES 24 /* of a map, about */

uint64_t coati_top_tables_bytes(const struct top_model *m)
{
	return m->arena.used_bytes + m->functions.cap * sizeof(*m->functions.v) +
	       m->images.cap * sizeof(*m->images.v) + m->stacks.cap * sizeof(*m->stacks.v) +
	       m->threads.cap * sizeof(*m->threads.v) + m->labels.cap * sizeof(*m->labels.v) +
	       (m->function_index.cap + m->stack_index.cap + m->thread_index.cap +
		m->label_index.cap) *
		       sizeof(struct index_slot) +
	       (m->strings.cap + m->image_ids.cap) * SLOT_BYTES;
}

static bool is_full(const struct top_model *m)
{
	return coati_top_model_bytes(m) > m->max_bytes + m->max_bytes / TOP_SLACK;
}

static int no_room(const void *failed)
{
	return failed ? 0 : -ENOMEM;
}

/* ---- names ---- */

static int intern(struct top_model *m, const char *text, const char **ret)
{
	size_t len = strnlen(text, TOP_TEXT_MAX);
	char room[TOP_TEXT_MAX + 1];
	uint64_t known;
	char *copy;

	if (len == TOP_TEXT_MAX) {
		memcpy(room, text, len);
		room[len] = '\0';
		text = room;
	}
	if (coati_map_get_str(&m->strings, text, &known)) {
		*ret = (const char *)(uintptr_t)known;
		return 0;
	}
	copy = coati_arena_strdup(&m->arena, text);
	if (!copy || coati_map_put_str(&m->strings, copy, (uint64_t)(uintptr_t)copy) < 0)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

static int find_name(struct map *ids, const char *name, uint32_t next, uint32_t *ret)
{
	uint64_t known;
	int r;

	if (coati_map_get_str(ids, name, &known)) {
		*ret = (uint32_t)known;
		return 1;
	}
	r = coati_map_put_str(ids, name, next);
	*ret = next;
	return r < 0 ? r : 0;
}

int coati_top_type(struct top_model *m, const char *name, uint32_t *ret)
{
	const char *text, **slot;
	uint64_t known;
	int r = intern(m, name, &text);

	if (r == 0 && coati_map_get_str(&m->type_ids, text, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	if (r == 0 && m->types.len >= TOP_TYPES_MAX)
		return -E2BIG;
	if (r == 0)
		r = find_name(&m->type_ids, text, (uint32_t)m->types.len, ret);
	slot = r == 0 ? ARRAY_ADD(&m->types) : NULL;
	if (slot)
		*slot = text;
	return r < 0 ? r : no_room(slot);
}

static int find_image(struct top_model *m, const char *name, const char *path, uint32_t *ret)
{
	int r = find_name(&m->image_ids, path, (uint32_t)m->images.len, ret);
	struct top_image *slot;

	if (r != 0)
		return r < 0 ? r : 0;
	slot = ARRAY_ADD(&m->images);
	if (slot)
		*slot = (struct top_image){ name, path };
	return no_room(slot);
}

/* ---- functions ---- */

/* Strings are interned: the same text is the same address. */
static uint64_t hash_names(const char *a, const char *b, uint64_t seed)
{
	return coati_hash_u64((uint64_t)(uintptr_t)a, coati_hash_u64((uint64_t)(uintptr_t)b, seed));
}

int coati_top_model_function(struct top_model *m, const struct top_frame *frame, uint32_t *ret)
{
	struct top_function f = { .flags = frame->flags }, *slot;
	struct probe probe;
	uint64_t hash;
	int r = is_full(m) ? -E2BIG : intern(m, frame->function, &f.name);

	if (r == 0)
		r = intern(m, frame->image, &f.image);
	if (r == 0)
		r = intern(m, frame->path ? frame->path : frame->image, &f.path);
	if (r < 0)
		return r;
	hash = hash_names(f.name, f.path, m->function_index.seed);
	probe = index_probe(&m->function_index, hash);
	while (index_next(&m->function_index, &probe, ret))
		if (m->functions.v[*ret].name == f.name && m->functions.v[*ret].path == f.path)
			return 0;
	r = find_image(m, f.image, f.path, &f.image_id);
	slot = r == 0 ? ARRAY_ADD(&m->functions) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = f;
	*ret = (uint32_t)m->functions.len - 1;
	return coati_index_add(&m->function_index, hash, *ret);
}

/* ---- stacks ---- */

static bool same_stack(const struct top_stack *a, const struct top_stack *b)
{
	return a->nr == b->nr && a->wait == b->wait && a->is_cut == b->is_cut &&
	       !memcmp(a->frames, b->frames, a->nr * sizeof(*a->frames));
}

int coati_top_model_stack(struct top_model *m, const struct top_stack *s, uint32_t *ret)
{
	size_t bytes = s->nr * sizeof(*s->frames);
	uint64_t hash =
		coati_hash_bytes(s->frames, bytes, m->stack_index.seed + s->wait * 2u + s->is_cut);
	struct probe probe = index_probe(&m->stack_index, hash);
	struct top_stack *slot;
	uint32_t *copy;

	while (index_next(&m->stack_index, &probe, ret))
		if (same_stack(&m->stacks.v[*ret], s))
			return 0;
	if (is_full(m))
		return -E2BIG;
	copy = coati_arena_alloc(&m->arena, bytes);
	slot = copy ? ARRAY_ADD(&m->stacks) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = *s;
	slot->frames = copy;
	memcpy(copy, s->frames, bytes);
	*ret = (uint32_t)m->stacks.len - 1;
	return coati_index_add(&m->stack_index, hash, *ret);
}

/* ---- threads ---- */

int coati_top_model_thread(struct top_model *m, const struct top_thread *t, uint32_t *ret)
{
	struct top_thread own = *t, *slot;
	struct probe probe;
	uint64_t hash;
	int r = is_full(m) ? -E2BIG : intern(m, t->comm, &own.comm);

	if (r == 0)
		r = intern(m, t->process_comm, &own.process_comm);
	if (r < 0)
		return r;
	hash = hash_names(own.comm, own.process_comm,
			  m->thread_index.seed ^
				  ((uint64_t)(uint32_t)t->pid << 32 | (uint32_t)t->tid));
	probe = index_probe(&m->thread_index, hash);
	while (index_next(&m->thread_index, &probe, ret)) {
		const struct top_thread *old = &m->threads.v[*ret];

		if (old->pid == t->pid && old->tid == t->tid && old->comm == own.comm &&
		    old->process_comm == own.process_comm)
			return 0;
	}
	slot = ARRAY_ADD(&m->threads);
	if (!slot)
		return -ENOMEM;
	*slot = own;
	*ret = (uint32_t)m->threads.len - 1;
	return coati_index_add(&m->thread_index, hash, *ret);
}

/* ---- labels ---- */

static bool same_labels(const struct top_labels *a, const struct coati_label *b, uint32_t nr)
{
	return a->nr == nr && (!nr || !memcmp(a->v, b, nr * sizeof(*b)));
}

/* A key that comes twice has its last value. */
static int intern_labels(struct top_model *m, const struct coati_label *labels, uint32_t nr,
			 struct coati_label *ret)
{
	uint32_t kept = 0;
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		uint32_t at = 0;

		while (at < kept && strcmp(ret[at].key, labels[i].key) != 0)
			at++;
		r = intern(m, labels[i].key, &ret[at].key);
		if (r == 0)
			r = intern(m, labels[i].value, &ret[at].value);
		kept += at == kept;
	}
	return r < 0 ? r : (int)kept;
}

#define LABELS_MAX 64

int coati_top_model_labels(struct top_model *m, const struct coati_label *labels, uint32_t nr,
			   uint32_t *ret)
{
	struct coati_label own[LABELS_MAX] = { 0 }, *copy;
	struct top_labels *slot;
	struct probe probe;
	uint64_t hash;
	int r = intern_labels(m, labels, nr < LABELS_MAX ? nr : LABELS_MAX, own);

	if (r <= 0) {
		*ret = 0;
		return r;
	}
	nr = (uint32_t)r;
	hash = coati_hash_bytes(own, nr * sizeof(*own), m->label_index.seed);
	probe = index_probe(&m->label_index, hash);
	while (index_next(&m->label_index, &probe, ret))
		if (same_labels(&m->labels.v[*ret], own, nr))
			return 0;
	if (is_full(m))
		return -E2BIG;
	copy = coati_arena_alloc(&m->arena, nr * sizeof(*copy));
	slot = copy ? ARRAY_ADD(&m->labels) : NULL;
	if (!slot)
		return -ENOMEM;
	memcpy(copy, own, nr * sizeof(*copy));
	*slot = (struct top_labels){ copy, nr };
	*ret = (uint32_t)m->labels.len - 1;
	return coati_index_add(&m->label_index, hash, *ret);
}

const char *coati_top_label(const struct top_labels *set, const char *key)
{
	for (uint32_t i = 0; i < set->nr; i++)
		if (!strcmp(set->v[i].key, key))
			return set->v[i].value;
	return NULL;
}
