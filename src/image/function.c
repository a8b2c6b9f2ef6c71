/* SPDX-License-Identifier: MIT */
/*
 * An address of one image comes in, the function that covers it goes out. A symbol counts inside its size and never beyond the FDE in
 * which it begins; what no symbol covers is named by its FDE ("libx.so!fn_1a2b0", the same for the whole function), and what has
 * no FDE either by its section. The names are made once for each function.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "image/image.h"

#define NESTED_STEPS_MAX 256
#define SYMBOL_BYTES_MAX 16384 /* of a name that is kept whole */

static const struct code_section *section_at(const struct coati_image *im, uint64_t vaddr)
{
	for (uint32_t i = 0; i < im->nr_sections; i++)
		if (vaddr >= im->sections[i].start && vaddr < im->sections[i].end)
			return &im->sections[i];
	return NULL;
}

/* Does the symbol name @vaddr, as far as the unwind data has no objection? @fde is that of @vaddr, empty when there is none. */
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

/* Without a size it reaches to the end of its FDE; without that too, to the next symbol of its section, where every function has one. */
static bool unsized_covers(struct coati_image *im, const struct symbol *s, uint64_t vaddr,
			   const struct fde_range *fde)
{
	struct fde_range its;

	if (coati_fdes_find(&im->fdes, s->start, &its))
		return vaddr < its.end;
	return !fde->end && im->symbols.complete &&
	       section_at(im, vaddr) == section_at(im, s->start);
}

static const struct symbol *find_symbol(struct coati_image *im, uint64_t vaddr,
					const struct fde_range *fde)
{
	const struct symbol *s = coati_symbols_before(&im->symbols, vaddr);

	if (s && !symbol_size(s))
		return unsized_covers(im, s, vaddr, fde) ? s : NULL;
	for (int steps = 0; s && steps < NESTED_STEPS_MAX; steps++, s--) {
		if (vaddr - s->start < symbol_size(s))
			return within_fde(im, s, vaddr, fde) ? s : NULL;
		if (!(s->size & SYMBOL_NESTED))
			break;
	}
	return NULL;
}

/* ---- names ----------------------------------------------------------------------------------------------------------- */

/* What a stranger wrote may hold what a terminal obeys. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static bool name_symbol(struct coati_image *im, const struct symbol *s, struct coati_name *n)
{
	const char *text = coati_symbols_name(&im->symbols, s);
	char *symbol = coati_arena_strndup(&im->arena, text, strnlen(text, SYMBOL_BYTES_MAX));

	if (!symbol)
		return false;
	make_printable(symbol);
	n->symbol = symbol;
	n->function = symbol;
	n->start = s->start;
	n->length = symbol_size(s);
	n->flags = (s->size & SYMBOL_ALIASED ? COATI_NAME_ALIASED : 0) |
		   (s->size & SYMBOL_PLT ? COATI_NAME_PLT : 0);
	return true;
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
			make_printable(name);
		n->function = name;
		n->start = section->start;
		n->length = section->end - section->start;
	} else {
		n->function = *im->name == '[' ? im->name
					       : coati_arena_printf(&im->arena, "[%s]", im->name);
	}
	return n->function;
}

/* Symbols, FDEs and sections may begin at one address: the lowest bits of the key tell them apart. */
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

int coati_image_function(struct coati_image *im, uint64_t vaddr, const struct coati_name **ret)
{
	struct fde_range fde = { 0 };
	const struct symbol *s;
	struct coati_name *n;
	uint64_t key, found;

	if (!coati_fdes_find(&im->fdes, vaddr, &fde))
		fde = (struct fde_range){ 0 };
	s = find_symbol(im, vaddr, &fde);
	key = function_key(im, s, vaddr, &fde);
	if (coati_map_get(&im->functions, key, &found)) {
		*ret = (const struct coati_name *)(uintptr_t)found;
		return 0;
	}
	n = coati_arena_alloc(&im->arena, sizeof(*n));
	if (!n || !(s ? name_symbol(im, s, n) : name_synthetic(im, vaddr, &fde, n)))
		return -ENOMEM;
	/* what does not fit the map any more is named again the next time */
	if (coati_map_put(&im->functions, key, (uintptr_t)n) == -ENOMEM)
		return -ENOMEM;
	*ret = n;
	return 0;
}
