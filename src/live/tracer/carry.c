/* SPDX-License-Identifier: MIT */
/*
 * Batches come in, a stream of perf.data goes out: its head, the one event that there is
 * (coati/live), and for each batch a sample of that event with the batch as raw payload, copied
 * once. docs/formats/perf-data.md has the bytes.
 */
#include "live/tracer/carry.h"

#include <string.h>

#include <coati/recording.h>

#include "record/batch.h"
#include "record/live-format.h"

#define PIPE_MAGIC  UINT64_C(0x32454c4946524550) /* "PERFILE2" */
#define PIPE_HEAD   16
#define UPDATE_NAME 2
#define VERSION	    1  /* of the payload */
#define PAYLOAD_AT  72 /* in a record of coati_batch_encode() */

struct record_head {
	uint32_t type;
	uint16_t misc, size;
};

static void add_u64(struct strbuf *out, uint64_t v)
{
	coati_strbuf_add(out, &v, sizeof(v));
}

static void add_header(struct strbuf *out, uint32_t type, size_t body)
{
	struct record_head h = { type, 0, (uint16_t)(sizeof(h) + body) };

	coati_strbuf_add(out, &h, sizeof(h));
}

void coati_tracer_carry_head(struct strbuf *out)
{
	char name[16] = COATI_LIVE_EVENT;
	struct coati_attr attr;

	coati_batch_attr(&attr);
	attr.size = COATI_ATTR_SIZE_618;
	add_u64(out, PIPE_MAGIC);
	add_u64(out, PIPE_HEAD);
	add_header(out, COATI_RECORD_HEADER_ATTR, attr.size + sizeof(uint64_t));
	coati_strbuf_add(out, &attr, attr.size);
	add_u64(out, COATI_LIVE_ID);
	add_header(out, COATI_RECORD_EVENT_UPDATE, 2 * sizeof(uint64_t) + sizeof(name));
	add_u64(out, UPDATE_NAME);
	add_u64(out, COATI_LIVE_ID);
	coati_strbuf_add(out, name, sizeof(name));
}

void coati_tracer_carry(struct strbuf *out, const struct live_batch *head,
			const struct live_batch *there)
{
	struct coati_batch b = { .kind = COATI_BATCH_TRACE,
				 .version = VERSION,
				 .id = COATI_LIVE_ID,
				 .pid = head->pid,
				 .tid = head->tid,
				 .time_ns = head->pair_ns,
				 .payload = (const uint8_t *)there,
				 .payload_size = (uint32_t)sizeof(*head) + head->used };
	size_t room = (size_t)b.payload_size + PAYLOAD_AT + 8;
	char *at = strbuf_room(out, room);
	int n = at ? coati_batch_encode(&b, at, room) : 0;

	if (n <= 0)
		return;
	memcpy(at + PAYLOAD_AT, head, sizeof(*head));
	out->len += (size_t)n;
	out->text[out->len] = '\0';
}

void coati_tracer_carry_rest(const char *bytes, size_t size, size_t written,
			     void (*fn)(void *ctx, const struct live_batch *head), void *ctx)
{
	const uint64_t magic = PIPE_MAGIC;
	struct record_head h;
	struct live_batch b;
	size_t at = 0;

	if (size >= PIPE_HEAD && !memcmp(bytes, &magic, sizeof(magic)))
		at = PIPE_HEAD;
	for (; size - at >= sizeof(h); at += h.size) {
		memcpy(&h, bytes + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > size - at)
			return;
		if (h.type != COATI_RECORD_SAMPLE || at + h.size <= written ||
		    h.size < PAYLOAD_AT + sizeof(b))
			continue;
		memcpy(&b, bytes + at + PAYLOAD_AT, sizeof(b));
		fn(ctx, &b);
	}
}
