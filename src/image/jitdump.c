/* SPDX-License-Identifier: MIT */
/*
 * jitdump files: a header, then records with a time each: code loaded, code moved, lines of what is
 * loaded next, unwinding data, the end. Machine code and unwinding data are passed over without
 * being read. Either byte order. The specification calls itself version 2 and writes 1 into the
 * header.
 */
#include "image/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/file.h"

#define MAGIC	       0x4a695444u /* "JiTD" as a number of the writer */
#define HEADER_BYTES   40
#define RECORD_BYTES   16
#define BODY_MAX       (1u << 20) /* of a record, as far as it is read */
#define RECORDS_MAX    (UINT64_C(1) << 24)
#define FLAG_ARCH_TIME 1 /* times are of some cycle counter */

enum record_id {
	CODE_LOAD = 0,
	CODE_MOVE,
	DEBUG_INFO,
	CLOSE,
	UNWINDING_INFO,
};

struct walk {
	struct jit *jit;
	const struct jitdump_bytes *from;
	bool swap, no_times;
	uint8_t *body; /* of the record */
	/* Lines that wait for the code they are of. */
	uint64_t lines_addr;
	uint32_t first_line, nr_lines;
};

static int read_at(const struct jitdump_bytes *from, uint64_t offset, void *buf, size_t size)
{
	if (offset > from->size || size > from->size - offset)
		return -ENODATA;
	if (!from->memory)
		return coati_pread_all(from->fd, buf, size, offset);
	memcpy(buf, from->memory + offset, size);
	return 0;
}

static int read_header(struct walk *w, uint64_t *ret_size, struct coati_error *err)
{
	uint8_t bytes[HEADER_BYTES];
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint32_t magic, version, size;
	int r = read_at(w->from, 0, bytes, sizeof(bytes));

	if (r < 0)
		return coati_fail(err, r == -ENODATA ? -EBADMSG : r,
				  "it is too short for the header of a jitdump file");
	magic = cursor_u32(&c);
	c.swap = w->swap = magic == __builtin_bswap32(MAGIC);
	if (magic != MAGIC && !w->swap)
		return coati_fail(err, -EBADMSG, "it does not begin as a jitdump file does");
	version = cursor_u32(&c);
	size = cursor_u32(&c);
	cursor_skip(&c, 20); /* machine, padding, pid, time */
	w->no_times = cursor_u64(&c) & FLAG_ARCH_TIME;
	if (version < 1 || version > 2)
		return coati_fail(err, -EBADMSG, "its jitdump version %u is not 1 or 2", version);
	if (size < HEADER_BYTES || size > w->from->size)
		return coati_fail(err, -EBADMSG, "its header claims %u bytes", size);
	*ret_size = size;
	return 0;
}

/* The lines that came before, when they are of the code at @addr. */
static void attach_lines(struct walk *w, uint64_t addr)
{
	struct jit *j = w->jit;

	if (w->nr_lines && w->lines_addr == addr && j->functions.len) {
		struct jit_function *f = &j->functions.v[j->functions.len - 1];

		f->first_line = w->first_line;
		f->nr_lines = w->nr_lines;
	}
	w->nr_lines = 0;
}

/* Add, and remember under its number; lines go with it. */
static int add_code(struct walk *w, uint64_t index, struct jit_function f, uint64_t time)
{
	size_t before = w->jit->functions.len;
	int r = coati_jit_add(w->jit, f.start, f.size, f.name, time);

	if (r < 0 || w->jit->functions.len == before)
		return r;
	r = coati_map_put(&w->jit->by_code, index, before);
	return r == -ENOMEM ? r : 1;
}

static int load_code(struct walk *w, struct cursor *c, uint64_t time)
{
	struct jit_function f = { 0 };
	uint64_t index;
	int r;

	cursor_skip(c, 16); /* pid, tid, vma */
	f.start = cursor_u64(c);
	f.size = cursor_u64(c);
	index = cursor_u64(c);
	f.name = cursor_text(c, cursor_left(c));
	if (c->bad) {
		w->jit->stats.malformed++;
		return 0;
	}
	r = add_code(w, index, f, time);
	if (r == 1)
		attach_lines(w, f.start);
	return r < 0 ? r : 0;
}

/* The function that is to be moved: by its number, else by where it is. */
static bool find_moved(struct walk *w, uint64_t index, uint64_t addr, uint64_t time,
		       struct jit_function *ret)
{
	const struct jit_function *f = NULL;
	uint64_t i, since;

	if (coati_map_get(&w->jit->by_code, index, &i))
		f = &w->jit->functions.v[i];
	if (!f || f->start != addr)
		f = coati_jit_find(w->jit, addr, time, &since);
	if (!f)
		return false;
	*ret = *f;
	return true;
}

static int move_code(struct walk *w, struct cursor *c, uint64_t time)
{
	uint64_t from, to, size, index;
	struct jit_function f;
	int r;

	cursor_skip(c, 16); /* pid, tid, vma */
	from = cursor_u64(c);
	to = cursor_u64(c);
	size = cursor_u64(c);
	index = cursor_u64(c);
	if (c->bad || !find_moved(w, index, from, time, &f)) {
		w->jit->stats.malformed++;
		return 0;
	}
	w->jit->stats.moves++;
	r = coati_jit_remove(w->jit, from, f.size, time);
	if (r < 0)
		return r;
	f.start = to;
	f.size = size;
	r = add_code(w, index, f, time);
	return r < 0 ? r : 0;
}

/* One line of a debug record; a file that is written as "\xff" is that of the line before. */
static int add_line(struct walk *w, struct cursor *c, const char **file)
{
	uint64_t addr = cursor_u64(c);
	uint32_t number = cursor_u32(c);
	uint32_t discriminator = cursor_u32(c);
	size_t len = strnlen((const char *)c->at, cursor_left(c));
	const char *name = cursor_text(c, len < cursor_left(c) ? len + 1 : len);
	struct jit_line *line;

	if (c->bad)
		return -EBADMSG;
	if (!strcmp(name, "\xff")) {
		if (!*file)
			return -EBADMSG;
	} else {
		*file = coati_arena_strndup(&w->jit->arena, name, len < 4096 ? len : 4096);
	}
	if (!*file)
		return -ENOMEM;
	/* by address, or they cannot be searched */
	if (w->nr_lines && w->jit->lines.v[w->jit->lines.len - 1].addr > addr)
		return -EBADMSG;
	line = ARRAY_ADD(&w->jit->lines);
	if (!line)
		return w->jit->lines.len >= JIT_LINES_MAX ? -E2BIG : -ENOMEM;
	*line = (struct jit_line){
		.addr = addr, .file = *file, .line = number, .discriminator = discriminator
	};
	w->nr_lines++;
	return 0;
}

static int load_lines(struct walk *w, struct cursor *c)
{
	const char *file = NULL;
	uint64_t nr;
	int r = 0;

	w->lines_addr = cursor_u64(c);
	nr = cursor_u64(c);
	w->first_line = (uint32_t)w->jit->lines.len;
	w->nr_lines = 0;
	for (uint64_t i = 0; !c->bad && r == 0 && i < nr; i++)
		r = add_line(w, c, &file);
	if (r == -EBADMSG || c->bad) {
		w->jit->stats.malformed++;
		w->nr_lines = 0;
		return 0;
	}
	w->jit->stats.debug++;
	w->jit->stats.over += r == -E2BIG;
	return r == -ENOMEM ? r : 0;
}

static int take_record(struct walk *w, uint32_t id, uint64_t time, struct cursor *c)
{
	struct jit_stats *st = &w->jit->stats;

	c->swap = w->swap;
	switch (id) {
	case CODE_LOAD:
		return load_code(w, c, time);
	case CODE_MOVE:
		return move_code(w, c, time);
	case DEBUG_INFO:
		return load_lines(w, c);
	case CLOSE:
		st->closes++;
		return 0;
	case UNWINDING_INFO:
		st->unwinding++;
		return 0;
	default:
		return 0; /* newer than we are: passed over by its size */
	}
}

/* One record at @offset: its size, 0 at the end, or negative. */
static int64_t walk_record(struct walk *w, uint64_t offset, struct coati_error *err)
{
	uint8_t head[RECORD_BYTES];
	struct cursor c = cursor_over(head, sizeof(head));
	uint64_t time, left = w->from->size - offset;
	uint32_t id, size, body;
	int r;

	if (!left)
		return 0;
	r = read_at(w->from, offset, head, sizeof(head));
	if (r < 0)
		return coati_fail(err, r, "it ends in mid-record at %llu",
				  (unsigned long long)offset);
	c.swap = w->swap;
	id = cursor_u32(&c);
	size = cursor_u32(&c);
	time = cursor_u64(&c);
	if (size < RECORD_BYTES)
		return coati_fail(err, -EBADMSG, "a record of %u bytes at %llu", size,
				  (unsigned long long)offset);
	if (size > left)
		return coati_fail(err, -ENODATA, "it ends in mid-record at %llu",
				  (unsigned long long)offset);
	body = size - RECORD_BYTES < BODY_MAX ? size - RECORD_BYTES : BODY_MAX;
	r = read_at(w->from, offset + RECORD_BYTES, w->body, body);
	if (r < 0)
		return coati_fail(err, r, "it cannot be read at %llu: %m",
				  (unsigned long long)offset);
	c = cursor_over(w->body, body);
	r = take_record(w, id, w->no_times ? 0 : time, &c);
	return r < 0 ? coati_fail(err, r, "%m") : (int64_t)size;
}

int coati_jitdump_walk(struct jit *j, const struct jitdump_bytes *from, struct coati_error *err)
{
	CLEANUP(freep) uint8_t *body = coati_alloc(BODY_MAX);
	struct walk w = { .jit = j, .from = from, .body = body };
	uint64_t offset = 0, nr;
	int64_t n = 0;
	int r;

	if (!body)
		return coati_fail(err, -ENOMEM, "%m");
	r = read_header(&w, &offset, err);
	if (r < 0)
		return r;
	for (nr = 0; nr < RECORDS_MAX && (n = walk_record(&w, offset, err)) > 0; nr++)
		offset += (uint64_t)n;
	if (nr == RECORDS_MAX) {
		j->stats.over++;
		return 0;
	}
	return (int)n;
}

int coati_jitdump_parse(struct jit *j, const void *bytes, size_t size, struct coati_error *err)
{
	struct jitdump_bytes from = { .memory = bytes ? bytes : (const void *)"", .size = size };

	return coati_jitdump_walk(j, &from, err);
}
