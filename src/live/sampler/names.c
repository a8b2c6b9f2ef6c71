/* SPDX-License-Identifier: MIT */
/* The functions of one ELF file by address: its full symbol table, or the dynamic one when that was
 * stripped. From libc alone. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "live/sampler/sampler.h"

#define NAMES_MAX (1u << 22)

static int by_start(const void *a, const void *b)
{
	const struct sampler_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	/* the last of them is found: of several names the one for people */
	if (strspn(x->name, "_") != strspn(y->name, "_"))
		return strspn(x->name, "_") > strspn(y->name, "_") ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add_name(struct sampler_names *n, const struct elf_symbol *s)
{
	if (s->type != STT_FUNC && s->type != STT_GNU_IFUNC)
		return 0;
	if (s->shndx == SHN_UNDEF || !s->name[0])
		return 0;
	if (n->len == n->cap) {
		uint32_t cap = n->cap ? 2 * n->cap : 256;
		void *grown = cap <= NAMES_MAX ? coati_realloc_array(n->list, cap, sizeof(*n->list))
					       : NULL;

		if (!grown)
			return -ENOMEM;
		n->list = grown;
		n->cap = cap;
	}
	/* hand-written code has no size: then up to the next one */
	n->list[n->len++] = (struct sampler_name){ s->value, s->value + s->size, s->name };
	return 0;
}

static int read_names(struct sampler_names *n, const char *section)
{
	struct elf_symbols symbols;
	struct elf_section table;
	struct elf_symbol s;
	int r = coati_elf_section_find(&n->elf, section, &table);

	if (r <= 0)
		return r;
	r = coati_elf_symbols(&n->elf, &table, &symbols);
	while (r >= 0 && (r = coati_elf_symbol_next(&symbols, &s)) > 0)
		r = add_name(n, &s);
	return r;
}

int coati_sampler_names_open(struct sampler_names *n, const char *path)
{
	int r;

	*n = (struct sampler_names){ 0 };
	if (path[0] != '/')
		return -ENOENT;
	r = coati_elf_open(path, &n->elf, NULL);
	if (r == 0)
		r = read_names(n, ".symtab");
	if (r >= 0 && !n->len)
		r = read_names(n, ".dynsym");
	if (r < 0)
		coati_sampler_names_close(n);
	else if (n->len)
		qsort(n->list, n->len, sizeof(*n->list), by_start);
	return r < 0 ? r : 0;
}

void coati_sampler_names_close(struct sampler_names *n)
{
	coati_elf_close(&n->elf);
	coati_free(n->list);
	*n = (struct sampler_names){ 0 };
}

const struct sampler_name *coati_sampler_names_find(const struct sampler_names *n, uint64_t offset,
						    uint64_t *ret_into)
{
	uint32_t low = 0, high = n->len;
	struct elf_segment s;
	uint64_t vaddr = 0;
	bool found = false;

	for (uint32_t i = 0; n->len && i < n->elf.phnum && !found; i++) {
		if (coati_elf_segment(&n->elf, i, &s) < 0)
			return NULL;
		found = s.type == PT_LOAD && s.flags & PF_X && offset - s.offset < s.filesz;
		vaddr = offset - s.offset + s.vaddr;
	}
	if (!found)
		return NULL;
	low = SEARCH(mid, low, high, n->list[mid].start <= vaddr);
	if (!low)
		return NULL;
	low--;
	*ret_into = vaddr - n->list[low].start;
	return vaddr < n->list[low].end || n->list[low].end == n->list[low].start ? &n->list[low]
										  : NULL;
}
