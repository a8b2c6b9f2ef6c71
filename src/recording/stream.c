/* SPDX-License-Identifier: MIT */
/* Records are taken out of the input one by one, identified and put in order. */
#include "recording/stream.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "record/record.h"
#include "recording/recording.h"

#define UNPACK_STEP 65536
#define UNPACK_FREE (UINT64_C(64) << 20)

void coati_stream_init(struct stream *s, struct shared *shared, int fd, bool seekable)
{
	*s = (struct stream){ .shared = shared, .name = "" };
	coati_input_init(&s->outer, &shared->pool, fd, seekable);
	coati_input_init(&s->inner, &shared->pool, -1, false);
}

void coati_stream_fini(struct stream *s)
{
	if (s->head)
		coati_chunk_put(&s->shared->pool, s->head->chunk);
	coati_order_fini(&s->order, &s->shared->pool);
	coati_ahead_free(s->ahead);
	coati_chunk_put(&s->shared->pool, s->packed_chunk);
	coati_input_fini(&s->outer);
	coati_input_fini(&s->inner);
	coati_unpacker_free(s->unpacker);
}

/* Put one record in line. The entry is made of values in registers: one that was put together in
 * memory would be copied before its last parts are there.  Hot. */
static inline int enqueue(struct stream *s, const struct input_record *rec, uint32_t flags)
{
	struct shared *sh = s->shared;
	uint32_t event = 0;
	uint64_t time = 0;
	int r;

	if (rec->raw.type < COATI_RECORD_HEADER_ATTR) {
		r = locator_find(&s->locator, sh->model.table, &rec->raw, &event, &time);
		if (r == -ENOENT) {
			flags |= COATI_RECORDING_ITEM_NO_EVENT;
			sh->stats.no_event++;
		}
	}
	rec->chunk->users++;
	r = order_add(&s->order, &(struct order_entry){ .time = time,
							.offset = rec->offset,
							.record = rec->bytes,
							.chunk = rec->chunk,
							.flags = flags,
							.event = event });
	if (r < 0)
		coati_chunk_put(&sh->pool, rec->chunk);
	return r;
}

/* A malformed record of metadata is skipped; the rest is read. */
static void note(struct stream *s, const struct input_record *rec, int r)
{
	const char *name = coati_record_name(rec->raw.type);

	if (r < 0)
		coati_damage_add(&s->shared->damage, r,
				 "%s: the record at byte %llu (%s) is malformed and was left out",
				 s->name, (unsigned long long)rec->offset, name ? name : "?");
}

/* Events and facts that travel as records: pipe mode. */
static int take_attr(struct shared *sh, const struct coati_raw *raw)
{
	struct cursor c = cursor_over(raw->body, raw->size - COATI_RAW_HEADER);
	struct cursor peek;
	struct coati_attr attr;
	uint32_t size;
	int r;

	c.swap = raw->swap;
	peek = c;
	cursor_skip(&peek, 4);
	size = cursor_u32(&peek);
	if (size < COATI_ATTR_SIZE_VER0)
		size = COATI_ATTR_SIZE_VER0;
	r = coati_model_attr(&c, size, &attr);
	if (r == 0)
		r = coati_model_add_event(&sh->model, &attr, &c);
	return r;
}

static int take_feature(struct shared *sh, const struct coati_raw *raw)
{
	struct cursor c = cursor_over(raw->body, raw->size - COATI_RAW_HEADER);
	uint64_t bit;
	size_t size;
	uint8_t *copy;

	c.swap = raw->swap;
	bit = cursor_u64(&c);
	size = cursor_left(&c);
	if (c.bad || bit >= COATI_FEATURE_MAX)
		return -EBADMSG;
	copy = coati_arena_alloc(&sh->model.arena, size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, c.at, size);
	return coati_model_feature(&sh->model, (uint32_t)bit, copy, size);
}

/*
 * The length of the data behind a record that its header does not cover. Old versions of simpleperf
 * write tracing data into the record itself.
 */
uint64_t coati_stream_behind(const struct coati_raw *raw)
{
	struct cursor c = cursor_over(raw->body, raw->size - COATI_RAW_HEADER);
	uint64_t size;

	c.swap = raw->swap;
	if (raw->type == COATI_RECORD_AUXTRACE)
		return cursor_u64(&c);
	if (raw->type != COATI_RECORD_TRACING_DATA)
		return 0;
	size = cursor_u32(&c);
	return size && cursor_left(&c) >= size ? 0 : (size + 7) & ~UINT64_C(7);
}

static int take_tracing_data(struct stream *s, const struct input_record *rec)
{
	struct cursor c = cursor_over(rec->raw.body, rec->raw.size - COATI_RAW_HEADER);
	uint64_t behind = coati_stream_behind(&rec->raw), size = behind;
	struct shared *sh = s->shared;
	uint8_t *copy;
	int r = 0;

	c.swap = rec->raw.swap;
	if (!behind)
		size = cursor_u32(&c);
	if (size > MODEL_SECTION_MAX)
		return coati_input_skip(&s->outer, behind);
	copy = coati_arena_alloc(&sh->model.arena, size);
	if (!copy)
		return -ENOMEM;
	if (behind)
		r = coati_input_copy(&s->outer, copy, size);
	else if (cursor_left(&c) >= size)
		memcpy(copy, c.at, size);
	if (r == 0)
		note(s, rec,
		     coati_model_feature(&sh->model, COATI_FEATURE_TRACING_DATA, copy, size));
	return r;
}

static int start_unpacking(struct stream *s, const struct input_record *rec)
{
	struct cursor c = cursor_over(rec->raw.body, rec->raw.size - COATI_RAW_HEADER);
	uint64_t size = cursor_left(&c);

	c.swap = rec->raw.swap;
	if (rec->raw.type == COATI_RECORD_COMPRESSED2) {
		size = cursor_u64(&c);
		if (c.bad || size > cursor_left(&c))
			return -EBADMSG;
	}
	if (!s->unpacker) {
		int r = coati_unpacker_new(&s->unpacker, &s->shared->err);

		if (r < 0)
			return r;
	}
	s->packed = c.at;
	s->packed_left = size;
	s->packed_chunk = rec->chunk;
	s->packed_offset = rec->offset;
	rec->chunk->users++;
	s->shared->stats.compressed_bytes += size;
	return 0;
}

static bool is_bomb(const struct shared *sh)
{
	uint64_t most;

	if (sh->stats.decompressed_bytes <= UNPACK_FREE)
		return false;
	return !__builtin_mul_overflow(sh->stats.compressed_bytes, sh->unpack_most, &most) &&
	       sh->stats.decompressed_bytes - UNPACK_FREE > most;
}

/* The next bytes of the compressed record into the inner input. */
static int unpack_step(struct stream *s)
{
	void *out;
	int64_t n;
	int r = coati_input_room(&s->inner, UNPACK_STEP, &out);

	if (r < 0)
		return r;
	n = coati_unpacker_step(s->unpacker, &s->packed, &s->packed_left, out, UNPACK_STEP);
	if (n < 0)
		return (int)n;
	coati_input_pushed(&s->inner, (size_t)n);
	s->shared->stats.decompressed_bytes += (uint64_t)n;
	if (is_bomb(s->shared))
		return coati_fail(
			&s->shared->err, -E2BIG,
			"%s unpacks to more than %llu bytes for each compressed one: it is broken, "
			"or made to fill memory; COATI_UNPACK_MOST=NUMBER in the environment "
			"allows "
			"more; everything before was read",
			s->name, (unsigned long long)s->shared->unpack_most);
	/* a full output buffer may have left something inside the decompressor */
	if (!s->packed_left && n < UNPACK_STEP) {
		coati_chunk_put(&s->shared->pool, s->packed_chunk);
		s->packed_chunk = NULL;
	}
	return 0;
}

/* What a record means for the reading itself. */
static int take(struct stream *s, const struct input_record *rec, uint32_t flags)
{
	struct shared *sh = s->shared;
	struct cursor c = cursor_over(rec->raw.body, rec->raw.size - COATI_RAW_HEADER);
	int r;

	c.swap = rec->raw.swap;
	if (rec->raw.type == COATI_RECORD_COMPRESSED || rec->raw.type == COATI_RECORD_COMPRESSED2)
		return flags & COATI_RECORDING_ITEM_COMPRESSED ? -EBADMSG : start_unpacking(s, rec);
	r = enqueue(s, rec, flags);
	if (r < 0 || rec->raw.type < COATI_RECORD_HEADER_ATTR)
		return r;
	switch (rec->raw.type) {
	case COATI_RECORD_HEADER_ATTR:
		note(s, rec, take_attr(sh, &rec->raw));
		break;
	case COATI_RECORD_HEADER_FEATURE:
		note(s, rec, take_feature(sh, &rec->raw));
		break;
	case COATI_RECORD_EVENT_UPDATE:
		note(s, rec, coati_model_event_update(&sh->model, &c));
		break;
	case COATI_RECORD_TRACING_DATA:
		return take_tracing_data(s, rec);
	case COATI_RECORD_AUXTRACE:
		return coati_input_skip(&s->outer, coati_stream_behind(&rec->raw));
	case COATI_RECORD_FINISHED_ROUND:
		sh->stats.rounds++;
		coati_order_round(&s->order);
		break;
	}
	return 0;
}

/* The records of the kernel that lie whole in the chunk, as far as the window has room for them:
 * the most of a file, without what other records ask for. Hot. */
static int take_kernel_records(struct stream *s)
{
	struct input *in = &s->outer;
	struct input_record rec = { .chunk = in->chunk };
	const uint8_t *at = in->chunk->data + in->at;
	size_t left = coati_input_left(in);
	int r = 0;

	while (r == 0 && !order_crowded(&s->order)) {
		rec.bytes = at;
		rec.offset = in->chunk->offset + in->at;
		if (coati_raw_next(&at, &left, in->swap, &rec.raw) <= 0 ||
		    rec.raw.type >= COATI_RECORD_HEADER_ATTR)
			break;
		r = enqueue(s, &rec, 0);
		if (r == 0)
			in->at += rec.raw.size;
	}
	return r;
}

/* The next chunk that was read ahead. 1; 0: there is none; -ENOBUFS. */
static int next_part(struct stream *s)
{
	struct ahead_part *p = coati_ahead_peek(s->ahead);
	int r = p ? coati_input_adopt(&s->outer, p->chunk) : 0;

	if (!p || r < 0)
		return r;
	coati_ahead_take(s->ahead);
	s->part = p;
	s->part_at = 0;
	return 1;
}

/* Put one record in line that was looked at already. Hot. */
static int enqueue_found(struct stream *s, const struct ahead_record *found, const uint8_t *bytes)
{
	struct chunk *c = s->outer.chunk;
	uint32_t flags = found->no_event ? COATI_RECORDING_ITEM_NO_EVENT : 0;
	int r;

	s->shared->stats.no_event += found->no_event;
	c->users++;
	r = order_add(&s->order, &(struct order_entry){ .time = found->time,
							.offset = c->offset + found->at,
							.record = bytes,
							.chunk = c,
							.flags = flags,
							.event = found->event,
							.note = found->note });
	if (r < 0)
		coati_chunk_put(&s->shared->pool, c);
	return r;
}

/* Records of the part, as many as the window has room for, up to one that is not of the kernel. */
static int take_found(struct stream *s, uint32_t *ret_type)
{
	struct input *in = &s->outer;
	int r = 0;

	do {
		const struct ahead_record *found = &s->part->records[s->part_at];
		const uint8_t *bytes = in->chunk->data + found->at, *at = bytes;
		struct input_record rec = { .bytes = bytes,
					    .chunk = in->chunk,
					    .offset = in->chunk->offset + found->at };
		size_t left = in->chunk->filled - found->at;

		coati_raw_next(&at, &left, in->swap, &rec.raw);
		*ret_type = rec.raw.type;
		r = rec.raw.type < COATI_RECORD_HEADER_ATTR ? enqueue_found(s, found, bytes)
							    : take(s, &rec, 0);
		if (r == 0) {
			in->at = found->at + rec.raw.size;
			s->part_at++;
		}
	} while (r == 0 && *ret_type < COATI_RECORD_HEADER_ATTR && s->part_at < s->part->nr &&
		 !order_crowded(&s->order));
	return r < 0 ? r : 1;
}

/* 1; 0: there is nothing that was read ahead any more; negative error. */
static int pump_ahead(struct stream *s, uint32_t *ret_type)
{
	while (!s->part || s->part_at == s->part->nr) {
		bool is_over = s->part && s->part->is_last;
		int r;

		s->part = NULL; /* others use its slot as soon as the next one is asked for */
		r = is_over ? 0 : next_part(s);
		if (r < 0)
			return r;
		if (r == 0) {
			coati_ahead_free(s->ahead);
			s->ahead = NULL;
			return 0;
		}
	}
	return take_found(s, ret_type);
}

void coati_stream_ahead(struct stream *s, const struct coati_ahead_opts *o)
{
	const struct ahead_input in = { .fd = s->outer.fd,
					.swap = s->outer.swap,
					.offset = s->outer.offset,
					.end = s->outer.end,
					.pool = &s->shared->pool,
					.table = s->shared->model.table };

	if (!s->ahead && !s->outer.chunk && s->outer.seekable)
		s->ahead = coati_ahead_new(&in, o);
}

/* Read and take one record: 1, 0 at the end of what is there, negative error. *ret_type is its
 * type. */
static int pump(struct stream *s, uint32_t *ret_type)
{
	struct input_record rec;
	uint64_t behind;
	int r;

	if (s->ahead) {
		r = pump_ahead(s, ret_type);
		if (r)
			return r;
	}
	r = s->packed_chunk || s->inner.chunk ? coati_input_next(&s->inner, &rec) : 0;
	if (r == 0 && s->packed_chunk) {
		r = unpack_step(s);
		*ret_type = COATI_RECORD_COMPRESSED;
		return r < 0 ? r : 1;
	}
	if (r > 0) {
		*ret_type = rec.raw.type;
		rec.offset = s->packed_offset;
		r = take(s, &rec, COATI_RECORDING_ITEM_COMPRESSED);
		return r < 0 ? r : 1;
	}
	if (r < 0)
		return r;
	r = coati_input_next(&s->outer, &rec);
	if (r <= 0)
		return r;
	*ret_type = rec.raw.type;
	if (rec.raw.type < COATI_RECORD_HEADER_ATTR) {
		r = enqueue(s, &rec, 0);
		if (r == 0)
			r = take_kernel_records(s);
		return r < 0 ? r : 1;
	}
	behind = coati_stream_behind(&rec.raw);
	if (behind && !coati_input_has(&s->outer, behind)) {
		coati_input_back(&s->outer, rec.raw.size);
		return -ENODATA;
	}
	r = take(s, &rec, 0);
	return r < 0 ? r : 1;
}

/* Say where and why it stopped. */
static void stop(struct stream *s, int r)
{
	struct coati_error *err = &s->shared->err;
	unsigned long long at = coati_input_tell(&s->outer);

	s->end = r ? r : 1;
	coati_order_end(&s->order);
	if (r == -ENODATA)
		coati_fail(err, r,
			   "%s stops in mid-record at byte %llu: it was cut, or is still being "
			   "written; everything before was read",
			   s->name, at);
	else if (r == -EBADMSG)
		coati_fail(err, r,
			   "%s is damaged at byte %llu: no record can look like this; everything "
			   "before was read",
			   s->name, at);
	else if (r < 0 && !err->code)
		coati_fail(err, r, "%s: reading at byte %llu: %m", s->name, at);
}

int coati_stream_find_head(struct stream *s)
{
	uint32_t type;
	int r;

	while (!s->head) {
		s->head = order_next(&s->order);
		if (s->head || s->end)
			break;
		if (order_crowded(&s->order)) {
			coati_order_relieve(&s->order);
			continue;
		}
		/* with nothing in line there is nothing to wait for: others hold the memory */
		s->shared->pool.urgent = s->order.len == s->order.at;
		r = s->shared->watch && s->shared->watch(s->shared->watch_ctx) ? -EINTR
									       : pump(s, &type);
		if (r == -ENOBUFS && s->order.len > s->order.at)
			coati_order_relieve(&s->order);
		else if (s->shared->follow && (r == 0 || (r == -ENODATA && s->outer.seekable)))
			return 0; /* in mid-record, too: the rest is on its way */
		else if (r <= 0)
			stop(s, r == -ENOBUFS ? -ENOMEM : r);
	}
	return s->head != NULL;
}

void coati_stream_prime(struct stream *s)
{
	uint32_t type = COATI_RECORD_HEADER_ATTR;

	while (type >= COATI_RECORD_HEADER_ATTR && !order_crowded(&s->order)) {
		int r = pump(s, &type);

		if (r <= 0) {
			if (r < 0 || !s->shared->follow)
				stop(s, r);
			return;
		}
	}
}
