/* SPDX-License-Identifier: MIT */
/* see tables.h */
#include "live-read/tables.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

#define BLOBS_MAX (1u << 22)
#define NAMES_MAX (64u << 20) /* bytes of a process */
#define TYPES_MAX 4096u

/* ---- of a generation ---- */

void coati_live_table_init(struct live_table *t)
{
	coati_map_init(&t->strings, BLOBS_MAX);
	coati_map_init(&t->stacks, BLOBS_MAX);
	t->blobs.v = NULL;
	t->blobs.len = t->blobs.cap = 0;
	t->blobs.max = BLOBS_MAX;
}

void coati_live_table_fini(struct live_table *t)
{
	coati_map_fini(&t->strings);
	coati_map_fini(&t->stacks);
	ARRAY_FINI(&t->blobs);
}

int coati_live_table_add(struct live_table *t, const struct live_event *e)
{
	struct map *m = e->kind == LIVE_STRING ? &t->strings : &t->stacks;
	struct live_blob *b;
	uint64_t i;
	int n;

	if ((e->kind != LIVE_STRING && e->kind != LIVE_STACK) || coati_map_get(m, e->v[0], &i))
		return 0;
	b = ARRAY_ADD(&t->blobs);
	if (!b)
		return t->blobs.len == t->blobs.max ? -E2BIG : -ENOMEM;
	*b = (struct live_blob){ e->rest, e->rest_size, e->rest_size };
	if (e->kind == LIVE_STRING && e->v[1] > e->rest_size)
		b->full_size = e->v[1] > UINT32_MAX ? UINT32_MAX : (uint32_t)e->v[1];
	n = coati_map_put(m, e->v[0], t->blobs.len - 1);
	return n < 0 ? n : 0;
}

static const struct live_blob *find(const struct live_table *t, const struct map *m, uint64_t id)
{
	uint64_t i;

	return coati_map_get(m, id, &i) ? &t->blobs.v[i] : NULL;
}

const struct live_blob *coati_live_table_string(const struct live_table *t, uint64_t id)
{
	return find(t, &t->strings, id);
}

const struct live_blob *coati_live_table_stack(const struct live_table *t, uint64_t id)
{
	return find(t, &t->stacks, id);
}

/* ---- of a process ---- */

void coati_live_names_init(struct live_names *n, uint32_t pid)
{
	*n = (struct live_names){ .pid = pid };
	coati_arena_init(&n->memory, NAMES_MAX);
	coati_map_init(&n->types, TYPES_MAX);
}

void coati_live_names_fini(struct live_names *n)
{
	coati_free(n->sites);
	coati_map_fini(&n->types);
	coati_arena_fini(&n->memory);
}

static int out_of_room(const struct live_names *n)
{
	return n->memory.used_bytes > NAMES_MAX / 2 ? -E2BIG : -ENOMEM;
}

int coati_live_names_text(struct live_names *n, const struct live_text *text,
			  struct coati_trace_text *ret)
{
	char *copy;

	if (text->is_ref)
		return -EBADMSG;
	*ret = (struct coati_trace_text){ "", 0, 0 };
	if (!text->size)
		return 0;
	copy = coati_arena_strndup(&n->memory, text->text, text->size);
	if (!copy)
		return out_of_room(n);
	*ret = (struct coati_trace_text){ copy, text->size, text->size };
	return 0;
}

static bool same(const struct coati_trace_text *a, const struct live_text *b)
{
	return !b->is_ref && a->size == b->size && !memcmp(a->text, b->text, b->size);
}

static struct coati_trace_text *site_text(struct coati_trace_site *s, unsigned int i)
{
	struct coati_trace_text *all[] = { &s->name, &s->category, &s->file, &s->function,
					   &s->fields };

	return all[i];
}

/* Repeated in every generation: one that says the same is the same. */
static bool same_site(struct coati_trace_site *s, const struct live_event *e)
{
	if (s->kind != (uint32_t)e->v[1] || s->line != (uint32_t)e->v[2])
		return false;
	for (unsigned int i = 0; i < 5; i++)
		if (!same(site_text(s, i), &e->text[i]))
			return false;
	return true;
}

static int put_site(struct live_names *n, struct coati_trace_site *s)
{
	uint32_t room = n->nr_sites ? n->nr_sites : LIVE_SITES_NEAR;
	struct coati_trace_site **v;

	while (room <= s->id)
		room *= 2;
	if (room > n->nr_sites) {
		v = coati_realloc_array(n->sites, room, sizeof(*v));
		if (!v)
			return -ENOMEM;
		memset(v + n->nr_sites, 0, (room - n->nr_sites) * sizeof(*v));
		n->sites = v;
		n->nr_sites = room;
	}
	n->renamed = n->renamed || n->sites[s->id];
	n->sites[s->id] = s;
	return 0;
}

static int add_site(struct live_names *n, const struct live_event *e)
{
	struct coati_trace_site *s;
	int r;

	if (e->v[0] > LIVE_SITES_MAX)
		return -EBADMSG;
	if (e->v[0] < n->nr_sites && n->sites[e->v[0]] && same_site(n->sites[e->v[0]], e))
		return 0;
	s = coati_arena_alloc(&n->memory, sizeof(*s));
	if (!s)
		return out_of_room(n);
	s->id = (uint32_t)e->v[0];
	s->pid = n->pid;
	s->kind = (uint32_t)e->v[1];
	s->line = (uint32_t)e->v[2];
	for (unsigned int i = 0; i < 5; i++) {
		r = coati_live_names_text(n, &e->text[i], site_text(s, i));
		if (r < 0)
			return r;
	}
	return put_site(n, s);
}

static int add_states(struct live_names *n, const struct live_event *e, struct coati_trace_type *t)
{
	size_t count = (size_t)e->v[1];
	struct coati_trace_text *names =
		coati_arena_alloc(&n->memory, (count + 1) * sizeof(*names));
	uint64_t *next = coati_arena_alloc(&n->memory, (count + 1) * sizeof(*next));
	struct live_text name;
	uint32_t pos = 0;
	int r;

	if (!names || !next)
		return out_of_room(n);
	for (size_t i = 0; i < count; i++) {
		if (coati_live_state_next(e, &pos, &name, &next[i]) <= 0)
			return -EBADMSG;
		r = coati_live_names_text(n, &name, &names[i]);
		if (r < 0)
			return r;
	}
	t->states = names;
	t->next = next;
	t->nr_states = (uint32_t)count;
	return 0;
}

/* Likewise; a type that comes again with the same name and states is the same. */
static bool same_type(const struct coati_trace_type *t, const struct live_event *e)
{
	struct live_text name;
	uint32_t pos = 0;
	uint64_t next;

	if (!same(&t->name, &e->text[0]) || t->nr_states != e->v[1])
		return false;
	for (uint32_t i = 0; i < t->nr_states; i++)
		if (coati_live_state_next(e, &pos, &name, &next) <= 0 || next != t->next[i] ||
		    !same(&t->states[i], &name))
			return false;
	return true;
}

static int add_type(struct live_names *n, const struct live_event *e)
{
	struct coati_trace_type *t;
	uint64_t old;
	int r;

	if (coati_map_get(&n->types, e->v[0], &old) &&
	    same_type((struct coati_trace_type *)(uintptr_t)old, e))
		return 0;
	t = coati_arena_alloc(&n->memory, sizeof(*t));
	if (!t)
		return out_of_room(n);
	t->id = (uint32_t)e->v[0];
	t->pid = n->pid;
	r = coati_live_names_text(n, &e->text[0], &t->name);
	r = r < 0 ? r : add_states(n, e, t);
	r = r < 0 ? r : coati_map_put(&n->types, e->v[0], (uint64_t)(uintptr_t)t);
	return r < 0 ? r : 0;
}

int coati_live_names_add(struct live_names *n, const struct live_event *e)
{
	if (e->kind == LIVE_SITE)
		return add_site(n, e);
	return e->kind == LIVE_TYPE ? add_type(n, e) : 0;
}

const struct coati_trace_type *coati_live_names_type(const struct live_names *n, uint64_t id)
{
	uint64_t v;

	return coati_map_get(&n->types, id, &v) ? (const struct coati_trace_type *)(uintptr_t)v
						: NULL;
}

bool coati_live_names_fields(void *names, uint64_t site, const char **ret, uint32_t *ret_size)
{
	const struct coati_trace_site *s = live_names_site(names, site);

	if (!s)
		return false;
	*ret = s->fields.text;
	*ret_size = s->fields.size;
	return true;
}
