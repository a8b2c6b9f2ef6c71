/* SPDX-License-Identifier: MIT */
/*
 * An address of one image comes in, the function that covers it goes out. A symbol counts inside
 * its size and never beyond the FDE in which it begins; one without a size (assembly) reaches to
 * the next function that is known. What no symbol covers is named by its FDE ("libx.so!fn_1a2b0",
 * the same for the whole function), and what has no FDE either by its section. The names are made
 * once for each function.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "image/image.h"
#include "image/trampoline.h"

#define NESTED_STEPS_MAX 256
#define SYMBOL_BYTES_MAX 16384 /* of a name that is kept whole */

static const struct code_section *section_at(const struct coati_image *im, uint64_t vaddr)
{
	for (uint32_t i = 0; i < im->nr_sections; i++)
		if (vaddr >= im->sections[i].start && vaddr < im->sections[i].end)
			return &im->sections[i];
	return NULL;
}

/* Does the symbol name @vaddr, as far as the unwind data has no objection? @fde is that of @vaddr,
 * empty when there is none. */
static bool within_fde(struct coati_image *im, const struct symbol *s, uint64_t vaddr,
		       const struct fde_range *fde)
{
	struct fde_range its;

	if (fde->end && s->start >= fde->start)
		return true;
	if (!coati_fdes_find(&im->fdes, s->start, &its))
		return true;
	return vaddr < its.end;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Where the function of a symbol without a size ends: with its FDE; without one (assembly) at the
 * next place that is known to belong to another function: the next symbol, the next function with
 * an FDE, the entry point of the program, the end of the section. Its own start: it covers nothing.
 */
static uint64_t unsized_end(struct coati_image *im, const struct symbol *s)
{
	const struct code_section *section = section_at(im, s->start);
	const struct symbol *last = im->symbols.v + im->symbols.nr;
	uint64_t end = section ? section->end : s->start;
	struct fde_range its;

	if (s + 1 < last && s[1].start < end)
		end = s[1].start;
	if (coati_fdes_find(&im->fdes, s->start, &its))
		return section ? lower(end, its.end) : its.end;
	if (im->file.bytes && im->file.elf.entry > s->start)
		end = lower(end, im->file.elf.entry);
	return lower(end, coati_fdes_after(&im->fdes, s->start));
}

static const struct symbol *find_symbol(struct coati_image *im, uint64_t vaddr,
					const struct fde_range *fde)
{
	const struct symbol *s = coati_image_symbol_before(im, vaddr);

	if (s && !symbol_size(s))
		return vaddr < unsized_end(im, s) ? s : NULL;
	for (int steps = 0; s && steps < NESTED_STEPS_MAX; steps++, s--) {
		if (vaddr - s->start < symbol_size(s))
			return within_fde(im, s, vaddr, fde) ? s : NULL;
		if (!(s->size & SYMBOL_NESTED))
			break;
	}
	return NULL;
}

/* ---- names ---- */

void coati_make_printable(char *text)
{
	while (*text) {
		size_t n = utf8_printable((const unsigned char *)text, strnlen(text, 4));

		if (!n)
			*text = '?';
		text += n ? n : 1;
	}
}

/* Without the version that a static symbol table carries: "memcpy@@GLIBC_2.14". */
static size_t bare_length(const char *symbol)
{
	size_t len = strcspn(symbol, "@");

	return len ? len : strlen(symbol);
}

const char *coati_image_readable(struct coati_image *im, const char *symbol)
{
	struct strbuf out = STRBUF_INIT(DEMANGLE_OUT_MAX + SYMBOL_BYTES_MAX);
	char *bare = coati_arena_strndup(&im->arena, symbol, bare_length(symbol));
	char *text = bare;

	if (!bare || im->all->flags & COATI_IMAGES_MANGLED)
		return bare;
	if (coati_demangle_name(&im->demangler, bare, &out))
		text = coati_arena_strdup(&im->arena, out.text);
	coati_strbuf_fini(&out);
	if (text)
		coati_make_printable(text);
	return text;
}

static bool name_symbol(struct coati_image *im, const struct symbol *s, struct coati_name *n)
{
	const char *text = coati_symbols_name(&im->symbols, s);
	char *symbol = coati_arena_strndup(&im->arena, text, strnlen(text, SYMBOL_BYTES_MAX));

	if (!symbol)
		return false;
	coati_make_printable(symbol);
	n->symbol = symbol;
	n->function = coati_image_readable(im, symbol);
	n->start = s->start;
	n->length = symbol_size(s) ? symbol_size(s) : unsized_end(im, s) - s->start;
	n->flags = s->size & SYMBOL_ALIASED ? COATI_NAME_ALIASED : 0;
	return n->function;
}

static bool name_synthetic(struct coati_image *im, uint64_t vaddr, const struct fde_range *fde,
			   struct coati_name *n)
{
	const struct code_section *section = section_at(im, vaddr);
	bool is_plt = section && !strncmp(section->name, ".plt", 4);

	n->flags = COATI_NAME_SYNTHETIC;
	if (fde->end && !is_plt) {
		n->function = coati_arena_printf(&im->arena, "%s!fn_%llx", im->name,
						 (unsigned long long)fde->start);
		n->start = fde->start;
		n->length = fde->end - fde->start;
	} else if (section) {
		char *name = coati_arena_printf(&im->arena, "%s!%.64s", im->name, section->name);

		if (name)
			coati_make_printable(name);
		n->function = name;
		n->start = section->start;
		n->length = section->end - section->start;
	} else {
		n->function = *im->name == '[' ? im->name
					       : coati_arena_printf(&im->arena, "[%s]", im->name);
	}
	return n->function;
}

/* "name@plt" for a stub that is understood. An indirect function has no name there, but its chooser
 * has one. */
static bool name_stub(struct coati_image *im, const struct plt_stub *stub,
		      const struct plt_slot *slot, struct coati_name *n)
{
	const struct symbol *s = *slot->name ? NULL : coati_image_symbol_before(im, slot->target);
	const char *name = slot->name;
	char *text;

	if (s && s->start == slot->target)
		name = coati_symbols_name(&im->symbols, s);
	name = coati_image_readable(im, name);
	if (!name)
		return false;
	if (*name)
		text = coati_arena_printf(&im->arena, "%.*s@plt", SYMBOL_BYTES_MAX, name);
	else
		text = coati_arena_printf(&im->arena, "fn_%llx@plt",
					  (unsigned long long)slot->target);
	if (!text)
		return false;
	coati_make_printable(text);
	n->function = n->symbol = text;
	n->start = stub->start;
	n->length = stub->size;
	n->flags = COATI_NAME_PLT;
	return true;
}

/* 1: @vaddr is in a stub that we could name; 0: it is not; -ENOMEM. */
static int find_stub(struct coati_image *im, uint64_t vaddr, struct plt_stub *ret_stub,
		     struct plt_slot *ret_slot)
{
	const struct code_section *section = section_at(im, vaddr);

	if (!section || !im->file.bytes ||
	    (strncmp(section->name, ".plt", 4) != 0 && strcmp(section->name, ".iplt") != 0))
		return 0;
	if (!im->has_plt && coati_plt_init(&im->plt, &im->file) < 0)
		return -ENOMEM;
	im->has_plt = true;
	return coati_plt_find(&im->plt, vaddr, ret_stub, ret_slot);
}

/* Symbols, FDEs and sections may begin at one address: the lowest bits of the key tell them
 * apart. */
static uint64_t function_key(const struct coati_image *im, const struct symbol *s, uint64_t vaddr,
			     const struct fde_range *fde)
{
	const struct code_section *section;

	if (s)
		return s->start * 4;
	if (fde->end)
		return fde->start * 4 + 1;
	section = section_at(im, vaddr);
	return section ? section->start * 4 + 2 : 3;
}

/* What is the function at an address, before it has a name. */
struct place {
	const struct symbol *symbol; /* NULL: none covers it */
	struct fde_range fde;	     /* empty: none */
	struct plt_stub stub;
	struct plt_slot slot;
	bool is_stub, is_trampoline;
	uint64_t start, size; /* of a trampoline */
	uint64_t key;
};

/* The symbol of the trampoline itself, where there is one. */
static void find_trampoline(struct coati_image *im, uint64_t vaddr, struct place *p)
{
	const struct symbol *s;

	p->is_trampoline =
		im->file.bytes && coati_trampoline_find(&im->file, vaddr, &p->start, &p->size);
	s = p->is_trampoline ? coati_image_symbol_before(im, p->start) : NULL;
	if (s && s->start == p->start && *coati_symbols_name(&im->symbols, s))
		p->symbol = s;
}

static bool name_trampoline(const struct place *p, struct coati_name *n)
{
	n->symbol = n->function = "__restore_rt";
	n->start = p->start;
	n->length = p->size;
	return true;
}

static int find_place(struct coati_image *im, uint64_t vaddr, struct place *p)
{
	int r = find_stub(im, vaddr, &p->stub, &p->slot);

	if (r < 0)
		return r;
	p->is_stub = r;
	if (p->is_stub) {
		p->key = p->stub.start * 4;
		return 0;
	}
	if (!coati_fdes_find(&im->fdes, vaddr, &p->fde))
		p->fde = (struct fde_range){ 0 };
	p->symbol = find_symbol(im, vaddr, &p->fde);
	if (p->symbol && !*coati_symbols_name(&im->symbols, p->symbol))
		p->symbol = NULL;
	if (!p->symbol)
		find_trampoline(im, vaddr, p);
	p->key = p->is_trampoline ? p->start * 4 : function_key(im, p->symbol, vaddr, &p->fde);
	return 0;
}

static bool name_place(struct coati_image *im, uint64_t vaddr, const struct place *p,
		       struct coati_name *n)
{
	if (p->is_stub)
		return name_stub(im, &p->stub, &p->slot, n);
	if (p->is_trampoline && !p->symbol)
		return name_trampoline(p, n);
	return p->symbol ? name_symbol(im, p->symbol, n) : name_synthetic(im, vaddr, &p->fde, n);
}

int coati_image_function(struct coati_image *im, uint64_t vaddr, const struct coati_name **ret)
{
	struct place p = { 0 };
	struct coati_name *n;
	uint64_t found;
	int r = find_place(im, vaddr, &p);

	if (r < 0)
		return r;
	if (coati_map_get(&im->functions, p.key, &found)) {
		*ret = (const struct coati_name *)(uintptr_t)found;
		return 0;
	}
	n = coati_arena_alloc(&im->arena, sizeof(*n));
	if (!n || !name_place(im, vaddr, &p, n))
		return -ENOMEM;
	/* what does not fit the map any more is named again the next time */
	if (coati_map_put(&im->functions, p.key, (uintptr_t)n) == -ENOMEM)
		return -ENOMEM;
	*ret = n;
	return 0;
}
