/* SPDX-License-Identifier: MIT */
/*
 * Changing the labels of this thread. In come keys and values, out go records that are whole at
 * every instant (the invariants are in labels.h). The hot path is a length, a copy and a few
 * stores.
 */
#include "live/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "live/tracer/tracer.h"

/* A program without the tracer is not given it for its labels: nothing opens its gate. */
__attribute__((weak, visibility("hidden"))) void coati_tracer_labels_changed(void);

static uint16_t size_of(const struct label_record *r)
{
	return atomic_load_explicit(&r->size, memory_order_relaxed);
}

static struct label_record *current(struct label_thread *t)
{
	return atomic_load_explicit(&t->now, memory_order_relaxed);
}

/* pairs with: acquire in coati_labels_snapshot() in a signal handler of this thread, and the reads
 * of who stopped it */
static void publish_size(struct label_record *r, uint32_t size)
{
	atomic_store_explicit(&r->size, (uint16_t)size, memory_order_release);
}

/* pairs with: as above */
static void publish_record(struct label_thread *t, struct label_record *r)
{
	atomic_store_explicit(&t->now, r, memory_order_release);
	atomic_store_explicit(&coati_label_context, r, memory_order_release);
}

static void set_busy(struct label_thread *t)
{
	atomic_store_explicit(&t->busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static void clear_busy(struct label_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&t->busy, 0, memory_order_relaxed);
}

/* A change begins; false when it interrupts another one of this thread. */
static bool enter(struct label_thread *t)
{
	if (atomic_load_explicit(&t->busy, memory_order_relaxed)) {
		label_lose(LOSS_MISUSE);
		return false;
	}
	set_busy(t);
	return true;
}

/* Does a recorder want changes of labels? */
static bool is_told(void)
{
	return __atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED) & GATE_LABELS;
}

static void leave(struct label_thread *t)
{
	clear_busy(t);
	if (__builtin_expect(is_told(), 0))
		coati_tracer_labels_changed();
}

static struct label_thread *self(void)
{
	struct label_thread *t = atomic_load_explicit(&coati_label_self, memory_order_relaxed);

	return __builtin_expect(t != NULL, 1) ? t : coati_label_thread_start();
}

/* The index of @key; COATI_LABEL_KEYS or more when it has none (counted). */
static uint32_t index_of(struct coati_label_key *key)
{
	uint32_t id = __atomic_load_n(&key->id, __ATOMIC_RELAXED);

	if (__builtin_expect(id == 0, 0))
		id = coati_label_intern(key);
	if (__builtin_expect(id - 1 >= COATI_LABEL_KEYS, 0))
		label_lose(id ? LOSS_KEYS : LOSS_MEMORY);
	return id - 1;
}

/* At most what an entry holds, and no half of a UTF-8 character. */
static uint32_t cut(const char *value, size_t size)
{
	uint32_t n = COATI_LABEL_VALUE_BYTES;

	if (__builtin_expect(size <= COATI_LABEL_VALUE_BYTES, 1))
		return (uint32_t)size;
	label_lose(LOSS_CUT);
	for (int back = 0; back < 3 && ((uint8_t)value[n] & 0xc0) == 0x80; back++)
		n--;
	return ((uint8_t)value[n] & 0xc0) == 0x80 ? COATI_LABEL_VALUE_BYTES : n;
}

/* memcpy() for short texts: gcc makes a string instruction of one whose length has a known limit,
 * which takes 27 ns for 14 bytes where this takes 2. */
static inline void copy_short(uint8_t *to, const char *from, uint32_t size)
{
	if (size >= 16) {
		for (uint32_t at = 0; at < size - 16; at += 16)
			memcpy(to + at, from + at, 16);
		memcpy(to + size - 16, from + size - 16, 16);
	} else if (size >= 8) {
		memcpy(to, from, 8);
		memcpy(to + size - 8, from + size - 8, 8);
	} else if (size >= 4) {
		memcpy(to, from, 4);
		memcpy(to + size - 4, from + size - 4, 4);
	} else if (size) {
		to[0] = (uint8_t)from[0];
		to[size / 2] = (uint8_t)from[size / 2];
		to[size - 1] = (uint8_t)from[size - 1];
	}
}

/* Write an entry at @pos of a record that is not published that far, and has room; the new end. */
static inline uint32_t put_entry(struct label_record *r, uint32_t pos, uint32_t index,
				 const char *value, uint32_t size)
{
	r->entries[pos] = (uint8_t)index;
	r->entries[pos + 1] = (uint8_t)size;
	copy_short(r->entries + pos + LABEL_ENTRY, value, size);
	return pos + LABEL_ENTRY + size;
}

/* The same; 0 when it does not fit (counted). */
static uint32_t put(struct label_record *r, uint32_t pos, uint32_t index, const char *value,
		    uint32_t size)
{
	if (__builtin_expect(size > COATI_LABELS_BYTES - LABEL_ENTRY ||
				     pos > COATI_LABELS_BYTES - LABEL_ENTRY - size,
			     0)) {
		label_lose(LOSS_SIZE);
		return 0;
	}
	return put_entry(r, pos, index, value, size);
}

/* Where the entry of @index begins in [from, to), or @to. */
static uint32_t find(const struct label_record *r, uint32_t from, uint32_t to, uint32_t index)
{
	while (from < to && r->entries[from] != index)
		from += LABEL_ENTRY + r->entries[from + 1];
	return from;
}

/* Where the entries of the scope begin that the thread is in. */
static uint32_t scope_start(const struct label_thread *t)
{
	return t->depth ? t->slots[t->depth - 1].start : 0;
}

/* The stack pointer of the caller, nearly: what is below it is of functions that were left. */
#define HERE ((uint64_t)(uintptr_t)__builtin_frame_address(0))

/* End the scopes that longjmp() left. */
static void end_left(struct label_thread *t, uint64_t sp, uint32_t below)
{
	uint32_t open = coati_label_depth(t, sp, below);

	if (open == t->depth)
		return;
	publish_size(current(t), t->slots[open].start);
	t->depth = open;
}

/* As in struct label_slot. */
static inline uint32_t below_top(const struct label_thread *t,
				 const struct coati_label_scope *variable)
{
	uint64_t below = t->stack_top - (uint64_t)(uintptr_t)variable;

	return variable && below < t->stack_size ? (uint32_t)below : 0;
}

/* Seen by signal handlers of this thread in this order. */
static inline void push_slot(struct label_thread *t, uint32_t depth, struct label_slot slot,
			     struct coati_label_scope *variable)
{
	if (variable)
		*variable = (struct coati_label_scope){ t, slot.serial, depth };
	t->slots[depth] = slot;
	atomic_signal_fence(memory_order_release);
	t->depth = depth + 1;
}

/* NULL thread when it is too deep (counted). */
static struct coati_label_scope open_scope(struct label_thread *t, uint32_t size,
					   struct coati_label_scope *variable)
{
	struct coati_label_scope scope = { 0 };

	if (__builtin_expect(t->depth == COATI_LABEL_DEPTH, 0)) {
		label_lose(LOSS_SIZE);
		return scope;
	}
	scope = (struct coati_label_scope){ t, ++t->serials, t->depth };
	push_slot(t, t->depth, (struct label_slot){ scope.serial, size, below_top(t, variable) },
		  variable);
	return scope;
}

/* Whatever begin() does not do: the first use of a key or in a thread, what is too long, too deep
 * or too much, and a change that interrupts another. */
static __attribute__((noinline)) struct coati_label_scope begin_slowly(
	struct coati_label_key *key, const char *value, size_t size,
	struct coati_label_scope *variable, uint64_t sp)
{
	struct coati_label_scope scope = { 0 };
	struct label_thread *t = self();
	struct label_record *r;
	uint32_t index, end;

	if (variable)
		*variable = scope;
	if (!t || !enter(t))
		return scope;
	end_left(t, sp, below_top(t, variable));
	index = index_of(key);
	r = current(t);
	scope = open_scope(t, size_of(r), variable);
	if (scope.thread && index < COATI_LABEL_KEYS) {
		end = put(r, size_of(r), index, value, cut(value, size));
		if (end != 0)
			publish_size(r, end);
	}
	leave(t);
	return scope;
}

/* Apart, so that begin() keeps nothing for after a call. */
static __attribute__((noinline)) struct coati_label_scope tell_change(
	struct coati_label_scope scope)
{
	coati_tracer_labels_changed();
	return scope;
}

/* The short way: it calls nothing and counts nothing. What the thread has is looked at once the
 * change has begun: a signal handler could change it before. */
static inline __attribute__((always_inline)) struct coati_label_scope begin(
	struct coati_label_key *key, const char *value, size_t size,
	struct coati_label_scope *variable)
{
	struct label_thread *t = atomic_load_explicit(&coati_label_self, memory_order_relaxed);
	uint32_t index = __atomic_load_n(&key->id, __ATOMIC_RELAXED) - 1, used, depth, below;
	struct coati_label_scope scope;
	struct label_record *r;

	if (__builtin_expect(!t || index >= COATI_LABEL_KEYS || size > COATI_LABEL_VALUE_BYTES ||
				     atomic_load_explicit(&t->busy, memory_order_relaxed),
			     0))
		return begin_slowly(key, value, size, variable, HERE);
	set_busy(t);
	r = current(t);
	used = size_of(r);
	depth = t->depth;
	below = below_top(t, variable);
	if (__builtin_expect(depth == COATI_LABEL_DEPTH ||
				     used + LABEL_ENTRY + size > COATI_LABELS_BYTES ||
				     (depth && coati_label_depth(t, HERE, below) < depth),
			     0)) {
		clear_busy(t);
		return begin_slowly(key, value, size, variable, HERE);
	}
	scope = (struct coati_label_scope){ t, ++t->serials, depth };
	push_slot(t, depth, (struct label_slot){ scope.serial, used, below }, variable);
	publish_size(r, put_entry(r, used, index, value, (uint32_t)size));
	clear_busy(t);
	return __builtin_expect(is_told(), 0) ? tell_change(scope) : scope;
}

struct coati_label_scope coati_label_begin_bytes(struct coati_label_key *key, const void *value,
						 size_t size)
{
	return begin(key, value, size, NULL);
}

void coati_label_begin_here(struct coati_label_scope *variable, struct coati_label_key *key,
			    const void *value, size_t size)
{
	begin(key, value, size, variable);
}

struct coati_label_scope coati_label_begin(struct coati_label_key *key, const char *value)
{
	return begin(key, value, value ? strlen(value) : 0, NULL);
}

void coati_label_end(const struct coati_label_scope *scope)
{
	struct label_thread *t = atomic_load_explicit(&coati_label_self, memory_order_relaxed);
	uint32_t depth = scope->depth;

	if (__builtin_expect(!scope->thread, 0))
		return;
	if (__builtin_expect(t != scope->thread || depth >= t->depth ||
				     t->slots[depth].serial != scope->serial,
			     0)) {
		label_lose(LOSS_MISUSE);
		return;
	}
	if (__builtin_expect(!enter(t), 0))
		return;
	publish_size(current(t), t->slots[depth].start);
	t->depth = depth;
	leave(t);
}

/* The other record, made of the published one without the entry at @at: what was before it, what
 * was behind it. Its size. */
static uint32_t rebuild(struct label_thread *t, uint32_t at, struct label_record **ret)
{
	struct label_record *r = current(t);
	struct label_record *other = r == &t->records[0] ? &t->records[1] : &t->records[0];
	uint32_t size = size_of(r), behind = at + LABEL_ENTRY + r->entries[at + 1];

	memcpy(other->entries, r->entries, at);
	memcpy(other->entries + at, r->entries + behind, size - behind);
	*ret = other;
	return at + size - behind;
}

/* Replace or append in the scope that the thread is in. */
static int put_in_scope(struct label_thread *t, uint32_t index, const char *value, uint32_t size)
{
	struct label_record *r = current(t);
	uint32_t used = size_of(r), at = find(r, scope_start(t), used, index), end;

	if (at < used)
		used = rebuild(t, at, &r);
	end = put(r, used, index, value, size);
	if (!end)
		return -E2BIG;
	publish_size(r, end);
	publish_record(t, r);
	return 0;
}

/* What coati_label_set() and coati_label_unset() begin with: 0, then leave(). */
static int begin_change(struct coati_label_key *key, uint64_t sp, struct label_thread **ret,
			uint32_t *ret_index)
{
	struct label_thread *t = self();
	uint32_t index;

	if (!t)
		return -ENOMEM;
	if (!enter(t))
		return -EBUSY;
	end_left(t, sp, 0);
	index = index_of(key);
	if (index >= COATI_LABEL_KEYS) {
		leave(t);
		return -ENOSPC;
	}
	*ret = t;
	*ret_index = index;
	return 0;
}

int coati_label_set(struct coati_label_key *key, const char *value)
{
	struct label_thread *t;
	uint32_t index;
	int r = begin_change(key, HERE, &t, &index);

	if (r < 0)
		return r;
	r = put_in_scope(t, index, value, cut(value, value ? strlen(value) : 0));
	leave(t);
	return r;
}

/* Out of this scope; where the ones around it have it, an empty value hides it. */
static int take_from_scope(struct label_thread *t, uint32_t index)
{
	struct label_record *r = current(t);
	uint32_t start = scope_start(t), size = size_of(r), at = find(r, start, size, index);

	if (find(r, 0, start, index) < start)
		return put_in_scope(t, index, "", 0);
	if (at == size)
		return 0;
	size = rebuild(t, at, &r);
	publish_size(r, size);
	publish_record(t, r);
	return 0;
}

int coati_label_unset(struct coati_label_key *key)
{
	struct label_thread *t;
	uint32_t index;
	int r = begin_change(key, HERE, &t, &index);

	if (r < 0)
		return r;
	r = take_from_scope(t, index);
	leave(t);
	return r;
}

struct coati_label_scope coati_labels_adopt(const struct coati_labels *labels)
{
	struct coati_label_scope scope = { 0 };
	struct label_thread *t = self();
	struct label_record *r;
	struct coati_label_item label;
	uint32_t pos = 0, end, size;

	if (!t || !enter(t))
		return scope;
	end_left(t, HERE, 0);
	r = current(t);
	size = size_of(r);
	scope = open_scope(t, size, NULL);
	while (scope.thread && coati_labels_next(labels, &pos, &label) == 1) {
		end = put(r, size, label.index, label.value, label.size);
		size = end ? end : size;
	}
	publish_size(r, size);
	leave(t);
	return scope;
}
