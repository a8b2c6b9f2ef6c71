/* SPDX-License-Identifier: MIT */
/* What a writer of recordings consists of: writer.c puts bytes into the file, writer-events.c knows
 * events and sections, writer-start.c writes the head. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <coati/recording.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "recording/writer.h"

#define PENDING_MAX 65536
#define EVENTS_MAX  65536
#define SECTION_MAX (64u << 20)
#define RECORD_MAX  65535

struct packer;

struct event_out {
	struct coati_attr attr;
	char *name;
	uint64_t *ids;
	uint32_t nr_ids;
	bool more_ids;	     /* than are in the file */
	uint32_t nr_members; /* of the group that it leads, 0: none */
};

struct coati_writer {
	int fd;
	bool pipe, started;
	int failed; /* sticky */
	uint64_t max_bytes;
	uint64_t live_batches;
	uint64_t written; /* bytes in the file that are whole records (or header) */
	uint64_t attrs_offset, data_offset;
	uint32_t attr_bytes;	 /* of one attr in the file */
	uint64_t size_in_header; /* data size that the header says now */
	uint8_t pending[PENDING_MAX];
	size_t nr_pending;
	ARRAY(struct event_out) events;
	struct strbuf features[COATI_FEATURE_MAX];
	struct packer *packer;
	int zstd_level;
	uint64_t packed_in, packed_out;
	char path[256];
};

/* The first error sticks, and is returned. */
int coati_writer_fail(struct coati_writer *w, int code);
/* Bytes as they are, behind what is in the file. */
int coati_writer_plain(struct coati_writer *w, const void *bytes, size_t size);
/* Over what is there already: the header. */
int coati_writer_at(struct coati_writer *w, const void *bytes, size_t size, off_t offset);
/* Write the records that are gathered. */
int coati_writer_flush(struct coati_writer *w);
/* The eight bytes in front of a record. */
void coati_writer_head(uint8_t *at, uint32_t type, uint16_t misc, size_t size);
/* A record around a body. -E2BIG: there are none of more than 64 KiB. */
int coati_writer_body(struct coati_writer *w, uint32_t type, const struct strbuf *body);
int coati_writer_pipe_feature(struct coati_writer *w, uint32_t bit, const void *bytes, size_t size);
/* Make the sections that only the writer knows. */
void coati_writer_describe(struct coati_writer *w);
/* Each of them, for streams. */
void coati_writer_describe_events(const struct coati_writer *w, struct strbuf *s);
void coati_writer_describe_groups(const struct coati_writer *w, struct strbuf *s);
void coati_writer_describe_packing(const struct coati_writer *w, struct strbuf *s);
/* The table of sections and their bodies behind the data, then the header once more. */
int coati_writer_finish(struct coati_writer *w);
