/* SPDX-License-Identifier: MIT */
/* Inside labels.c and labels-names.c. */
#pragma once

#include "bpf/shared.h"
#include "capture/labels.h"

/* The head of an entry: index of its key, length of its value. */
#define LABEL_ENTRY 2

/* What is the same for all readers of a recording, and what they take of it. */
#define LABELS_MOST	62    /* of one set: readers use no more */
#define LABEL_SET_BYTES 24576 /* that many with the longest keys */

/* In place of the number of a set: it is known, and empty. */
#define LABELS_EMPTY (UINT32_MAX - 2)

/* Labels as they were read, and whose. */
struct raw_labels {
	uint64_t family;
	uint32_t pid, reserved;
	uint8_t entries[WALKER_LABEL_BYTES];
};
#define RAW_HEAD ((uint32_t)offsetof(struct raw_labels, entries))

int coati_label_names_init(struct label_names *n);
void coati_label_names_fini(struct label_names *n);
void coati_label_names_put(struct label_names *n, int32_t pid, uint64_t family,
			   struct context_keys *keys);
void coati_label_names_forked(struct label_names *n, uint32_t pid, uint32_t parent, uint64_t time);
/* Since it was asked last, an index got another name: what was applied is not right any more. */
bool coati_label_names_are_others(struct label_names *n);
void coati_label_names_gone(struct label_names *n, int32_t pid, uint64_t time);
/* Everything up to @time is written: forget those of processes that ended a while before. */
void coati_label_names_clean(struct label_names *n, uint64_t time);
/* Labels as a live event has them, into LABEL_SET_BYTES; false: a key has no name yet. */
bool coati_label_names_apply(struct label_names *n, const struct label_bytes *raw, uint8_t *ret,
			     uint32_t *ret_size);
