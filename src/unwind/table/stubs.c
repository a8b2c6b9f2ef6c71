/* SPDX-License-Identifier: MIT */
/*
 * A gap comes in, marks go out. Nothing is taken for a stub because of its name alone: the bytes
 * must be those of a stub, or the address the entry point that the file states.
 */
#include "unwind/table/stubs.h"

#include <string.h>

#define ENTRY_MAX  256	       /* an entry stub is no longer; after it the gap goes on */
#define INIT_MAX   256	       /* nor are _init and _fini */
#define SEARCH_MAX (16u << 20) /* bytes of a gap that are searched */

struct finding {
	const struct table_input *in;
	uint64_t start, end;
	const uint8_t *bytes; /* of the gap, or NULL */
	size_t nr_bytes;
	struct stub_mark *marks;
	uint32_t len;
};

static const struct table_packed gap = { .rule = TABLE_CFA_GAP };

static struct table_packed sp_rule(int32_t off, enum table_where other, int32_t other_off)
{
	struct table_rule r = {
		.cfa = TABLE_CFA_SP, .cfa_off = off, .other = (uint8_t)other, .other_off = other_off
	};
	struct table_packed p;

	return table_pack(&r, &p) ? p : gap;
}

/* Add one, in its place; a later one at the same address replaces. */
static void mark(struct finding *f, uint64_t at, struct table_packed rule)
{
	uint32_t i = f->len;

	if (at < f->start || at >= f->end)
		return;
	while (i && f->marks[i - 1].start > at)
		i--;
	if (i && f->marks[i - 1].start == at) {
		f->marks[i - 1].rule = rule;
		return;
	}
	if (f->len == STUB_MARKS_MAX)
		return;
	memmove(&f->marks[i + 1], &f->marks[i], (f->len - i) * sizeof(*f->marks));
	f->marks[i] = (struct stub_mark){ at, rule };
	f->len++;
}

static bool has_bytes(const struct finding *f, uint64_t at, const void *bytes, size_t size)
{
	uint64_t off = at - f->start;

	return at >= f->start && f->bytes && off <= f->nr_bytes && size <= f->nr_bytes - off &&
	       !memcmp(f->bytes + off, bytes, size);
}

/* Behind the common entry: (endbr64) push N, jmp to it; or jmp *slot, push N, jmp. The offset
 * behind the push, 0: none of these. */
static uint8_t push_end(const struct finding *f, uint64_t at)
{
	if (has_bytes(f, at, "\xf3\x0f\x1e\xfa\x68", 5))
		return 9;
	if (has_bytes(f, at, "\xff\x25", 2) && has_bytes(f, at + 6, "\x68", 1))
		return 11;
	return has_bytes(f, at, "\x68", 1) ? 5 : 0;
}

static void mark_lazy_x86(struct finding *f, const struct table_stubs *s)
{
	struct table_rule plt = { .cfa = TABLE_CFA_PLT, .cfa_off = 8 };
	struct table_packed p;
	uint64_t first = s->start;

	/* the common entry is reached with the number pushed: push *got+8, jmp *got+16 */
	if (has_bytes(f, s->start, "\xff\x35", 2)) {
		mark(f, s->start, sp_rule(16, TABLE_SAME, 0));
		mark(f, s->start + 6, sp_rule(24, TABLE_SAME, 0));
		first += 16;
	}
	plt.arg = push_end(f, first);
	if (!plt.arg || first % 16 || !table_pack(&plt, &p))
		return;
	mark(f, first, p);
	mark(f, s->start + s->size, gap);
}

static void mark_stubs_x86(struct finding *f, const struct table_stubs *s)
{
	if (s->is_lazy && (has_bytes(f, s->start, "\xff\x35", 2) || push_end(f, s->start))) {
		mark_lazy_x86(f, s);
		return;
	}
	/* (endbr64) (bnd) jmp *slot: nothing is pushed */
	if (!has_bytes(f, s->start, "\xff\x25", 2) && !has_bytes(f, s->start, "\xf2\xff\x25", 3) &&
	    !has_bytes(f, s->start, "\xf3\x0f\x1e\xfa\xff\x25", 6) &&
	    !has_bytes(f, s->start, "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7))
		return;
	mark(f, s->start, sp_rule(8, TABLE_SAME, 0));
	mark(f, s->start + s->size, gap);
}

/* The common entry saves x16 and x30; the others only jump. */
static void mark_stubs_arm64(struct finding *f, const struct table_stubs *s)
{
	static const uint8_t bti[] = { 0x5f, 0x24, 0x03, 0xd5 },
			     save[] = { 0xf0, 0x7b, 0xbf, 0xa9 };
	uint64_t at = s->start;

	if (has_bytes(f, at, bti, 4))
		at += 4;
	if (!has_bytes(f, at, save, 4))
		return;
	mark(f, s->start, sp_rule(0, TABLE_SAME, 0));
	mark(f, at + 4, sp_rule(16, TABLE_AT_CFA, -8));
	mark(f, s->start + 32, sp_rule(0, TABLE_SAME, 0));
	mark(f, s->start + s->size, gap);
}

/* _init and _fini: a prologue of one instruction, calls, an epilogue of one. Only a section that
 * has both is believed. */
static void mark_init(struct finding *f, const struct table_stubs *s)
{
	static const uint8_t sub_sp[] = { 0x48, 0x83, 0xec, 0x08 },
			     add_sp[] = { 0x48, 0x83, 0xc4, 0x08 };
	static const uint8_t save[] = { 0xfd, 0x7b, 0xbf, 0xa9 },
			     load[] = { 0xfd, 0x7b, 0xc1, 0xa8 };
	bool is_x86 = table_is_x86(f->in->machine);
	const uint8_t *begin = is_x86 ? sub_sp : save, *end = is_x86 ? add_sp : load;
	uint64_t at = s->start, last = s->start + (s->size < INIT_MAX ? s->size : INIT_MAX);
	struct table_rule inside = { .cfa = TABLE_CFA_SP, .cfa_off = 16 };
	struct table_packed entry = sp_rule(is_x86 ? 8 : 0, TABLE_SAME, 0), p;
	uint64_t first = 0;

	if (!is_x86) {
		inside.fp = inside.other = TABLE_AT_CFA;
		inside.fp_off = -16;
		inside.other_off = -8;
	}
	if (!table_pack(&inside, &p))
		return;
	for (; at < last && !first; at++)
		first = has_bytes(f, at, begin, 4) ? at : 0;
	for (; first && at < last; at++) {
		if (!has_bytes(f, at, end, 4))
			continue;
		mark(f, s->start, entry);
		mark(f, first + 4, p);
		mark(f, at + 4, entry);
		mark(f, s->start + s->size, gap);
		return;
	}
}

/* mov $15, %rax (two ways to write it); syscall. On arm64 mov x8, #139; svc #0. */
static size_t find_return(const struct finding *f, size_t from, size_t *ret_size)
{
	static const uint8_t long_form[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t short_form[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t arm64[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
	const uint8_t *forms[2] = { long_form, short_form };
	size_t sizes[2] = { sizeof(long_form), sizeof(short_form) };
	size_t best = SIZE_MAX;

	if (!table_is_x86(f->in->machine)) {
		forms[0] = arm64;
		sizes[0] = sizeof(arm64);
		sizes[1] = 0;
	}
	for (int i = 0; i < 2 && sizes[i]; i++) {
		const uint8_t *p = memmem(f->bytes + from, f->nr_bytes - from, forms[i], sizes[i]);

		if (p && (size_t)(p - f->bytes) < best) {
			best = (size_t)(p - f->bytes);
			*ret_size = sizes[i];
		}
	}
	return best;
}

static void mark_returns(struct finding *f)
{
	size_t at = 0, size = 0;

	/* a handler returns to its first byte, and callers are looked up one byte earlier */
	for (int i = 0; f->bytes && i < 4; i++) {
		at = find_return(f, at, &size);
		if (at == SIZE_MAX)
			return;
		mark(f, f->start + (at ? at - 1 : 0),
		     (struct table_packed){ .rule = TABLE_CFA_SIGNAL });
		at += size;
		mark(f, f->start + at, gap);
	}
}

/* The ends first: one function may begin where another one ends. */
static void mark_roots(struct finding *f)
{
	const struct table_mark *m = f->in->marks;

	for (uint32_t i = 0; i < f->in->nr_marks; i++)
		if (m[i].kind != TABLE_MARK_GAP && m[i].start >= f->start && m[i].start < f->end)
			mark(f, m[i].start + m[i].size, gap);
	for (uint32_t i = 0; i < f->in->nr_marks; i++)
		if (m[i].kind != TABLE_MARK_GAP)
			mark(f, m[i].start, (struct table_packed){ .rule = TABLE_CFA_END });
}

uint32_t coati_stubs_find(const struct table_input *in, uint64_t start, uint64_t end,
			  struct stub_mark marks[STUB_MARKS_MAX])
{
	struct finding f = { .in = in, .start = start, .end = end, .marks = marks };

	mark(&f, start, gap);
	for (uint32_t i = 0; i < in->nr_code; i++) {
		const struct table_code *c = &in->code[i];
		uint64_t off = start - c->start;

		if (off >= c->size)
			continue;
		if (c->bytes && off < c->nr_bytes) {
			f.bytes = c->bytes + off;
			f.nr_bytes = c->nr_bytes - (size_t)off;
		}
		if (f.nr_bytes > end - start)
			f.nr_bytes = (size_t)(end - start);
		if (f.nr_bytes > SEARCH_MAX)
			f.nr_bytes = SEARCH_MAX;
		if (f.bytes && in->fetch && in->fetch(in->fetch_ctx, f.bytes, f.nr_bytes) < 0)
			f.bytes = NULL;
		break;
	}
	mark_roots(&f);
	mark_returns(&f);
	if (in->entry >= start && in->entry < end) {
		uint64_t stop = end - in->entry > ENTRY_MAX ? in->entry + ENTRY_MAX : end;

		mark(&f, stop, gap);
		mark(&f, in->entry, (struct table_packed){ .rule = TABLE_CFA_END });
	}
	for (uint32_t i = 0; i < in->nr_stubs; i++) {
		if (in->stubs[i].start < start || in->stubs[i].start >= end)
			continue;
		if (in->stubs[i].is_init)
			mark_init(&f, &in->stubs[i]);
		else if (table_is_x86(in->machine))
			mark_stubs_x86(&f, &in->stubs[i]);
		else
			mark_stubs_arm64(&f, &in->stubs[i]);
	}
	return f.len;
}
