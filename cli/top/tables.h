/* SPDX-License-Identifier: MIT */
/* The tables of the model, for its own files: see model.h. */
#pragma once

#include "cli/top/model.h"

#define TOP_SLACK     8 /* over the cap by a part of it, until the next trim */
#define TOP_LATE_MAX  ((size_t)1 << 18)
#define TOP_TYPES_MAX 256 /* of tasks; more have no latencies */

int coati_top_tables_init(struct top_model *m);
void coati_top_tables_fini(struct top_model *m);
uint64_t coati_top_tables_bytes(const struct top_model *m);
/* The number of a task type. -E2BIG: too many. */
int coati_top_type(struct top_model *m, const char *name, uint32_t *ret);

uint64_t coati_top_second_bytes(const struct top_second *s);
int coati_top_second_add(struct top_model *m, struct top_second *s, const struct top_entry *e);
void coati_top_second_fini(struct top_model *m, struct top_second *s);
