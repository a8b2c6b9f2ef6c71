/* SPDX-License-Identifier: MIT */
/*
 * Batches of coati inside a recording: RAW samples of a software dummy event, which every reader of
 * perf.data skips or shows as samples without an address. docs/formats/perf-data.md has the bytes.
 */
#include "record/batch.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/writer.h"

#define BATCH_MAGIC UINT32_C(0x69746f63) /* "coti" */
#define BATCH_HEAD  12			 /* magic, kind, version, size */

void coati_batch_attr(struct coati_attr *ret)
{
	*ret = (struct coati_attr){
		.type = COATI_TYPE_SOFTWARE,
		.config = COATI_SW_DUMMY,
		.sample_period = 1,
		.sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP | COATI_SAMPLE_TID |
			       COATI_SAMPLE_TIME | COATI_SAMPLE_CPU | COATI_SAMPLE_PERIOD |
			       COATI_SAMPLE_RAW,
		.read_format = COATI_READ_ID,
		.flags = COATI_ATTR_DISABLED | COATI_ATTR_SAMPLE_ID_ALL | COATI_ATTR_USE_CLOCKID,
		.clockid = 1, /* CLOCK_MONOTONIC */
	};
}

int coati_batch_encode(const struct coati_batch *b, void *buf, size_t cap)
{
	/* The raw size includes the padding that makes u32 + raw a multiple of 8. */
	size_t raw = BATCH_HEAD + (size_t)b->payload_size;
	size_t padded = ((4 + raw + 7) & ~(size_t)7) - 4;
	size_t size = 8 + 6 * 8 + 4 + padded;
	struct writer w = writer_over(buf, cap);

	if (b->payload_size > COATI_LIVE_BATCH_MAX)
		return -E2BIG;
	writer_u32(&w, COATI_RECORD_SAMPLE);
	writer_u16(&w, COATI_MISC_USER);
	writer_u16(&w, (uint16_t)size);
	writer_u64(&w, b->id);
	writer_u64(&w, 0); /* ip */
	writer_u32(&w, b->pid);
	writer_u32(&w, b->tid);
	writer_u64(&w, b->time_ns);
	writer_u64(&w, 0); /* cpu */
	writer_u64(&w, 1); /* period */
	writer_u32(&w, (uint32_t)padded);
	writer_u32(&w, BATCH_MAGIC);
	writer_u16(&w, (uint16_t)b->kind);
	writer_u16(&w, (uint16_t)b->version);
	writer_u32(&w, b->payload_size);
	writer_bytes(&w, b->payload, b->payload_size);
	writer_zeros(&w, padded - raw);
	return w.full ? -ENOSPC : (int)size;
}

int coati_batch_decode(const struct coati_record *rec, uint32_t swap, struct coati_batch *ret)
{
	const struct coati_sample *s = &rec->u.sample;
	struct cursor c;
	struct coati_batch b = { 0 };

	if (rec->type != COATI_RECORD_SAMPLE || !(s->present & COATI_SAMPLE_RAW))
		return -EBADMSG;
	c = cursor_over(s->raw, s->raw_size);
	c.swap = swap;
	if (cursor_u32(&c) != BATCH_MAGIC)
		return -EBADMSG;
	b.kind = cursor_u16(&c);
	b.version = cursor_u16(&c);
	b.payload_size = cursor_u32(&c);
	b.payload = cursor_bytes(&c, b.payload_size);
	if (c.bad)
		return -EBADMSG;
	b.pid = rec->id.pid;
	b.tid = rec->id.tid;
	b.time_ns = rec->id.time;
	b.id = rec->id.id;
	*ret = b;
	return 0;
}
