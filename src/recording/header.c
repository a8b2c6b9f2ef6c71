/* SPDX-License-Identifier: MIT */
/* Reading what stands around the data of a perf.data file: header, attrs with their ids, feature sections. */
#include "recording/header.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "recording/section-table.h"

#define ATTRS_MAX (64u << 20)

static int parse_file_mode(struct cursor *c, struct file_header *h, struct coati_error *err)
{
	h->attr_size = cursor_u64(c);
	h->attrs.offset = cursor_u64(c);
	h->attrs.size = cursor_u64(c);
	h->data.offset = cursor_u64(c);
	h->data.size = cursor_u64(c);
	cursor_skip(c, 16); /* event types: always empty nowadays */
	for (int i = 0; i < 4; i++)
		h->features[i] = cursor_u64(c);
	if (c->bad)
		return coati_fail(err, -ENODATA, "the file ends inside its header of %d bytes",
				  HEADER_FILE_BYTES);
	if (h->attr_size < COATI_ATTR_SIZE_VER0 + 16 || h->attr_size > 4096)
		return coati_fail(err, -EBADMSG,
				  "the header says %llu bytes per event, which cannot be",
				  (unsigned long long)h->attr_size);
	if (h->data.offset < HEADER_FILE_BYTES)
		return coati_fail(err, -EBADMSG,
				  "the header says that records begin at byte %llu, inside itself",
				  (unsigned long long)h->data.offset);
	return 0;
}

int coati_header_parse(const uint8_t *bytes, size_t size, struct file_header *ret,
		       struct coati_error *err)
{
	struct cursor c = cursor_over(bytes, size);
	struct file_header h = { 0 };
	const char *magic = cursor_bytes(&c, 8);
	uint64_t header_size;

	if (!magic)
		return coati_fail(err, -ENODATA, "the file has %zu bytes, less than any recording",
				  size);
	if (!memcmp(magic, "2ELIFREP", 8))
		h.swap = c.swap = true;
	else if (!memcmp(magic, "PERFFILE", 8) || !memcmp(magic, "ELIFFREP", 8))
		return coati_fail(
			err, -EOPNOTSUPP,
			"a perf.data of version 1 (before 2009), which nobody reads any more: record again");
	else if (memcmp(magic, "PERFILE2", 8))
		return coati_fail(err, -EBADMSG,
				  "not a recording: it does not begin with PERFILE2");
	header_size = cursor_u64(&c);
	if (c.bad)
		return coati_fail(err, -ENODATA, "the file ends inside its header");
	h.is_pipe = header_size == HEADER_PIPE_BYTES;
	if (!h.is_pipe && header_size < HEADER_FILE_BYTES)
		return coati_fail(
			err, -EBADMSG,
			"a header of %llu bytes, neither file mode (%d) nor pipe mode (%d)",
			(unsigned long long)header_size, HEADER_FILE_BYTES, HEADER_PIPE_BYTES);
	if (!h.is_pipe) {
		int r = parse_file_mode(&c, &h, err);

		if (r < 0)
			return r;
	}
	*ret = h;
	return 0;
}

/* A section of the file into the arena; NULL when it lies outside or is larger than @max. */
static const uint8_t *load(int fd, uint64_t file_size, struct file_section s, struct model *m,
			   uint64_t max)
{
	uint8_t *p;

	if (s.offset > file_size || s.size > file_size - s.offset || s.size > max)
		return NULL;
	p = coati_arena_alloc(&m->arena, s.size);
	return p && coati_pread_all(fd, p, s.size, s.offset) == 0 ? p : NULL;
}

/* One entry of the attr array: the attr, then where its ids are. */
static int read_event(int fd, uint64_t file_size, const struct file_header *h, struct cursor *c,
		      struct model *m)
{
	struct file_section ids;
	struct coati_attr attr;
	struct cursor id_cursor;
	const uint8_t *bytes;
	int r = coati_model_attr(c, h->attr_size - 16, &attr);

	ids.offset = cursor_u64(c);
	ids.size = cursor_u64(c);
	if (r < 0 || c->bad)
		return -EBADMSG;
	bytes = ids.size ? load(fd, file_size, ids, m, MODEL_IDS_MAX * 8ull) : NULL;
	if (ids.size && !bytes)
		return -EBADMSG;
	id_cursor = cursor_over(bytes, ids.size);
	id_cursor.swap = h->swap;
	return coati_model_add_event(m, &attr, &id_cursor);
}

static int read_events(int fd, uint64_t file_size, const struct file_header *h, struct model *m,
		       struct coati_error *err)
{
	const uint8_t *bytes = load(fd, file_size, h->attrs, m, ATTRS_MAX);
	struct cursor c = cursor_over(bytes, bytes ? h->attrs.size : 0);
	int r;

	c.swap = h->swap;
	if (!bytes)
		return coati_fail(
			err, -EBADMSG,
			"the list of events (%llu bytes at byte %llu) lies outside the file of %llu bytes",
			(unsigned long long)h->attrs.size, (unsigned long long)h->attrs.offset,
			(unsigned long long)file_size);
	for (uint32_t i = 0; cursor_left(&c) >= h->attr_size; i++) {
		r = read_event(fd, file_size, h, &c, m);
		if (r < 0)
			return coati_fail(
				err, r,
				"event %u of the header, at byte %llu, is malformed: its attributes or ids lie outside the file, or there are too many",
				i, (unsigned long long)(h->attrs.offset + i * h->attr_size));
	}
	return 0;
}

struct section_list {
	uint64_t offset;
	uint64_t bits[4];
};

/* What a recorder wrote before the records; while it runs, and after it was killed, there is nothing behind them. */
static bool find_foreword(int fd, uint64_t file_size, const struct file_header *h,
			  struct section_list *ret)
{
	uint8_t bytes[FOREWORD_BYTES];
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint64_t at;

	c.swap = h->swap;
	if (__builtin_add_overflow(h->attrs.offset, h->attrs.size, &at) || at > h->data.offset ||
	    h->data.offset - at < sizeof(bytes) || h->data.offset > file_size ||
	    coati_pread_all(fd, bytes, sizeof(bytes), at) < 0 || cursor_u64(&c) != FOREWORD_MARK)
		return false;
	ret->offset = at + sizeof(bytes);
	for (int i = 0; i < 4; i++)
		ret->bits[i] = cursor_u64(&c);
	return true;
}

/* Where the sections are: behind the records, else in the foreword. False: there are none. */
static bool find_sections(int fd, uint64_t file_size, const struct file_header *h,
			  struct section_list *ret)
{
	if (!(h->features[0] | h->features[1] | h->features[2] | h->features[3]))
		return find_foreword(fd, file_size, h, ret);
	memcpy(ret->bits, h->features, sizeof(ret->bits));
	return !__builtin_add_overflow(h->data.offset, h->data.size, &ret->offset);
}

/* One {offset, size} pair per feature bit, in ascending order. */
static void read_features(int fd, uint64_t file_size, const struct file_header *h, struct model *m,
			  struct damage *damage)
{
	struct section_list list;
	struct file_section table = { 0 };
	const uint8_t *bytes;
	struct cursor c;

	if (!find_sections(fd, file_size, h, &list))
		return;
	table.offset = list.offset;
	for (int i = 0; i < 4; i++)
		table.size += 16 * (uint64_t)__builtin_popcountll(list.bits[i]);
	bytes = load(fd, file_size, table, m, MODEL_SECTION_MAX);
	if (!bytes) {
		coati_damage_add(
			damage, -EBADMSG,
			"the list of sections (%llu bytes at byte %llu) lies outside the file of %llu bytes; names and facts are missing",
			(unsigned long long)table.size, (unsigned long long)table.offset,
			(unsigned long long)file_size);
		return;
	}
	c = cursor_over(bytes, table.size);
	c.swap = h->swap;
	for (uint32_t bit = 0; bit < COATI_FEATURE_MAX; bit++) {
		struct file_section s;
		const uint8_t *body;
		int r;

		if (!(list.bits[bit / 64] >> (bit % 64) & 1))
			continue;
		s.offset = cursor_u64(&c);
		s.size = cursor_u64(&c);
		body = load(fd, file_size, s, m, MODEL_SECTION_MAX);
		r = body ? coati_model_feature(m, bit, body, s.size) : -EBADMSG;
		if (r < 0)
			coati_damage_add(
				damage, r,
				"section %u (%s, %llu bytes at byte %llu) %s and was left out", bit,
				coati_model_feature_name(bit), (unsigned long long)s.size,
				(unsigned long long)s.offset,
				body ? "is malformed" : "lies outside the file or is too large");
	}
}

int coati_header_read(int fd, uint64_t file_size, const struct file_header *h, struct model *m,
		      struct damage *damage, struct coati_error *err)
{
	int r = read_events(fd, file_size, h, m, err);

	if (r < 0)
		return r;
	read_features(fd, file_size, h, m, damage);
	return 0;
}
