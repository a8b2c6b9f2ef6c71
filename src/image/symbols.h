/* SPDX-License-Identifier: MIT */
/*
 * The functions of one file, by address. Symbol tables come in one after the other (and names made
 * of relocations); out of them grows a sorted index of 16 bytes a function. An address in, the one
 * function that covers it out.
 *
 * Of the names of one address the same one is always taken: with a size over without, a function
 * over a label, global over weak over local, fewer leading underscores, shorter, first by alphabet.
 * Names stay where they are, in the string tables: whoever adds a table keeps it alive.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/elf.h"

#define SYMBOLS_MAX 8388608 /* functions of one file */

struct symbol {
	uint64_t start;
	uint32_t size; /* and SYMBOL_* in the upper bits; 0: nobody told */
	uint32_t name; /* offset in the tables, laid one behind the other */
};

#define SYMBOL_ALIASED	 (UINT32_C(1) << 31)
#define SYMBOL_NESTED	 (UINT32_C(1) << 30) /* one in front of it reaches over it */
#define SYMBOL_SIZE_MASK (SYMBOL_NESTED - 1)

/* A symbol on its way into the index. */
struct symbol_found {
	uint64_t start;
	uint32_t size, name;
	uint8_t rank; /* higher is better */
};

struct symbol_strings {
	const char *text;
	uint32_t base, size;
};

struct symbols {
	struct symbol *v;
	size_t nr;
	bool complete; /* a .symtab was among them: no function lacks its symbol */
	ARRAY(struct symbol_found) found;
	struct symbol_strings tables[8];
	uint32_t nr_tables;
	uint32_t strings_end;
};

void coati_symbols_init(struct symbols *s);
void coati_symbols_fini(struct symbols *s);
/* Room for the names of one more table of @size bytes, the last of which is zero; -E2BIG when there
 * is none. Returns its number. */
int coati_symbols_strings(struct symbols *s, const char *text, size_t size);
/* The functions of a .symtab or .dynsym whose strings are table number @strings. -EBADMSG: damaged,
 * what came before it is kept; -ENOMEM, -E2BIG. */
int coati_symbols_add_table(struct symbols *s, const struct elf *e, struct elf_symbols walk,
			    int strings);
/* One more. @name is an offset in table @strings. */
int coati_symbols_add(struct symbols *s, const struct symbol_found *f, int strings);
/* Sort all that was added and choose the names. -ENOMEM. */
int coati_symbols_finish(struct symbols *s);

const char *coati_symbols_name(const struct symbols *s, const struct symbol *sym);
static inline uint64_t symbol_size(const struct symbol *s)
{
	return s->size & SYMBOL_SIZE_MASK;
}
/* The last that begins at or before @vaddr, NULL: none. */
const struct symbol *coati_symbols_before(const struct symbols *s, uint64_t vaddr);
