/* SPDX-License-Identifier: MIT */
/*
 * Two tables are made: stubs by address, from the code of the sections, and slots by address, from
 * the relocations. A lazily bound stub of x86-64 with branch tracking holds no slot but the number
 * of its relocation; it is turned into the slot at once.
 */
#include "image/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

#define RELA_BYTES_MAX ((size_t)256 << 20)

/* One section of relocations, and the symbols that they name. */
struct relocations {
	struct cursor at;
	size_t nr;
	struct elf_section symbols;
};

static bool is_slot(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_IRELATIVE;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_IRELATIVE;
}

static bool open_relocations(struct copy *c, const struct elf_section *s, struct relocations *ret)
{
	const uint8_t *bytes;
	size_t size;

	*ret = (struct relocations){ 0 };
	if (s->type != SHT_RELA || s->size > RELA_BYTES_MAX)
		return false;
	bytes = coati_copy_section(c, s, &size);
	ret->at = cursor_over(bytes, size - size % sizeof(Elf64_Rela));
	ret->at.swap = c->elf.swap;
	ret->nr = size / sizeof(Elf64_Rela);
	/* files without dynamic symbols have relocations too */
	if (coati_elf_section(&c->elf, s->link, &ret->symbols) == 0 &&
	    ret->symbols.type == SHT_DYNSYM) {
		struct elf_section strings;
		size_t ignored;

		coati_copy_section(c, &ret->symbols, &ignored);
		if (coati_elf_section(&c->elf, ret->symbols.link, &strings) == 0)
			coati_copy_section(c, &strings, &ignored);
	}
	return bytes;
}

/* Name of dynamic symbol @i, "" when it has none. */
static const char *symbol_name(struct copy *c, const struct elf_section *symbols, uint32_t i)
{
	const uint8_t *entry = NULL;
	struct cursor at;
	const char *name;

	if (i && symbols->size / sizeof(Elf64_Sym) > i)
		entry = coati_copy_bytes(c, symbols->offset + (uint64_t)i * sizeof(Elf64_Sym), 4);
	if (!entry)
		return "";
	at = cursor_over(entry, 4);
	at.swap = c->elf.swap;
	name = coati_elf_string(&c->elf, symbols->link, cursor_u32(&at));
	return name ? name : "";
}

static int add_slots(struct plt *p, struct copy *c, const struct elf_section *s)
{
	struct relocations r;

	if (!open_relocations(c, s, &r))
		return 0;
	for (size_t i = 0; i < r.nr; i++) {
		uint64_t offset = cursor_u64(&r.at);
		uint64_t info = cursor_u64(&r.at);
		uint64_t addend = cursor_u64(&r.at);
		struct plt_slot *slot;

		if (!is_slot(c->elf.machine, (uint32_t)info))
			continue;
		slot = ARRAY_ADD(&p->slots);
		if (!slot)
			return p->slots.len >= PLT_STUBS_MAX ? 0 : -ENOMEM;
		slot->slot = offset;
		slot->target = addend;
		slot->name = symbol_name(c, &r.symbols, (uint32_t)(info >> 32));
	}
	return 0;
}

/* ---- the code of stubs ---- */

static int add_stub(struct plt *p, uint64_t start, uint32_t size, uint64_t slot)
{
	struct plt_stub *stub = ARRAY_ADD(&p->stubs);

	if (!stub)
		return p->stubs.len >= PLT_STUBS_MAX ? 0 : -ENOMEM;
	*stub = (struct plt_stub){ start, slot, size };
	return 0;
}

static uint32_t read_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Where the entry of @size bytes jumps through: jmp *disp(%rip), or push NUMBER of a lazily bound
 * one (in @ret_number). */
static bool x86_slot(const uint8_t *entry, uint32_t size, uint64_t vaddr, uint64_t *ret,
		     int64_t *ret_number)
{
	*ret_number = -1;
	for (uint32_t i = 0; i + 6 <= size; i++) {
		if (entry[i] == 0xff && entry[i + 1] == 0x25) {
			*ret = vaddr + i + 6 + (uint64_t)(int64_t)(int32_t)read_u32(entry + i + 2);
			return true;
		}
		if (entry[i] == 0x68 && i <= 5) {
			*ret_number = read_u32(entry + i + 1);
			return false;
		}
	}
	return false;
}

static int x86_stubs(struct plt *p, const struct elf_section *s, const uint8_t *code, size_t size)
{
	uint32_t step = s->entsize == 8 ? 8 : 16;
	size_t nr_slots = p->slots.len; /* those of .rela.plt come first */
	int r = 0;

	/* a file without branch tracking has short entries in .plt.got */
	if (!strcmp(s->name, ".plt.got") && size >= 8 && code[0] == 0xff)
		step = 8;
	for (size_t at = 0; at + step <= size && r == 0; at += step) {
		uint64_t slot;
		int64_t number;

		if (x86_slot(code + at, step, s->vaddr + at, &slot, &number))
			r = add_stub(p, s->vaddr + at, step, slot);
		else if (number >= 0 && (uint64_t)number < nr_slots)
			r = add_stub(p, s->vaddr + at, step, p->slots.v[number].slot);
	}
	return r;
}

/* bti c; adrp x16, PAGE; ldr x17, [x16, OFFSET]; add; br x17, with or without the first. */
static int arm64_stubs(struct plt *p, const struct elf_section *s, const uint8_t *code, size_t size)
{
	int r = 0;

	for (size_t at = 0; at + 16 <= size && r == 0; at += 4) {
		uint32_t adrp = read_u32(code + at), ldr = read_u32(code + at + 4);
		bool bti = at >= 4 && read_u32(code + at - 4) == 0xd503245f;
		size_t start = bti ? at - 4 : at;
		uint64_t page;
		int64_t pages;

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		pages = (int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3))
				  << 43) >>
			43;
		page = ((s->vaddr + at) & ~UINT64_C(0xfff)) + ((uint64_t)pages << 12);
		r = add_stub(p, s->vaddr + start, (uint32_t)(at + 16 - start),
			     page + (uint64_t)(ldr >> 10 & 0xfff) * 8);
		at += 12;
	}
	return r;
}

static int add_stubs(struct plt *p, struct copy *c, const struct elf_section *s)
{
	const uint8_t *code;
	size_t size;

	if (s->size > PLT_SECTION_MAX)
		return 0;
	code = coati_copy_section(c, s, &size);
	if (!code)
		return 0;
	return c->elf.machine == EM_X86_64 ? x86_stubs(p, s, code, size)
					   : arm64_stubs(p, s, code, size);
}

/* ---- both together ---- */

static int compare_stubs(const void *a, const void *b)
{
	const struct plt_stub *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_slots(const void *a, const void *b)
{
	const struct plt_slot *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int each_section(struct plt *p, struct copy *c, const char *const *names,
			int (*fn)(struct plt *p, struct copy *c, const struct elf_section *s))
{
	struct elf_section s;
	int r = 0;

	for (; *names && r == 0; names++)
		if (coati_elf_section_find(&c->elf, *names, &s) == 1)
			r = fn(p, c, &s);
	return r;
}

int coati_plt_init(struct plt *p, struct copy *c)
{
	static const char *const first[] = { ".rela.plt", NULL };
	static const char *const later[] = { ".rela.iplt", ".rela.dyn", NULL };
	static const char *const code[] = { ".plt",	".plt.sec", ".plt.got",
					    ".plt.bnd", ".iplt",    NULL };
	int r;

	*p = (struct plt){ .stubs.max = PLT_STUBS_MAX, .slots.max = PLT_STUBS_MAX };
	if (c->elf.machine != EM_X86_64 && c->elf.machine != EM_AARCH64)
		return 0;
	r = each_section(p, c, first, add_slots);
	if (r == 0)
		r = each_section(p, c, code, add_stubs);
	if (r == 0)
		r = each_section(p, c, later, add_slots);
	if (p->stubs.len)
		qsort(p->stubs.v, p->stubs.len, sizeof(*p->stubs.v), compare_stubs);
	if (p->slots.len)
		qsort(p->slots.v, p->slots.len, sizeof(*p->slots.v), compare_slots);
	return r;
}

void coati_plt_fini(struct plt *p)
{
	ARRAY_FINI(&p->stubs);
	ARRAY_FINI(&p->slots);
}

bool coati_plt_find(const struct plt *p, uint64_t vaddr, struct plt_stub *ret_stub,
		    struct plt_slot *ret_slot)
{
	struct plt_slot key, *slot;
	size_t low = SEARCH(mid, 0, p->stubs.len, p->stubs.v[mid].start <= vaddr);

	if (!low || vaddr - p->stubs.v[low - 1].start >= p->stubs.v[low - 1].size)
		return false;
	*ret_stub = p->stubs.v[low - 1];
	key.slot = ret_stub->slot;
	slot = p->slots.len ? bsearch(&key, p->slots.v, p->slots.len, sizeof(key), compare_slots)
			    : NULL;
	if (!slot)
		return false;
	*ret_slot = *slot;
	return true;
}
