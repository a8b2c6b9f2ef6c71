/* SPDX-License-Identifier: MIT */
/*
 * The tracing data blob: a copy of what tracefs says about the tracepoints of the recording. Only
 * the format texts are wanted; each begins with "name: ...\nID: N\n".
 */
#include "recording/model.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

static const uint8_t magic[10] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

/* A terminated text in the stream. */
static const char *get_text(struct cursor *c)
{
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));

	if (c->bad || !end) {
		c->bad = true;
		return "";
	}
	return cursor_bytes(c, (size_t)(end - c->at) + 1);
}

/* The number behind "\nID:" of a format text of @size bytes, not terminated. */
static int format_id(const char *text, uint64_t size, uint64_t *ret)
{
	const char *at = memmem(text, size, "\nID:", 4), *end;
	char digits[24];
	size_t len;

	if (!at)
		return -ENOENT;
	at += 4;
	while (at < text + size && *at == ' ')
		at++;
	end = memchr(at, '\n', (size_t)(text + size - at));
	len = (size_t)((end ? end : text + size) - at);
	if (len >= sizeof(digits))
		return -EBADMSG;
	memcpy(digits, at, len);
	digits[len] = '\0';
	return coati_parse_u64(digits, 0, UINT64_MAX, ret);
}

/* @count formats of one system (or of ftrace): u64 length and text each. */
static int read_formats(struct model *m, struct cursor *c, uint32_t count)
{
	for (uint32_t i = 0; i < count && !c->bad; i++) {
		uint64_t size = cursor_u64(c), id;
		const char *text = cursor_bytes(c, size);
		struct model_format *f;

		if (!text || format_id(text, size, &id) < 0)
			continue;
		f = ARRAY_ADD(&m->formats);
		if (!f)
			return -ENOMEM;
		*f = (struct model_format){ .id = id, .text = text, .size = size };
	}
	return 0;
}

static void skip_named_part(struct cursor *c, const char *name)
{
	if (strcmp(get_text(c), name))
		c->bad = true;
	cursor_skip(c, cursor_u64(c));
}

int coati_model_tracing_data(struct model *m, const uint8_t *bytes, uint64_t size)
{
	struct cursor c = cursor_over(bytes, size);
	const uint8_t *start = cursor_bytes(&c, sizeof(magic));
	uint32_t nr_systems;
	int r;

	c.swap = m->swap;
	if (!start || memcmp(start, magic, sizeof(magic)))
		return -EBADMSG;
	get_text(&c);	    /* version of the blob */
	cursor_skip(&c, 2); /* byte order and size of long of the recorded machine */
	cursor_skip(&c, 4); /* page size */
	skip_named_part(&c, "header_page");
	skip_named_part(&c, "header_event");
	r = read_formats(m, &c, cursor_u32(&c));
	nr_systems = cursor_u32(&c);
	for (uint32_t i = 0; r == 0 && i < nr_systems && !c.bad; i++) {
		get_text(&c);
		r = read_formats(m, &c, cursor_u32(&c));
	}
	return r < 0 ? r : c.bad ? -EBADMSG : 0;
}

const struct model_format *coati_model_format(const struct model *m, uint64_t id)
{
	for (size_t i = 0; i < m->formats.len; i++)
		if (m->formats.v[i].id == id)
			return &m->formats.v[i];
	return NULL;
}
