/* SPDX-License-Identifier: MIT */
/*
 * A program or library comes in, its statically defined probes go out, one place at a time.
 * Addresses in the notes are those of the link editor; a tool that moved the file afterwards
 * (prelink) moved .stapsdt.base with it, so the difference between that section and what the note
 * remembers of it is added.
 */
#include "event/probe-usdt.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "event/probe-file.h"
#include "event/probe-symbol.h"

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"

int coati_probe_usdt_begin(const struct elf *e, struct probe_usdt_walk *ret)
{
	struct probe_usdt_walk *w = ret;
	struct elf_section s;
	const uint8_t *bytes;
	size_t size;
	int r;

	w->base = 0;
	w->notes = coati_elf_notes(e, NULL, 0, 4);
	r = coati_elf_section_find(e, ".stapsdt.base", &s);
	if (r > 0)
		w->base = s.vaddr;
	if (r >= 0)
		r = coati_elf_section_find(e, ".note.stapsdt", &s);
	if (r <= 0)
		return r;
	bytes = coati_elf_section_bytes(e, &s, &size);
	if (!bytes && s.type != SHT_NOBITS)
		return -EBADMSG;
	w->notes = coati_elf_notes(e, bytes, size, 4);
	return 0;
}

int coati_probe_usdt_open(const char *path, struct probe_usdt_walk *ret, struct coati_error *err)
{
	int r;

	ret->elf = (struct elf){ 0 };
	r = coati_probe_file_find(path, ret->path, err);
	if (r >= 0)
		r = coati_elf_open(ret->path, &ret->elf, err);
	if (r < 0)
		return r;
	r = coati_probe_usdt_begin(&ret->elf, ret);
	if (r < 0)
		return coati_fail(err, r, "the sections of %s are damaged", ret->path);
	return 0;
}

/* The next terminated string, or NULL and bad. */
static const char *take_text(struct cursor *c)
{
	size_t left = cursor_left(c);
	const uint8_t *end = left ? memchr(c->at, 0, left) : NULL;

	if (!end) {
		c->bad = true;
		return NULL;
	}
	return cursor_bytes(c, (size_t)(end - c->at) + 1);
}

static int read_note(const struct probe_usdt_walk *w, const struct elf_note *n,
		     struct probe_usdt *ret)
{
	struct cursor c = cursor_over(n->desc, n->desc_size);
	struct probe_usdt u = { 0 };
	uint64_t base, moved;

	c.swap = w->notes.at.swap;
	u.vaddr = cursor_u64(&c);
	base = cursor_u64(&c);
	u.semaphore = cursor_u64(&c);
	u.provider = take_text(&c);
	u.name = take_text(&c);
	u.args = take_text(&c);
	if (c.bad || !coati_probe_name_ok(u.provider) || !coati_probe_name_ok(u.name))
		return -EBADMSG;
	moved = w->base ? w->base - base : 0; /* may wrap: it moved down */
	u.vaddr += moved;
	if (u.semaphore)
		u.semaphore += moved;
	*ret = u;
	return 1;
}

int coati_probe_usdt_next(struct probe_usdt_walk *w, struct probe_usdt *ret)
{
	struct elf_note n;
	int r;

	while ((r = coati_elf_note_next(&w->notes, &n)) > 0)
		if (n.type == NOTE_TYPE && n.name_size == sizeof(NOTE_NAME) &&
		    !memcmp(n.name, NOTE_NAME, sizeof(NOTE_NAME)))
			return read_note(w, &n, ret);
	return r;
}

void coati_probe_usdt_close(struct probe_usdt_walk *w)
{
	coati_elf_close(&w->elf);
}
