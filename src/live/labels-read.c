/* SPDX-License-Identifier: MIT */
/* The labels of a thread as a set: read at any instant, in a signal handler too. Nothing here is
 * changed but what the caller owns. */
#include "live/labels.h"

#include <errno.h>
#include <string.h>

#include "base/sized.h"

LABEL_TLS struct label_thread *_Atomic coati_label_self;
LABEL_TLS const void *otel_thread_ctx_v1;
extern LABEL_TLS const void *_Atomic coati_label_context
	__attribute__((alias("otel_thread_ctx_v1")));
_Atomic(const char *) coati_label_names[COATI_LABEL_KEYS];
_Atomic uint64_t coati_label_losses[LOSS_KINDS];
_Atomic int32_t coati_process_context_state;

/* The entry at @pos of @size bytes: where the next one begins, or 0 when it is not whole. */
static uint32_t entry_end(const uint8_t *entries, uint32_t size, uint32_t pos)
{
	uint32_t end;

	if (size - pos < LABEL_ENTRY)
		return 0;
	end = pos + LABEL_ENTRY + entries[pos + 1];
	return end <= size ? end : 0;
}

uint32_t coati_labels_compact(const uint8_t *entries, uint32_t size, uint8_t *ret)
{
	/* without contents: what is read was written before */
	uint16_t last[COATI_LABEL_KEYS];
	uint32_t pos, end, used = 0;

	for (pos = 0; pos < size && (end = entry_end(entries, size, pos)); pos = end)
		last[entries[pos]] = (uint16_t)pos;
	for (pos = 0; pos < size && (end = entry_end(entries, size, pos)); pos = end) {
		if (last[entries[pos]] != pos || !entries[pos + 1])
			continue;
		memcpy(ret + used, entries + pos, end - pos);
		used += end - pos;
	}
	return used;
}

/* Not there in programs that only read labels. No thread has any then, either. */
__attribute__((weak, visibility("hidden"))) uint32_t coati_label_depth(const struct label_thread *t,
								       uint64_t sp, uint32_t below);

void coati_labels_read(uint64_t sp, struct coati_labels *ret)
{
	/* pairs with: the stores of this same thread in labels.c; a signal handler sees them in
	 * order */
	const struct label_thread *t =
		atomic_load_explicit(&coati_label_self, memory_order_acquire);
	const struct label_record *r;
	uint32_t open, size;

	ret->size = 0;
	if (!t)
		return;
	r = atomic_load_explicit(&t->now, memory_order_acquire);
	size = atomic_load_explicit(&r->size, memory_order_acquire);
	open = coati_label_depth ? coati_label_depth(t, sp, 0) : t->depth;
	if (open < t->depth && t->slots[open].start < size)
		size = t->slots[open].start;
	ret->size = coati_labels_compact(r->entries, size, ret->bytes);
}

void coati_labels_snapshot(struct coati_labels *ret)
{
	coati_labels_read((uint64_t)(uintptr_t)__builtin_frame_address(0), ret);
}

int coati_labels_next(const struct coati_labels *labels, uint32_t *pos,
		      struct coati_label_item *ret)
{
	uint32_t at = *pos, end;
	const char *name;

	if (labels->size > COATI_LABELS_BYTES || at > labels->size)
		return -EBADMSG;
	if (at == labels->size)
		return 0;
	end = entry_end(labels->bytes, labels->size, at);
	/* pairs with: release in coati_label_intern() */
	name = end ? atomic_load_explicit(&coati_label_names[labels->bytes[at]],
					  memory_order_acquire)
		   : NULL;
	if (!name)
		return -EBADMSG;
	*ret = (struct coati_label_item){
		.key = name,
		.value = (const char *)labels->bytes + at + LABEL_ENTRY,
		.size = labels->bytes[at + 1],
		.index = labels->bytes[at],
	};
	*pos = end;
	return 1;
}

static uint32_t count_keys(void)
{
	uint32_t n = 0;

	while (n < COATI_LABEL_KEYS &&
	       atomic_load_explicit(&coati_label_names[n], memory_order_relaxed))
		n++;
	return n;
}

static uint64_t lost(enum label_loss kind)
{
	return atomic_load_explicit(&coati_label_losses[kind], memory_order_relaxed);
}

__attribute__((cold)) int coati_labels_stats(struct coati_label_stats *ret)
{
	struct coati_label_stats stats = {
		.keys = count_keys(),
		.refused_keys = lost(LOSS_KEYS),
		.over_size = lost(LOSS_SIZE),
		.cut_values = lost(LOSS_CUT),
		.no_memory = lost(LOSS_MEMORY),
		.misused = lost(LOSS_MISUSE),
		.published =
			atomic_load_explicit(&coati_process_context_state, memory_order_relaxed),
	};

	return SIZED_FILL(ret, &stats);
}
