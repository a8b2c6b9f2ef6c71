/* SPDX-License-Identifier: MIT */
/*
 * What live events refer to by number. Strings and stacks belong to a generation and are views into
 * its batches; sites, types of resources and the schema belong to a process, and are copied because
 * what began in one generation ends in another.
 */
#pragma once

#include <coati/trace.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "record/live-decode.h"

/* Bytes of a batch. */
struct live_blob {
	const uint8_t *bytes;
	uint32_t size, full_size;
};

/* Of a generation. */
struct live_table {
	struct map strings, stacks; /* number -> index */
	ARRAY(struct live_blob) blobs;
};

void coati_live_table_init(struct live_table *t);
void coati_live_table_fini(struct live_table *t);
/* Learn a LIVE_STRING or LIVE_STACK; another kind is passed over. The first with a number counts.
 * -ENOMEM, -E2BIG. */
int coati_live_table_add(struct live_table *t, const struct live_event *e);
/* NULL: not there. */
const struct live_blob *coati_live_table_string(const struct live_table *t, uint64_t id);
const struct live_blob *coati_live_table_stack(const struct live_table *t, uint64_t id);

#define LIVE_SITES_NEAR 128u /* numbers of one byte: there is room for those if there is for any */

/* Of a process. */
struct live_names {
	uint32_t pid;
	struct arena memory;
	/* by number; asked for with every event, and the numbers are small */
	struct coati_trace_site **sites;
	uint32_t nr_sites;
	bool renamed;	  /* a number means another site than before */
	struct map types; /* number -> pointer */
	struct live_schema schema;
};

void coati_live_names_init(struct live_names *n, uint32_t pid);
void coati_live_names_fini(struct live_names *n);
/* Learn a LIVE_SITE or a LIVE_TYPE. -ENOMEM, -E2BIG, -EBADMSG: its texts are not in it. */
int coati_live_names_add(struct live_names *n, const struct live_event *e);
/* A copy that lives as long. */
int coati_live_names_text(struct live_names *n, const struct live_text *text,
			  struct coati_trace_text *ret);
/* NULL: not known.  Hot. */
static inline const struct coati_trace_site *live_names_site(const struct live_names *n,
							     uint64_t id)
{
	return id < n->nr_sites ? n->sites[id] : NULL;
}
const struct coati_trace_type *coati_live_names_type(const struct live_names *n, uint64_t id);
/* A live_fields_fn over struct live_names. */
bool coati_live_names_fields(void *names, uint64_t site, const char **ret, uint32_t *ret_size);
