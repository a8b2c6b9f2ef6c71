/* SPDX-License-Identifier: MIT */
/*
 * The inside of struct coati_flight: where in a file the memory of a flight recorder lies
 * (core.c), what its head said when it was checked (flight-open.c), its tables
 * (flight-tables.c) and its chunks (flight.c) as batches.
 *
 * Its owner may write to it, cut it short or fill it with lies while we read: every number is taken
 * out once and compared with the size of the file.
 */
#pragma once

#include <stdbool.h>

#include <coati/trace.h>

#include "base/array.h"
#include "live-read/flight.h"
#include "record/live-decode.h"
#include "record/live-format.h"

/* Where the memory lies. */
struct flight_place {
	int fd;
	uint64_t at, bytes;
	uint32_t signal;
	bool is_core;
};

/* Whether @fd is a core file: 1 and where the recorder's memory is (*ret->fd may be another file,
 * which the caller closes), 0: it is none; negative with the sentence. */
int coati_flight_core(int fd, struct flight_place *ret, struct coati_error *err);

/* What the head says, without the rest: for those who look at many. -EBADMSG: it is none; then @ret
 * has what is known of the file, and no bytes when it may become one. */
int coati_flight_peek(int fd, struct coati_flight_info *ret);

#define FLIGHT_SOME 64u /* entries of a table that are read at a time */

/* A chunk that is in use, by generation. */
struct flight_chunk {
	uint64_t generation;
	uint32_t index;
};

enum flight_stage {
	STAGE_PROCESS,
	STAGE_SITES,
	STAGE_TASKS,
	STAGE_CHUNKS,
	STAGE_LOSS,
	STAGE_END,
};

struct coati_flight {
	struct flight_place place;
	struct live_map map;
	struct coati_flight_info info;
	bool is_this_boot; /* the clocks of the machine are those of the process */
	ARRAY(struct flight_chunk) chunks;
	enum flight_stage stage;
	/* sites */
	uint64_t site; /* offset of the next definition */
	/* tasks */
	uint64_t task;
	/* chunks */
	size_t chunk;  /* that is read next */
	uint64_t turn; /* of the one before it, which is read now */
	uint32_t at, used;
	/* the batch before @at has given back what it did not use, and is not closed yet */
	bool is_closing;
	uint64_t first_base, first_cycles, first_ns; /* clock of the first batch */
	struct live_batch last;			     /* head of the last one */
	uint64_t lost;	/* events that batches of losses have reported so far */
	uint64_t ended; /* generation whose end mark waits for its other batches */
	uint8_t end_mark[LIVE_HEAD];
	uint8_t batch[LIVE_BATCH_MAX];
};

/* @size bytes at @at of the memory; -ENODATA: it ends before. */
int coati_flight_take(const struct coati_flight *f, uint64_t at, void *bytes, size_t size);

/* flight-tables.c: each puts a batch into f->batch: 1; 0: there is nothing more; negative. */
int coati_flight_give_process(struct coati_flight *f, size_t *ret_size);
int coati_flight_give_sites(struct coati_flight *f, size_t *ret_size);
int coati_flight_give_tasks(struct coati_flight *f, size_t *ret_size);
int coati_flight_give_loss(struct coati_flight *f, size_t *ret_size);
/* The batch in f->batch with the head @h is given. */
void coati_flight_note_loss(struct coati_flight *f, const struct live_batch *h);
