/* SPDX-License-Identifier: MIT */
/*
 * Texts and stacks that events refer to. In: bytes or frames. Out: a number, with the definition
 * written in front of the event when it is new. Safe.
 */
#include "live/tracer/stacks.h"

#include <errno.h>

/* Numbers of texts that are no entries of the table: cut ones. Unique in a process. */
#define CUT_NUMBERS (UINT32_C(1) << 24)

static _Atomic uint32_t cut_texts;

static struct tracer_table *table_of(struct tracer_table tables[2], const struct tracer_slot *s)
{
	return &tables[atomic_load_explicit(&s->generation, memory_order_relaxed) & 1];
}

static void commit_told(struct tracer_slot *s, uint8_t *at, struct tracer_entry *e)
{
	emit_told(s, at);
	/* pairs with: acquire in is_told() */
	if (e)
		atomic_store_explicit(&e->told, 1, memory_order_release);
}

static bool is_told(struct tracer_entry *e)
{
	/* pairs with: release in commit_told(); the definition is published */
	return atomic_load_explicit(&e->told, memory_order_acquire);
}

/* ---- texts ---- */

static uint8_t *define(struct tracer_slot *s, uint8_t *at, const struct tracer_text *t, size_t full,
		       struct tracer_entry *e)
{
	at = put_kind(at, LIVE_STRING);
	at = put_var(at, t->number);
	at = put_var(at, full > t->size ? full : 0);
	at = put_bytes(at, t->text, t->size);
	commit_told(s, at, e);
	return at;
}

uint8_t *coati_tracer_define_text(struct tracer_slot *s, uint8_t *at, struct tracer_given given,
				  struct tracer_text *ret)
{
	size_t size = given.size, full = given.full;
	const char *text = given.text;
	struct tracer_entry *e;

	*ret = (struct tracer_text){ text, cut_text(text, size, TRACER_TEXT), 0 };
	if (ret->size < size || size < full) {
		ret->number = CUT_NUMBERS +
			      atomic_fetch_add_explicit(&cut_texts, 1, memory_order_relaxed) %
				      CUT_NUMBERS;
		return define(s, at, ret, full > size ? full : size, NULL);
	}
	if (full || size < 4 || size > TRACER_INTERNED)
		return at;
	ret->number = coati_tracer_intern(table_of(coati_tracer.strings, s), text, ret->size, &e);
	if (ret->number && !is_told(e))
		at = define(s, at, ret, size, e);
	return at;
}

/* ---- stacks ---- */

/* A handler that interrupts a walk knows nothing of the stack. */
static uint32_t walk(uint64_t fp, uint64_t *frames)
{
	struct stack_memory none = { .can_probe = true };
	struct tracer_thread *t = coati_tracer_self;
	uint32_t count;
	bool cut;

	if (!t || atomic_load_explicit(&t->walking, memory_order_relaxed))
		return coati_sampler_walk_known(&none, fp, frames, LIVE_STACK_MAX, &cut);
	atomic_store_explicit(&t->walking, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	count = coati_sampler_walk_known(&t->stack_memory, fp, frames, LIVE_STACK_MAX, &cut);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&t->walking, false, memory_order_relaxed);
	return count;
}

uint32_t coati_tracer_frames(const struct coati_site *site, const void *frame,
			     uint64_t frames[LIVE_STACK_MAX])
{
	int keep = errno;
	uint32_t count;

	if (!(__atomic_load_n(&site->flags, __ATOMIC_RELAXED) & COATI_SITE_STACK) &&
	    !atomic_load_explicit(&coati_tracer_hot.stacks, memory_order_relaxed))
		return 0;
	count = walk((uint64_t)(uintptr_t)frame, frames);
	errno = keep;
	return count;
}

static uint8_t *put_frames(uint8_t *at, const uint64_t *frames, uint32_t count, uint32_t number)
{
	uint64_t before = 0;

	at = put_kind(at, LIVE_STACK);
	at = put_var(at, number);
	at = put_var(at, count);
	for (uint32_t i = 0; i < count; i++) {
		at = put_zigzag(at, (int64_t)(frames[i] - before));
		before = frames[i];
	}
	return at;
}

/* The last stack of this thread again: no look-up. */
static bool is_last(const struct tracer_thread *t, const struct tracer_slot *s,
		    const uint64_t *frames, uint32_t count)
{
	return !s->index && t->stack_count == count &&
	       t->stack_generation == atomic_load_explicit(&s->generation, memory_order_relaxed) &&
	       !memcmp(t->stack, frames, count * sizeof(*frames));
}

uint8_t *coati_tracer_put_stack(struct tracer_slot *s, uint8_t *at, const uint64_t *frames,
				uint32_t count, uint32_t *ret)
{
	struct tracer_thread *t = coati_tracer_self;
	struct tracer_entry *e;

	*ret = 0;
	if (!count)
		return at;
	if (is_last(t, s, frames, count)) {
		*ret = t->stack_id;
		return at;
	}
	*ret = coati_tracer_intern(table_of(coati_tracer.stacks, s), frames,
				   count * (uint32_t)sizeof(*frames), &e);
	if (*ret && !is_told(e)) {
		at = put_frames(at, frames, count, *ret);
		commit_told(s, at, e);
	}
	if (*ret && !s->index) {
		memcpy(t->stack, frames, count * sizeof(*frames));
		t->stack_count = count;
		t->stack_id = *ret;
		t->stack_generation = atomic_load_explicit(&s->generation, memory_order_relaxed);
	}
	return at;
}

void coati_tracer_put_stacked(struct tracer_slot *s, uint32_t number)
{
	if (number)
		emit_told(s, put_var(put_kind(slot_at(s), LIVE_STACKED), number));
}
