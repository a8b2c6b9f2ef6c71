/* SPDX-License-Identifier: MIT */
/*
 * A walk over the kinds of events of one batch, which skips arguments by their letters. Where a
 * letter needs more than the batch to know how long it is, or events are malformed, the answer is
 * that there may be samples, and the reader decides. A fifth of the time that decoding takes.
 */
#include "live-read/sampled.h"

#include "record/live-decode.h"

struct scan {
	const uint8_t *at, *end;
	bool is_over; /* an argument reaches behind the end, or its length is not known here */
};

/* Seven bits a byte, and a bit that there are more.  Hot. */
static inline uint64_t take_number(struct scan *s)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; s->at < s->end && shift < 64; shift += 7) {
		uint8_t b = *s->at++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	s->is_over = true;
	return 0;
}

static void skip_bytes(struct scan *s, uint64_t size)
{
	s->is_over |= size > (uint64_t)(s->end - s->at);
	s->at += s->is_over ? 0 : size;
}

/* By its letter: see live-format.h. */
static inline void skip_argument(struct scan *s, char letter)
{
	uint64_t v;

	switch (letter) {
	case 'v':
	case 'z':
	case 't':
	case 'k':
		(void)take_number(s);
		return;
	case 's':
		v = take_number(s);
		skip_bytes(s, v & 1 ? 0 : v >> 1);
		return;
	case 'b':
		skip_bytes(s, take_number(s));
		return;
	case 'd':
		skip_bytes(s, sizeof(double));
		return;
	default:
		s->is_over = true;
	}
}

/* Hot. */
static bool scan_events(struct scan *s)
{
	while (s->at < s->end && !s->is_over) {
		uint8_t head = *s->at++;
		unsigned int kind = head & 31;

		if (kind == LIVE_SAMPLE || kind == LIVE_MORE)
			return true;
		if (kind == LIVE_NONE)
			continue;
		skip_bytes(s, (head >> 5) + 1u);
		for (const char *l = coati_live_kinds[kind].letters; *l && !s->is_over; l++)
			skip_argument(s, *l);
	}
	return s->is_over;
}

/* Kinds may mean something else than here. */
static bool is_foreign(const struct live_view *b)
{
	struct live_walk w = coati_live_walk(b, NULL, NULL, NULL);
	struct live_schema schema = { .is_other = false };
	struct live_schema_entry entry;
	int r;

	while ((r = coati_live_schema_next(&w, &entry)) > 0)
		if (coati_live_schema_add(&schema, &entry) < 0)
			return true;
	return r < 0 || schema.is_other;
}

bool coati_live_may_have_samples(const void *bytes, size_t size)
{
	struct live_view b;
	struct scan s;

	if (coati_live_open(bytes, size, &b))
		return false; /* it is left out */
	if (b.head.kind == LIVE_BATCH_SCHEMA)
		return is_foreign(&b);
	if (b.head.kind != LIVE_BATCH_EVENTS)
		return false;
	s = (struct scan){ b.payload, b.payload + b.head.used, false };
	return scan_events(&s);
}
