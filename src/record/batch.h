/* SPDX-License-Identifier: MIT */
/* Data of our own in a perf.data file: RAW samples of the dummy event "coati/live". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/record.h>

#define COATI_LIVE_EVENT     "coati/live"
#define COATI_LIVE_BATCH_MAX 32768
/* of that event in recordings of coati; the kernel's are small */
#define COATI_LIVE_ID (UINT64_C(1) << 62)

enum coati_batch_kind {
	COATI_BATCH_UNKNOWN = 0,
	COATI_BATCH_META,    /* facts about the recording as key=value text */
	COATI_BATCH_TRACE,   /* events of the live tracer, see docs/formats/live.md */
	COATI_BATCH_SYMBOLS, /* packed symbols */
	COATI_BATCH_STATS,   /* the recorder's own account */
};

struct coati_batch {
	enum coati_batch_kind kind;
	uint32_t version; /* of the payload's format */
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id; /* of the event, as in its ids */
	const uint8_t *payload;
	uint32_t payload_size;
	uint32_t reserved;
};

/* The attr of that event; pass it to coati_writer_add_event(). */
void coati_batch_attr(struct coati_attr *ret);

/* The batch as a SAMPLE record into @buf: its size, -ENOSPC, -E2BIG over COATI_LIVE_BATCH_MAX. */
int coati_batch_encode(const struct coati_batch *batch, void *buf, size_t cap);

/* From a decoded sample of that event (@swap as in its raw record): 0, or -EBADMSG when coati did
 * not write it. Views live as long as the sample. */
int coati_batch_decode(const struct coati_record *rec, uint32_t swap, struct coati_batch *ret);
