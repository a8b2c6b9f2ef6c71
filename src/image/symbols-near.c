/* SPDX-License-Identifier: MIT */
/*
 * A large symbol table is read once in pieces, and only the symbols near the addresses that are
 * asked for are kept. The answers are those of the whole table:
 *
 * - Symbols that begin within NEAR_BYTES of an address are kept, and so are those that begin
 *   further in front and reach into that window: they decide whether a label lies in a function.
 *   All names of such a place are kept, which takes a second pass where there is one.
 * - Symbols without a size end at the next one, wherever it is. Where one that was not kept may
 *   cover the address, coati_symbols_tells() says so, and the whole table is read.
 */
#include "image/symbols-near.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/search.h"

#define PIECE_SYMBOLS 2730 /* 64 KiB */
#define NEAR_BYTES    UINT64_C(2048)
#define FILTER_BITS   (1u << 18)
#define UNSIZED_MAX   4096
#define REACHING_MAX  65536

struct pass {
	struct symbols *s;
	struct symbols_table *table;
	const struct symbols_near *near;
	uint64_t *filter;  /* bits for blocks of NEAR_BYTES in which a symbol may matter */
	struct map places; /* where symbols begin that reach into a window from outside */
	bool is_second;
};

static void mark(uint64_t *filter, uint64_t block)
{
	block %= FILTER_BITS;
	filter[block / 64] |= UINT64_C(1) << (block % 64);
}

static bool is_marked(const uint64_t *filter, uint64_t block)
{
	block %= FILTER_BITS;
	return filter[block / 64] >> (block % 64) & 1;
}

/* A symbol that begins in a window, or one of at most NEAR_BYTES in front that reaches into it,
 * begins in one of these. */
static void fill_filter(struct pass *p)
{
	for (size_t i = 0; i < p->near->nr; i++) {
		uint64_t block = p->near->v[i] / NEAR_BYTES;

		mark(p->filter, block - 2);
		mark(p->filter, block - 1);
		mark(p->filter, block);
		mark(p->filter, block + 1);
	}
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool is_in_window(const struct symbols_near *n, uint64_t start)
{
	uint64_t low = start > NEAR_BYTES ? start - NEAR_BYTES : 0;
	size_t i = SEARCH(mid, (size_t)0, n->nr, n->v[mid] < low);

	return i < n->nr && n->v[i] <= add_up(start, NEAR_BYTES);
}

/* Does one that begins in front of a window end in it or behind? */
static bool reaches(const struct symbols_near *n, const struct elf_symbol *sym)
{
	size_t i = SEARCH(mid, (size_t)0, n->nr, n->v[mid] < sym->value);

	return sym->size && i < n->nr && n->v[i] - sym->value < add_up(sym->size, NEAR_BYTES);
}

static int note_unsized(struct symbols *s, uint64_t start)
{
	uint64_t *slot;

	if (s->unsized.len >= UNSIZED_MAX)
		return -E2BIG;
	slot = ARRAY_ADD(&s->unsized);
	if (!slot)
		return -ENOMEM;
	*slot = start;
	return 0;
}

static int keep(struct pass *p, struct elf_symbol *sym, uint32_t name)
{
	sym->name = coati_symbols_text(p->s, p->table->strings, name);
	if (!coati_symbols_is_function(sym, p->table->machine))
		return 0;
	return coati_symbols_add(p->s,
				 &(struct symbol_found){
					 .start = sym->value,
					 .size = sym->size < SYMBOL_SIZE_MASK ? (uint32_t)sym->size
									      : SYMBOL_SIZE_MASK,
					 .name = name,
					 .rank = coati_symbols_rank(sym),
				 },
				 p->table->strings);
}

/* Hot: most are of no interest. */
static int look_at(struct pass *p, struct elf_symbol *sym, uint32_t name)
{
	bool is_long = sym->size > NEAR_BYTES;
	int r;

	if (sym->type != STT_FUNC && sym->type != STT_GNU_IFUNC && sym->type != STT_NOTYPE)
		return 0;
	if (!sym->size && !p->is_second && coati_symbols_is_function(sym, p->table->machine)) {
		r = note_unsized(p->s, sym->value);
		if (r < 0)
			return r;
	}
	if (!is_long && !p->is_second && !is_marked(p->filter, sym->value / NEAR_BYTES))
		return 0;
	if (is_in_window(p->near, sym->value))
		return p->is_second ? 0 : keep(p, sym, name);
	if (reaches(p->near, sym)) {
		r = p->is_second ? 0 : keep(p, sym, name);
		if (r == 0 && !p->is_second)
			r = coati_map_put(&p->places, sym->value, 1);
		return r < 0 ? r : 0;
	}
	return p->is_second && coati_map_get(&p->places, sym->value, &(uint64_t){ 0 })
		       ? keep(p, sym, name)
		       : 0;
}

static int read_symbol(struct cursor *c, struct elf_symbol *sym, uint32_t *ret_name)
{
	uint8_t info;

	*ret_name = cursor_u32(c);
	info = cursor_u8(c);
	cursor_skip(c, 1); /* visibility */
	sym->shndx = cursor_u16(c);
	sym->value = cursor_u64(c);
	sym->size = cursor_u64(c);
	sym->type = ELF64_ST_TYPE(info);
	sym->bind = ELF64_ST_BIND(info);
	return c->bad ? -EBADMSG : 0;
}

static int look_at_piece(struct pass *p, const uint8_t *bytes, size_t size, bool is_first)
{
	struct cursor c = cursor_over(bytes, size);
	struct elf_symbol sym = { 0 };
	uint32_t name;
	int r = 0;

	c.swap = p->table->swap;
	if (is_first)
		cursor_skip(&c, sizeof(Elf64_Sym)); /* the empty one */
	while (r == 0 && cursor_left(&c)) {
		r = read_symbol(&c, &sym, &name);
		if (r == 0 && name >= p->table->strings_size)
			r = -EBADMSG;
		sym.name = "";
		/* whether it is a function is seen by its name; not so of those without a size in
		 * one file, of which there may be millions */
		if (r == 0 && sym.type == STT_NOTYPE && sym.shndx != SHN_UNDEF &&
		    (sym.size || sym.bind != STB_LOCAL))
			sym.name = coati_symbols_text(p->s, p->table->strings, name);
		if (r == 0)
			r = look_at(p, &sym, name);
	}
	return r;
}

static int run_pass(struct pass *p, uint8_t *piece)
{
	const uint64_t size = p->table->size - p->table->size % sizeof(Elf64_Sym);
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && at < size) {
		uint64_t left = size - at, most = PIECE_SYMBOLS * sizeof(Elf64_Sym);
		size_t n = (size_t)(left < most ? left : most);

		r = coati_pread_all(p->table->fd, piece, n, p->table->offset + at);
		if (r < 0)
			return -EBADMSG; /* the file has shrunk */
		r = look_at_piece(p, piece, n, !at);
		at += n;
	}
	return r;
}

int coati_symbols_add_near(struct symbols *s, struct symbols_table *table,
			   const struct symbols_near *near)
{
	CLEANUP(freep) uint8_t *piece = coati_alloc(PIECE_SYMBOLS * sizeof(Elf64_Sym));
	CLEANUP(freep) uint64_t *filter = coati_alloc(FILTER_BITS / 8);
	struct pass p = { .s = s, .table = table, .near = near, .filter = filter };
	int r = piece && filter ? 0 : -ENOMEM;

	coati_map_init(&p.places, REACHING_MAX);
	s->unsized.max = UNSIZED_MAX;
	if (r == 0) {
		fill_filter(&p);
		r = run_pass(&p, piece);
	}
	if (r == 0 && p.places.len) {
		p.is_second = true;
		r = run_pass(&p, piece);
	}
	coati_map_fini(&p.places);
	return r;
}

/* Within what was kept for @addr? */
static bool is_near(uint64_t start, uint64_t addr)
{
	return (start > addr ? start - addr : addr - start) <= NEAR_BYTES;
}

bool coati_symbols_tells(const struct symbols *s, const struct symbols_near *near, uint64_t addr,
			 uint64_t section_start)
{
	size_t i = SEARCH(mid, (size_t)0, near->nr, near->v[mid] < addr);
	const struct symbol *sym;

	if (i == near->nr || near->v[i] != addr)
		return false;
	sym = coati_symbols_before(s, addr);
	if (sym && is_near(sym->start, addr))
		return symbol_size(sym) ||
		       ((size_t)(sym - s->v) + 1 < s->nr && is_near(sym[1].start, addr));
	if (sym && symbol_size(sym) > addr - sym->start)
		return true;
	for (i = 0; i < s->unsized.len; i++)
		if (s->unsized.v[i] <= addr && s->unsized.v[i] >= section_start)
			return false;
	return true;
}
