/* SPDX-License-Identifier: MIT */
/*
 * Resources: things with declared states. In: begin, change of state, end. Out: events, and a table
 * of those that are open. The first change in a generation reports the resource itself first; the
 * others are reported by the thread that changes the generation. Safe.
 */
#include "live/tracer/stacks.h"

#include <errno.h>

#define RESOURCE_BYTES (HEAD_MAX + 5 * VAR_MAX)

/* ---- the table ---- */

static uint32_t take_slot(void)
{
	struct tracer *g = &coati_tracer;

	for (uint32_t word = 0; word < TRACER_RESOURCES / 64; word++) {
		uint64_t bits = atomic_load_explicit(&g->resource_bits[word], memory_order_relaxed);

		while (~bits) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~bits);

			/* pairs with: release in give_slot() */
			bits = atomic_fetch_or_explicit(&g->resource_bits[word], UINT64_C(1) << bit,
							memory_order_acquire);
			if (!(bits >> bit & 1))
				return word * 64 + bit;
		}
	}
	atomic_fetch_add_explicit(&g->tasks_unlisted, 1, memory_order_relaxed);
	return TRACER_NO_SLOT;
}

static void give_slot(uint32_t slot)
{
	/* pairs with: acquire in take_slot() */
	atomic_fetch_and_explicit(&coati_tracer.resource_bits[slot / 64],
				  ~(UINT64_C(1) << (slot % 64)), memory_order_release);
}

static struct tracer_open_resource *entry_of(const struct coati_resource *r)
{
	if (r->slot >= TRACER_RESOURCES || r->recording != coati_tracer.first_generation)
		return NULL;
	return &coati_tracer.resources[r->slot];
}

static void list(struct coati_resource *r, const char *name, uint64_t generation)
{
	struct tracer_open_resource *o;
	uint32_t size;

	r->recording = coati_tracer.first_generation;
	r->slot = take_slot();
	o = entry_of(r);
	if (!o)
		return;
	size = cut_text(name, strlen(name), sizeof(o->name));
	for (uint32_t i = 0; i < sizeof(o->name); i++)
		__atomic_store_n(&o->name[i], i < size ? name[i] : '\0', __ATOMIC_RELAXED);
	__atomic_store_n(&o->type, r->type->id, __ATOMIC_RELAXED);
	atomic_store_explicit(&o->state, r->state, memory_order_relaxed);
	atomic_store_explicit(&o->generation, generation, memory_order_relaxed);
	/* pairs with: acquire in tell() */
	atomic_store_explicit(&o->id, r->id, memory_order_release);
}

/* At most RESOURCE_BYTES and a name. */
static uint8_t *put_open(uint8_t *at, const struct tracer_open_resource *o, uint64_t id)
{
	char name[sizeof(o->name)];
	uint32_t size = 0;

	while (size < sizeof(name)) {
		name[size] = __atomic_load_n(&o->name[size], __ATOMIC_RELAXED);
		if (!name[size])
			break;
		size++;
	}
	at = put_kind(at, LIVE_OPEN_RESOURCE);
	at = put_var(at, __atomic_load_n(&o->type, __ATOMIC_RELAXED));
	at = put_var(at, id);
	at = put_var(at, atomic_load_explicit(&o->state, memory_order_relaxed));
	return put_text(at, name, size);
}

/* ---- events ---- */

void coati_resource_begin(struct coati_resource_type *type, const char *name, uint32_t state,
			  struct coati_resource *ret)
{
	const char *text = name ? name : "";
	struct tracer_text view;
	struct tracer_slot *s = NULL;
	uint8_t *at;

	*ret = (struct coati_resource){ .type = type, .state = state, .slot = TRACER_NO_SLOT };
	if (!(tracer_gate() & GATE_ON) || !coati_tracer_type(type)) {
		ret->id = coati_tracer_new_id(NULL);
		return;
	}
	at = emit_enter(RESOURCE_BYTES + text_worst(strlen(text)), &s);
	ret->id = coati_tracer_new_id(s);
	if (s && tracer_generation())
		list(ret, text,
		     at ? atomic_load_explicit(&s->generation, memory_order_relaxed) : 0);
	if (!at) {
		emit_fail(s);
		return;
	}
	at = coati_tracer_define_text(
		s, at, (struct tracer_given){ text, strlen(text), strlen(text) }, &view);
	at = put_head(s, at, LIVE_RESOURCE_NEW, tracer_now());
	at = put_var(at, type->id);
	at = put_var(at, ret->id);
	at = put_var(at, state);
	emit_commit(s, put_string(at, &view));
	emit_leave(s);
}

/* Enter an event of a resource that began before; tells it when that is due. Room for @worst bytes
 * more. */
static uint8_t *enter(struct coati_resource *r, uint32_t worst, struct tracer_slot **ret)
{
	uint8_t *at = emit_enter(
		2 * RESOURCE_BYTES + sizeof(((struct tracer_open_resource *)0)->name) + worst, ret);
	struct tracer_open_resource *o = *ret && tracer_generation() ? entry_of(r) : NULL;
	uint64_t generation;

	if (!at || !o)
		return at;
	generation = atomic_load_explicit(&(*ret)->generation, memory_order_relaxed);
	if (atomic_load_explicit(&o->generation, memory_order_relaxed) != generation) {
		at = put_open(at, o, r->id);
		emit_told(*ret, at);
		atomic_store_explicit(&o->generation, generation, memory_order_relaxed);
	}
	return at;
}

/* Whether the type lets @to follow @from. */
static bool is_legal(const struct coati_resource_type *type, uint32_t from, uint32_t to)
{
	if (from >= type->count || to >= type->count)
		return false;
	return !type->next || type->next[from] >> to & 1;
}

static void write_set(struct coati_resource *r, uint32_t from, const char *reason)
{
	size_t size = reason ? strlen(reason) : 0;
	struct tracer_open_resource *o;
	struct tracer_text view;
	struct tracer_slot *s;
	uint8_t *at = enter(r, text_worst(size), &s);

	o = s && tracer_generation() ? entry_of(r) : NULL;
	if (o)
		atomic_store_explicit(&o->state, r->state, memory_order_relaxed);
	if (!at) {
		if (o) /* to be repeated */
			atomic_store_explicit(&o->generation, 0, memory_order_relaxed);
		emit_fail(s);
		return;
	}
	at = coati_tracer_define_text(s, at, (struct tracer_given){ reason ? reason : "", size, 0 },
				      &view);
	at = put_head(s, at, LIVE_RESOURCE_SET, tracer_now());
	at = put_var(at, r->type->id);
	at = put_var(at, r->id);
	at = put_var(at, from);
	at = put_var(at, r->state);
	emit_commit(s, put_string(at, &view));
	emit_leave(s);
}

int coati_resource_set(struct coati_resource *r, uint32_t state, const char *reason)
{
	uint32_t from = r->state;

	r->state = state;
	if (tracer_gate() & GATE_ON && coati_tracer_type(r->type))
		write_set(r, from, reason);
	return is_legal(r->type, from, state) ? 0 : -EINVAL;
}

void coati_resource_end(struct coati_resource *r)
{
	struct tracer_open_resource *o;
	struct tracer_slot *s;
	uint8_t *at;

	if (!r->id || !(tracer_gate() & GATE_ON) || !coati_tracer_type(r->type))
		return;
	at = enter(r, 0, &s);
	o = s && tracer_generation() ? entry_of(r) : NULL;
	if (o) {
		atomic_store_explicit(&o->id, 0, memory_order_relaxed);
		give_slot(r->slot);
		r->slot = TRACER_NO_SLOT;
	}
	if (!at) {
		emit_fail(s);
		return;
	}
	at = put_head(s, at, LIVE_RESOURCE_END, tracer_now());
	at = put_var(at, r->type->id);
	emit_commit(s, put_var(at, r->id));
	emit_leave(s);
}

/* ---- telling them again ---- */

static bool is_open_before(const struct tracer_open_resource *o, uint64_t generation)
{
	/* pairs with: release in list() */
	return atomic_load_explicit(&o->id, memory_order_acquire) &&
	       atomic_load_explicit(&o->generation, memory_order_relaxed) < generation;
}

__attribute__((cold)) void coati_tracer_tell_resources(struct tracer_generation *g)
{
	const uint32_t each = RESOURCE_BYTES + sizeof(coati_tracer.resources->name);
	const uint32_t room = TRACER_CHUNK / 2;
	struct live_batch *b = NULL;
	uint8_t *at = NULL;
	uint32_t events = 0;

	for (uint32_t i = 0; i < TRACER_RESOURCES; i++) {
		const struct tracer_open_resource *o = &coati_tracer.resources[i];
		uint64_t id;

		if (!is_open_before(o, g->number))
			continue;
		if (b && (size_t)(at - (uint8_t *)(b + 1)) + each > room) {
			coati_tracer_close_system(b, at, events);
			b = NULL;
		}
		if (!b) {
			b = coati_tracer_open_system(g, LIVE_BATCH_STATUS, room);
			at = (uint8_t *)(b + 1);
			events = 0;
		}
		if (!b)
			return;
		id = atomic_load_explicit(&o->id, memory_order_acquire);
		if (id) {
			at = put_open(at, o, id);
			events++;
		}
	}
	if (b)
		coati_tracer_close_system(b, at, events);
}
