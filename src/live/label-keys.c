/* SPDX-License-Identifier: MIT */
/*
 * Keys of labels: a name in, an index out, the same for the same name, for good. No lock: the first
 * free place of the table is taken by a compare-and-swap, and who loses it looks again.
 */
#include "live/labels.h"

#include <string.h>

#include "base/alloc.h"

/* Index + 1; the copy becomes the table's when it is new. */
static uint32_t place(const char *name)
{
	char *copy = NULL;

	for (uint32_t i = 0; i < COATI_LABEL_KEYS; i++) {
		const char *there =
			atomic_load_explicit(&coati_label_names[i], memory_order_acquire);

		if (!there) {
			/* the caller's text may go away with the library that it is in */
			copy = copy ? copy : coati_strdup(name);
			if (!copy)
				return 0;
			/* pairs with: the acquire loads here and in coati_labels_next() */
			if (atomic_compare_exchange_strong_explicit(&coati_label_names[i], &there,
								    copy, memory_order_acq_rel,
								    memory_order_acquire)) {
				coati_process_context_publish();
				return i + 1;
			}
		}
		if (!strcmp(there, name)) {
			coati_free(copy);
			return i + 1;
		}
	}
	coati_free(copy);
	return LABEL_REFUSED;
}

uint32_t coati_label_intern(struct coati_label_key *key)
{
	const char *name = key->name;
	uint32_t id;

	if (!name || !*name || strnlen(name, COATI_LABEL_KEY_BYTES + 1) > COATI_LABEL_KEY_BYTES)
		id = LABEL_REFUSED;
	else
		id = place(name);
	__atomic_store_n(&key->id, id, __ATOMIC_RELAXED);
	return id;
}
