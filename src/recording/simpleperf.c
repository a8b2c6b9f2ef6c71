/* SPDX-License-Identifier: MIT */
/* see simpleperf.h */
#include "recording/simpleperf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/leb128.h"

#define EVENTS_KEY "event_type_info"

/* Fields of the messages. */
enum { FILE_PATH = 1, FILE_KIND, FILE_MIN_VADDR, FILE_SYMBOL, FILE_DEX, FILE_ELF, FILE_MODULE };
enum { SYMBOL_VADDR = 1, SYMBOL_SIZE, SYMBOL_NAME };

/* One field of a protocol buffer. */
struct field {
	uint64_t number, value;
	struct cursor bytes; /* of what has a length */
	bool has_bytes;
};

/* 1, 0 at the end, -EBADMSG. */
static int next_field(struct cursor *c, struct field *ret)
{
	uint64_t tag, size;
	const void *bytes;

	*ret = (struct field){ 0 };
	if (!c->bad && !cursor_left(c))
		return 0;
	tag = cursor_uleb(c);
	ret->number = tag >> 3;
	switch (tag & 7) {
	case 0:
		ret->value = cursor_uleb(c);
		break;
	case 1:
		ret->value = cursor_u64(c);
		break;
	case 2:
		size = cursor_uleb(c);
		bytes = cursor_bytes(c, size);
		if (bytes)
			ret->bytes = cursor_over(bytes, (size_t)size);
		ret->has_bytes = bytes;
		break;
	case 5:
		ret->value = cursor_u32(c);
		break;
	default:
		c->bad = true;
	}
	return c->bad ? -EBADMSG : 1;
}

static void take_field(struct simpleperf_file *f, const struct field *field)
{
	struct cursor inner = field->bytes;
	struct field offset;

	switch (field->number) {
	case FILE_PATH:
		f->path = (const char *)field->bytes.at;
		f->path_size = field->has_bytes ? cursor_left(&field->bytes) : 0;
		break;
	case FILE_KIND:
		f->kind = field->value > UINT32_MAX ? UINT32_MAX : (uint32_t)field->value;
		break;
	case FILE_MIN_VADDR:
		f->min_vaddr = field->value;
		break;
	case FILE_ELF:
		f->has_offset = field->has_bytes;
		if (field->has_bytes && next_field(&inner, &offset) > 0 && offset.number == 1)
			f->min_offset = offset.value;
		break;
	}
}

static int read_proto(struct cursor body, struct simpleperf_file *ret)
{
	struct field field;
	int r;

	ret->is_proto = true;
	ret->symbols = body;
	while ((r = next_field(&body, &field)) > 0)
		take_field(ret, &field);
	return r;
}

/* A terminated text. */
static const char *read_text(struct cursor *c, size_t *ret_size)
{
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));
	const char *text = (const char *)c->at;

	if (c->bad || !end) {
		c->bad = true;
		return NULL;
	}
	*ret_size = (size_t)(end - c->at);
	cursor_skip(c, *ret_size + 1);
	return text;
}

static int read_plain(struct cursor body, struct simpleperf_file *ret)
{
	struct simpleperf_symbol skipped;
	struct simpleperf_file walk;
	int r;

	ret->path = read_text(&body, &ret->path_size);
	ret->kind = cursor_u32(&body);
	ret->min_vaddr = cursor_u64(&body);
	ret->nr_symbols = cursor_u32(&body);
	if (body.bad)
		return -EBADMSG;
	ret->symbols = body;
	/* what comes behind the symbols: where the code lies in the file, in newer versions */
	walk = *ret;
	while ((r = coati_simpleperf_symbol(&walk, &skipped)) > 0)
		;
	if (r == 0 && ret->kind == SIMPLEPERF_ELF && cursor_left(&walk.symbols) >= 8) {
		ret->min_offset = cursor_u64(&walk.symbols);
		ret->has_offset = ret->min_offset != UINT64_MAX;
	}
	return r;
}

int coati_simpleperf_file(struct cursor *c, bool is_proto, struct simpleperf_file *ret)
{
	struct cursor body;
	const void *bytes;
	uint32_t size;
	int r;

	if (cursor_left(c) < 4)
		return 0; /* sections are padded */
	size = cursor_u32(c);
	bytes = cursor_bytes(c, size);
	if (!bytes)
		return -EBADMSG;
	body = cursor_over(bytes, size);
	body.swap = c->swap;
	*ret = (struct simpleperf_file){ 0 };
	r = is_proto ? read_proto(body, ret) : read_plain(body, ret);
	if (r == 0 && !ret->path)
		ret->path = "";
	return r < 0 ? r : 1;
}

static int read_symbol(struct cursor body, struct simpleperf_symbol *ret)
{
	struct field field;
	int r;

	while ((r = next_field(&body, &field)) > 0) {
		if (field.number == SYMBOL_VADDR) {
			ret->vaddr = field.value;
		} else if (field.number == SYMBOL_SIZE) {
			ret->size = field.value > UINT32_MAX ? UINT32_MAX : (uint32_t)field.value;
		} else if (field.number == SYMBOL_NAME && field.has_bytes) {
			ret->name = (const char *)field.bytes.at;
			ret->name_size = cursor_left(&field.bytes);
		}
	}
	return r < 0 ? r : 1;
}

int coati_simpleperf_symbol(struct simpleperf_file *f, struct simpleperf_symbol *ret)
{
	struct field field;
	int r;

	*ret = (struct simpleperf_symbol){ .name = "" };
	if (!f->is_proto) {
		if (!f->nr_symbols)
			return 0;
		f->nr_symbols--;
		ret->vaddr = cursor_u64(&f->symbols);
		ret->size = cursor_u32(&f->symbols);
		ret->name = read_text(&f->symbols, &ret->name_size);
		return f->symbols.bad ? -EBADMSG : 1;
	}
	while ((r = next_field(&f->symbols, &field)) > 0)
		if (field.number == FILE_SYMBOL && field.has_bytes)
			return read_symbol(field.bytes, ret);
	return r;
}

/* The value of @key, NULL: none. */
static const char *find_value(struct cursor c, const char *key, size_t *ret_len)
{
	while (cursor_left(&c)) {
		size_t key_len, len;
		const char *k = read_text(&c, &key_len);
		const char *value = read_text(&c, &len);

		if (c.bad)
			return NULL;
		if (key_len == strlen(key) && !memcmp(k, key, key_len)) {
			*ret_len = len;
			return value;
		}
	}
	return NULL;
}

/* Lines "cpu-clock,1,0": name, type, config. */
const char *coati_simpleperf_event(const uint8_t *bytes, size_t size, uint32_t type,
				   uint64_t config, size_t *ret_len)
{
	char wanted[64];
	size_t len = 0, tail;
	const char *at = find_value(cursor_over(bytes, size), EVENTS_KEY, &len);
	const char *end = at ? at + len : NULL;

	tail = (size_t)snprintf(wanted, sizeof(wanted), ",%u,%llu", type,
				(unsigned long long)config);
	while (at && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		if ((size_t)(stop - at) > tail && !memcmp(stop - tail, wanted, tail)) {
			*ret_len = (size_t)(stop - at) - tail;
			return at;
		}
		at = stop + 1;
	}
	return NULL;
}
