/* SPDX-License-Identifier: MIT */
/* Chunks are filled to their end by large reads; the start of a record that does not fit moves to the next chunk. */
#include "recording/input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void coati_input_init(struct input *in, struct chunk_pool *pool, int fd, bool seekable)
{
	*in = (struct input){ .fd = fd, .seekable = seekable, .pool = pool, .end = UINT64_MAX };
}

void coati_input_fini(struct input *in)
{
	coati_chunk_put(in->pool, in->chunk);
	in->chunk = NULL;
}

size_t coati_input_left(const struct input *in)
{
	return in->chunk ? in->chunk->filled - in->at : 0;
}

uint64_t coati_input_tell(const struct input *in)
{
	return in->chunk ? in->chunk->offset + in->at : in->offset;
}

/* A chunk in which @need bytes fit behind `at`; what is left of the old one comes along. */
static int make_room(struct input *in, size_t need)
{
	size_t left = coati_input_left(in);
	struct chunk *c;

	if (in->chunk && in->chunk->size - in->at >= need)
		return 0;
	if (in->chunk && in->chunk->users == 1 && in->chunk->size >= need) {
		/* nobody else looks at it: use it again in place */
		memmove(in->chunk->data, in->chunk->data + in->at, left);
		in->chunk->offset += in->at;
		in->chunk->filled = left;
		in->at = 0;
		return 0;
	}
	c = coati_chunk_get(in->pool, need);
	if (!c)
		return -ENOBUFS;
	c->offset = coati_input_tell(in);
	if (left)
		memcpy(c->data, in->chunk->data + in->at, left);
	c->filled = left;
	coati_chunk_put(in->pool, in->chunk);
	in->chunk = c;
	in->at = 0;
	return 0;
}

/* Read once, as much as fits. 1 something came, 0 end. */
static int read_more(struct input *in)
{
	struct chunk *c = in->chunk;
	size_t room = c->size - c->filled;
	ssize_t n;

	if (in->offset >= in->end)
		room = 0;
	else if (room > in->end - in->offset)
		room = (size_t)(in->end - in->offset);
	if (!room) {
		in->eof = true;
		return 0;
	}
	do
		n = in->seekable ? pread(in->fd, c->data + c->filled, room, (off_t)in->offset)
				 : read(in->fd, c->data + c->filled, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c->filled += (size_t)n;
	in->offset += (uint64_t)n;
	in->eof = n == 0;
	return n > 0;
}

/* At least @need bytes in the chunk behind `at`: 1, or 0 when the stream ends before. */
static int fill(struct input *in, size_t need)
{
	int r;

	if (coati_input_left(in) >= need)
		return 1;
	r = make_room(in, need);
	if (r < 0)
		return r;
	while (coati_input_left(in) < need) {
		r = in->fd < 0 ? 0 : read_more(in);
		if (r <= 0)
			return r;
	}
	return 1;
}

int coati_input_next(struct input *in, struct input_record *ret)
{
	const uint8_t *p;
	struct coati_raw raw;
	size_t left;
	int r;

	r = fill(in, COATI_RAW_HEADER);
	if (r <= 0)
		return r < 0 ? r : in->fd >= 0 && coati_input_left(in) ? -ENODATA : 0;
	for (;;) {
		uint16_t size;

		p = in->chunk->data + in->at;
		left = coati_input_left(in);
		r = coati_raw_next(&p, &left, in->swap, &raw);
		if (r != -ENODATA)
			break;
		memcpy(&size, in->chunk->data + in->at + 6, sizeof(size));
		r = fill(in, in->swap ? __builtin_bswap16(size) : size);
		if (r <= 0)
			return r < 0 ? r : in->fd >= 0 ? -ENODATA : 0;
	}
	if (r < 0)
		return r;
	*ret = (struct input_record){ .raw = raw,
				      .bytes = in->chunk->data + in->at,
				      .chunk = in->chunk,
				      .offset = coati_input_tell(in) };
	in->at += raw.size;
	return 1;
}

int coati_input_bytes(struct input *in, size_t size, const uint8_t **ret, struct chunk **ret_chunk)
{
	int r = fill(in, size);

	if (r <= 0)
		return r < 0 ? r : -ENODATA;
	*ret = in->chunk->data + in->at;
	*ret_chunk = in->chunk;
	in->at += size;
	return 0;
}

int coati_input_skip(struct input *in, uint64_t size)
{
	size_t left = coati_input_left(in);

	if (size <= left) {
		in->at += (size_t)size;
		return 0;
	}
	size -= left;
	in->at += left;
	if (in->seekable) {
		if (size > in->end || in->offset > in->end - size)
			return -ENODATA;
		coati_chunk_put(in->pool, in->chunk);
		in->chunk = NULL;
		in->at = 0;
		in->offset += size;
		return 0;
	}
	while (size) {
		size_t step = size < CHUNK_BYTES / 2 ? (size_t)size : CHUNK_BYTES / 2;
		struct chunk *c;
		const uint8_t *p;
		int r = coati_input_bytes(in, step, &p, &c);

		if (r < 0)
			return r;
		size -= step;
	}
	return 0;
}

int coati_input_push(struct input *in, const void *bytes, size_t size, uint64_t offset)
{
	int r = make_room(in, coati_input_left(in) + size);

	if (r < 0)
		return r;
	memcpy(in->chunk->data + in->chunk->filled, bytes, size);
	in->chunk->filled += size;
	in->chunk->offset =
		offset -
		in->at; /* a place in the file to name in messages: that of the compressed record */
	return 0;
}
