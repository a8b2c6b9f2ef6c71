/* SPDX-License-Identifier: MIT */
/* Chunks are filled to their end by large reads; the start of a record that does not fit moves to
 * the next chunk. */
#include "recording/input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
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
		/* nothing else refers to it: use it again in place */
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

/* What is left of the chunk was taken, and more behind it. */
static void drop_chunk(struct input *in)
{
	coati_chunk_put(in->pool, in->chunk);
	in->chunk = NULL;
	in->at = 0;
}

/* One read of at most @room bytes; 0 at the end. */
static ssize_t read_at(struct input *in, void *to, uint64_t room)
{
	ssize_t n;

	if (in->offset >= in->end)
		return 0;
	if (room > in->end - in->offset)
		room = in->end - in->offset;
	do
		n = in->seekable ? pread(in->fd, to, (size_t)room, (off_t)in->offset)
				 : read(in->fd, to, (size_t)room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	in->offset += (uint64_t)n;
	in->read_bytes += (uint64_t)n;
	return n;
}

/* Read once, as much as fits. 1 something came, 0 end. */
static int read_more(struct input *in)
{
	struct chunk *c = in->chunk;
	ssize_t n = read_at(in, c->data + c->filled, c->size - c->filled);

	if (n > 0)
		c->filled += (size_t)n;
	return n > 0 ? 1 : (int)n;
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

int coati_input_adopt(struct input *in, struct chunk *c)
{
	size_t left = coati_input_left(in);
	/* make_room() would have used it again */
	int r = coati_chunk_adopt(in->pool, c, in->chunk && in->chunk->users == 1);

	if (r < 0)
		return r;
	coati_chunk_put(in->pool, in->chunk);
	in->chunk = c;
	in->at = 0;
	in->offset = c->offset + c->filled;
	in->read_bytes += c->filled - left;
	return 0;
}

/* The next @size bytes to @to, or nowhere when it is NULL. Not through a chunk: there may be none
 * to be had, and what was taken cannot be put back. */
static int take_bytes(struct input *in, uint8_t *to, uint64_t size)
{
	uint8_t nowhere[4096];
	size_t left = coati_input_left(in);
	size_t step = size < left ? (size_t)size : left;

	if (to && step)
		memcpy(to, in->chunk->data + in->at, step);
	in->at += step;
	for (uint64_t done = step; done < size;) {
		uint64_t room =
			!to && size - done > sizeof(nowhere) ? sizeof(nowhere) : size - done;
		ssize_t n = read_at(in, to ? to + done : nowhere, room);

		if (n <= 0)
			return n < 0 ? (int)n : -ENODATA;
		done += (uint64_t)n;
	}
	if (step < size)
		drop_chunk(in);
	return 0;
}

int coati_input_copy(struct input *in, void *to, size_t size)
{
	return take_bytes(in, to, size);
}

bool coati_input_has(const struct input *in, uint64_t size)
{
	uint64_t at = coati_input_tell(in), end;
	struct stat st;

	if (!in->seekable || in->fd < 0)
		return true;
	if (fstat(in->fd, &st) < 0)
		return false;
	end = (uint64_t)st.st_size < in->end ? (uint64_t)st.st_size : in->end;
	return at <= end && size <= end - at;
}

void coati_input_back(struct input *in, size_t size)
{
	in->at -= size;
}

int coati_input_skip(struct input *in, uint64_t size)
{
	uint64_t left = coati_input_left(in);

	if (!in->seekable || size <= left)
		return take_bytes(in, NULL, size);
	if (size - left > in->end || in->offset > in->end - (size - left))
		return -ENODATA;
	in->offset += size - left;
	drop_chunk(in);
	return 0;
}

int coati_input_room(struct input *in, size_t size, void **ret)
{
	int r = make_room(in, coati_input_left(in) + size);

	if (r == 0)
		*ret = in->chunk->data + in->chunk->filled;
	return r;
}

void coati_input_pushed(struct input *in, size_t size)
{
	in->chunk->filled += size;
}
