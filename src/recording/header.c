/* SPDX-License-Identifier: MIT */
/* Reading what stands around the data of a perf.data file: header, attrs with their ids, feature
 * sections. */
#include "recording/header.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "recording/recording.h"
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
				  "the header says %llu bytes per event, which is invalid",
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
			"a perf.data file of version 1 (before 2009), which is not supported: "
			"record again");
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

/* Whose sections. */
struct source {
	int fd;
	uint64_t file_size;
	struct model *model;
};

/* A section of the file into the arena. -EBADMSG when it lies outside or is larger than @max,
 * -ENOMEM. */
static int load(const struct source *from, struct file_section s, uint64_t max, const uint8_t **ret)
{
	uint8_t *p;
	int r;

	if (s.offset > from->file_size || s.size > from->file_size - s.offset || s.size > max)
		return -EBADMSG;
	p = coati_arena_alloc(&from->model->arena, s.size);
	if (!p)
		return -ENOMEM; /* or over the ceiling of all sections together */
	r = coati_pread_all(from->fd, p, s.size, s.offset);
	*ret = p;
	return r < 0 && r != -ENODATA ? r : r < 0 ? -EBADMSG : 0;
}

/* One entry of the attr array: the attr, then where its ids are. */
static int read_event(const struct source *from, const struct file_header *h, struct cursor *c)
{
	struct file_section ids;
	struct coati_attr attr;
	struct cursor id_cursor;
	const uint8_t *bytes = NULL;
	int r = coati_model_attr(c, h->attr_size - 16, &attr);

	ids.offset = cursor_u64(c);
	ids.size = cursor_u64(c);
	if (r < 0 || c->bad)
		return -EBADMSG;
	r = ids.size ? load(from, ids, MODEL_IDS_MAX * 8ull, &bytes) : 0;
	if (r < 0)
		return r;
	id_cursor = cursor_over(bytes, ids.size);
	id_cursor.swap = h->swap;
	return coati_model_add_event(from->model, &attr, &id_cursor);
}

static int read_events(const struct source *from, const struct file_header *h,
		       struct coati_error *err)
{
	const uint8_t *bytes = NULL;
	int r = load(from, h->attrs, ATTRS_MAX, &bytes);
	struct cursor c = cursor_over(bytes, r == 0 ? h->attrs.size : 0);

	c.swap = h->swap;
	if (r < 0 && r != -EBADMSG)
		return coati_fail(err, r, "the list of events cannot be read: %m");
	if (r < 0)
		return coati_fail(
			err, r,
			"the list of events (%llu bytes at byte %llu) lies outside the file of "
			"%llu bytes",
			(unsigned long long)h->attrs.size, (unsigned long long)h->attrs.offset,
			(unsigned long long)from->file_size);
	for (uint32_t i = 0; cursor_left(&c) >= h->attr_size; i++) {
		r = read_event(from, h, &c);
		if (r == -ENOMEM)
			return coati_fail(err, r, "out of memory for the events of the header");
		if (r < 0)
			return coati_fail(
				err, r,
				"event %u of the header, at byte %llu, is malformed: its "
				"attributes or ids lie outside the file, or there are too many",
				i, (unsigned long long)(h->attrs.offset + i * h->attr_size));
	}
	return 0;
}

struct section_list {
	uint64_t offset;
	uint64_t bits[4];
};

/* What a recorder wrote before the records; while it runs, and after it was killed, there is
 * nothing behind them. */
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

/* Why a section was left out. */
static const char *what_is_wrong(int code, bool is_loaded)
{
	if (code == -ENOMEM)
		return "does not fit into the memory for it";
	return is_loaded ? "is malformed" : "lies outside the file or is too large";
}

static void read_feature(const struct source *from, uint32_t bit, struct file_section s,
			 struct damage *damage)
{
	const uint8_t *body = NULL;
	int loaded = load(from, s, MODEL_SECTION_MAX, &body);
	int r = loaded == 0 ? coati_model_feature(from->model, bit, body, s.size) : loaded;

	if (r < 0)
		coati_damage_add(damage, r,
				 "section %u (%s, %llu bytes at byte %llu) %s and was left out",
				 bit, coati_model_feature_name(bit), (unsigned long long)s.size,
				 (unsigned long long)s.offset, what_is_wrong(r, loaded == 0));
}

/* One {offset, size} pair per feature bit, in ascending order. */
static void read_features(const struct source *from, const struct file_header *h,
			  struct damage *damage)
{
	struct section_list list;
	struct file_section table = { 0 };
	const uint8_t *bytes;
	struct cursor c;
	int r;

	if (!find_sections(from->fd, from->file_size, h, &list))
		return;
	table.offset = list.offset;
	for (int i = 0; i < 4; i++)
		table.size += 16 * (uint64_t)__builtin_popcountll(list.bits[i]);
	r = load(from, table, MODEL_SECTION_MAX, &bytes);
	if (r < 0) {
		coati_damage_add(
			damage, r,
			"the list of sections (%llu bytes at byte %llu) %s of %llu bytes; names "
			"and facts are missing",
			(unsigned long long)table.size, (unsigned long long)table.offset,
			r == -ENOMEM ? "does not fit into the memory for it, in the file"
				     : "lies outside the file",
			(unsigned long long)from->file_size);
		return;
	}
	c = cursor_over(bytes, table.size);
	c.swap = h->swap;
	for (uint32_t bit = 0; bit < COATI_FEATURE_MAX; bit++) {
		struct file_section s;

		if (!(list.bits[bit / 64] >> (bit % 64) & 1))
			continue;
		s.offset = cursor_u64(&c);
		s.size = cursor_u64(&c);
		read_feature(from, bit, s, damage);
	}
}

int coati_header_read(const struct header_file *file, struct model *m, struct damage *damage,
		      struct coati_error *err)
{
	struct source from = { .fd = file->fd, .file_size = file->size, .model = m };
	int r = read_events(&from, file->head, err);

	if (r < 0)
		return r;
	read_features(&from, file->head, damage);
	return 0;
}
