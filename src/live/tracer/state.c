/* SPDX-License-Identifier: MIT */
/*
 * Telling what is open: a thread's task, regions, name and labels, at the begin of its first batch
 * of a generation or after a loss. Under the lock, by the thread or, for one that does nothing, by
 * who changes the generation. Safe.
 */
#include "live/tracer/emit.h"

#define REGION_BYTES (HEAD_MAX + 4 * VAR_MAX)

static uint32_t known(const struct tracer_slot *s)
{
	return s->depth < s->regions_max ? s->depth : s->regions_max;
}

uint32_t coati_tracer_tell_bytes(const struct tracer_thread *t, const struct tracer_slot *s)
{
	return HEAD_MAX + 2 * VAR_MAX + known(s) * 24 +
	       (s->index ? 0 : TRACER_LABELS + HEAD_MAX + VAR_MAX + TRACER_NAME);
}

static void tell_regions(struct tracer_slot *s, uint32_t tid)
{
	for (uint32_t i = 0; i < known(s); i++) {
		const struct tracer_region *r = &s->regions[i];
		uint64_t age = s->batch->base > r->began ? s->batch->base - r->began : 0;
		uint8_t *at;

		if (r->flags)
			continue;
		at = put_kind(slot_at(s), LIVE_OPEN_REGION);
		at = put_var(at, tid);
		at = put_var(at, r->site);
		at = put_var(at, i);
		emit_told(s, put_var(at, age));
	}
}

/* As many as fit: {size, key, size, value}. */
uint8_t *coati_tracer_put_labels(uint8_t *at, const struct coati_labels *labels)
{
	uint8_t set[TRACER_LABELS - HEAD_MAX - VAR_MAX];
	struct coati_label_item item;
	uint32_t pos = 0, used = 0, size;

	while (coati_labels_next(labels, &pos, &item) == 1) {
		size = (uint32_t)strlen(item.key);
		if (used + size + item.size + 4 > sizeof(set))
			break;
		used = (uint32_t)(put_bytes(set + used, item.key, size) - set);
		used = (uint32_t)(put_bytes(set + used, item.value, item.size) - set);
	}
	return put_bytes(at, set, used);
}

static void tell_name(struct tracer_thread *t, struct tracer_slot *s)
{
	if (t == coati_tracer_self)
		memcpy(t->name, coati_tracer_name, sizeof(t->name));
	if (t->name[0])
		emit_told(s, put_text(put_kind(slot_at(s), LIVE_THREAD_NAME), t->name,
				      (uint32_t)strlen(t->name)));
}

void coati_tracer_tell(struct tracer_thread *t, struct tracer_slot *s)
{
	uint32_t tid = atomic_load_explicit(&t->tid, memory_order_relaxed);
	uint8_t *at = put_kind(slot_at(s), LIVE_OPEN_ENTER);

	at = put_var(at, tid);
	emit_told(s, put_var(at, atomic_load_explicit(&t->task, memory_order_relaxed)));
	tell_regions(s, tid);
	if (s->index)
		return;
	tell_name(t, s);
	if (!(tracer_gate() & GATE_LABELS))
		return;
	if (t->relabel && t == coati_tracer_self) {
		coati_labels_snapshot(&t->labels);
		t->relabel = false;
	}
	if (t->labels.size)
		emit_told(s,
			  coati_tracer_put_labels(put_kind(slot_at(s), LIVE_LABELS), &t->labels));
}
