/* SPDX-License-Identifier: MIT */
/* see check-resources.h */
#include "live-read/check-resources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "base/alloc.h"

/* resources of a process that are remembered, ended ones too */
#define THINGS_MAX (1u << 20)

/* A resource. */
struct thing {
	uint64_t id, type;
	uint32_t state;
	bool ended;
};

void coati_check_resources_init(struct map *m)
{
	coati_map_init(m, THINGS_MAX);
}

void coati_check_resources_fini(struct map *m)
{
	uint64_t key, value;

	for (size_t pos = 0; coati_map_next(m, &pos, &key, &value);)
		coati_free((void *)(uintptr_t)value);
	coati_map_fini(m);
}

static struct thing *find_thing(const struct map *m, uint64_t key)
{
	uint64_t v;

	return coati_map_get(m, key, &v) ? (struct thing *)(uintptr_t)v : NULL;
}

/* One more; the ended ones are forgotten when there is no room. */
static struct thing *add_thing(struct map *m, uint64_t key)
{
	struct thing *t = coati_alloc(sizeof(*t));
	size_t max = m->max;

	if (m->len == max) {
		coati_check_resources_fini(m);
		coati_map_init(m, max);
	}
	if (!t || coati_map_put(m, key, (uint64_t)(uintptr_t)t) < 0) {
		coati_free(t);
		return NULL;
	}
	return t;
}

/* For %.*s: names are the program's, and as long as it likes. */
#define NAME_OF(name) (int)((name)->size < 24 ? (name)->size : 24), (name)->text

static void check_transition(struct coati_trace_check *c, const struct thing *t,
			     const struct coati_trace_event *e)
{
	if (t && t->ended)
		coati_check_wrong(c, e, "resource %" PRIu64 " changes its state after its end",
				  e->id);
	else if (t && t->state != e->from)
		coati_check_wrong(c, e, "resource %" PRIu64 " leaves state %u, but was in %u",
				  e->id, e->from, t->state);
	else if (e->type && (e->from >= e->type->nr_states || e->to >= e->type->nr_states))
		coati_check_wrong(c, e,
				  "resource %" PRIu64 " has a state that its type does not have",
				  e->id);
	else if (e->type && !(e->type->next[e->from] >> e->to & 1))
		coati_check_wrong(c, e,
				  "%.*s %" PRIu64
				  " goes from state %.*s to %.*s, which its type does not allow",
				  NAME_OF(&e->type->name), e->id,
				  NAME_OF(&e->type->states[e->from]),
				  NAME_OF(&e->type->states[e->to]));
}

int coati_check_resource(struct coati_trace_check *c, struct map *resources,
			 const struct coati_trace_event *e)
{
	uint64_t key = e->id ^ (uint64_t)e->type_id << 48;
	struct thing *t = find_thing(resources, key);
	bool again = e->flags & COATI_TRACE_REOPENED;

	if (t && (t->id != e->id || t->type != e->type_id))
		return 0;
	if (e->kind == COATI_TRACE_RESOURCE_NEW && t && !t->ended && !again)
		coati_check_wrong(c, e, "resource %" PRIu64 " begins twice", e->id);
	if (e->kind == COATI_TRACE_RESOURCE_NEW && t && !t->ended && again && t->state != e->to)
		coati_check_wrong(c, e,
				  "resource %" PRIu64 " is reported in state %u, but was in %u",
				  e->id, e->to, t->state);
	if (e->kind == COATI_TRACE_RESOURCE_SET)
		check_transition(c, t, e);
	if (e->kind == COATI_TRACE_RESOURCE_END && t && t->ended)
		coati_check_wrong(c, e, "resource %" PRIu64 " ends twice", e->id);
	if (!t)
		t = add_thing(resources, key);
	if (!t)
		return -ENOMEM;
	*t = (struct thing){ .id = e->id,
			     .type = e->type_id,
			     .state = e->to,
			     .ended = e->kind == COATI_TRACE_RESOURCE_END };
	return 0;
}
