/* SPDX-License-Identifier: MIT */
/*
 * What a recorder wrote, taken apart by the low decoder: batches, and events of a kind. Every batch
 * must be whole, closed and checked; everything in it must have a meaning.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/tracer.h>

#include "record/live-decode.h"

#define SPOOL_SITES 256

struct spool {
	uint8_t *bytes;
	size_t size;
	uint64_t batches, events;    /* of all kinds */
	uint64_t kinds[LIVE_KINDS];  /* events of each */
	uint64_t ends, processes;    /* batches */
	uint64_t first, last;	     /* generations */
	uint64_t lost;		     /* as LIVE_LOST say */
	char sites[SPOOL_SITES][64]; /* names by number */
	char fields[SPOOL_SITES][64];
};

typedef void (*spool_fn)(void *ctx, const struct live_view *batch, const struct live_event *e);

/* Everything that can be read from @fd, from its begin; checks it and counts. */
void spool_read(struct spool *t, int fd);
/* A snapshot of @rec. */
void spool_snapshot(struct spool *t, struct coati_recorder *rec);
/* Each event in the order of the batches. */
void spool_each(const struct spool *t, spool_fn fn, void *ctx);
void spool_free(struct spool *t);
/* A flight recorder without a name, with @bytes of memory and generations as long as the test (0:
 * 16 MiB). */
struct coati_recorder *spool_start(uint64_t bytes);
