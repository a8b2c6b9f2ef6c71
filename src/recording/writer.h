/* SPDX-License-Identifier: MIT */
/*
 * Writing perf.data files. A writer gets its events first, then whole records as they lie in ring
 * buffers, then the sections that describe the machine. What was written up to the last round is
 * readable if the process dies.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>

#include "record/batch.h"
#include "recording/recording.h"

/* coati_writer_opts.flags */
#define COATI_WRITER_PIPE (UINT32_C(1) << 0) /* pipe mode: a stream, no seeking */

struct coati_writer_opts {
	uint64_t size;
	uint32_t flags;
	int32_t zstd_level; /* 0: not compressed; else 1..19 */
	uint64_t max_bytes; /* stop with -EFBIG before the file grows over this, 0: none */
};

struct coati_writer;

/* Create @path (truncated, 0600; "-": standard output, pipe mode). */
int coati_writer_open(const char *path, const struct coati_writer_opts *opts,
		      struct coati_writer **ret, struct coati_error *err);

/* Take over a descriptor. */
int coati_writer_open_fd(int fd, const struct coati_writer_opts *opts, struct coati_writer **ret,
			 struct coati_error *err);

/* Events, before anything else is written: copies name, attr and ids of @e. The name is shown by
 * readers; ids are the kernel's. Groups: coati_writer_group(). */
int coati_writer_add_event(struct coati_writer *w, const struct coati_recording_event *e,
			   struct coati_error *err);

/* More ids of the event that has @id, also after the start: they are in the file when it is closed.
 * -ENOENT: no event has it; -EOPNOTSUPP: a stream has written its ids already. */
int coati_writer_add_ids(struct coati_writer *w, uint64_t id, const uint64_t *ids, uint32_t nr_ids);

int coati_writer_group(struct coati_writer *w, uint32_t leader, uint32_t nr_members);

/* Write the header, and what is known by now about the recording, so that it is understood if we
 * die; from now on records. */
int coati_writer_start(struct coati_writer *w, struct coati_error *err);

/* Whole records, straight from where they lie (a ring's one or two spans): no copy, one system
 * call. After a short write or a full disk the file is cut back to the last whole record and the
 * error sticks. */
int coati_writer_write(struct coati_writer *w, const void *first, size_t first_size,
		       const void *second, size_t second_size);

/* One own record, buffered and written with the next span or round. */
int coati_writer_record(struct coati_writer *w, const void *record, size_t size);

/* FINISHED_ROUND. Also brings the size in the header up to date, so that the file is readable if we
 * die. */
int coati_writer_round(struct coati_writer *w);

/* A feature section: written at the end in file mode, as a record at once in pipe mode. Copied.
 * One without bytes is left out. */
int coati_writer_feature(struct coati_writer *w, uint32_t bit, const void *bytes, size_t size);

/* The sections that describe this machine, the command line, the clock: all that readers use. */
int coati_writer_host_features(struct coati_writer *w, int argc, const char *const *argv);

/* Tracing data for the tracepoints of the events, read from tracefs; before the recording
 * starts. */
int coati_writer_tracing_data(struct coati_writer *w, const char *tracefs, struct coati_error *err);

int coati_writer_build_id(struct coati_writer *w, const struct coati_build_id *id);

int coati_writer_batch(struct coati_writer *w, const struct coati_batch *batch);

/* A descriptor of its own from which everything up to the last round can be read; -ESPIPE: a
 * stream. The caller closes it. */
int coati_writer_reopen(const struct coati_writer *w);

uint64_t coati_writer_bytes(const struct coati_writer *w);

/* Batches of live events so far. */
uint64_t coati_writer_live_batches(const struct coati_writer *w);

/* 1: it writes a stream. */
int coati_writer_is_pipe(const struct coati_writer *w);

/* Write what is pending, sections and header; close. The error that stuck, or 0. *w becomes
 * NULL. */
int coati_writer_close(struct coati_writer **w, struct coati_error *err);
