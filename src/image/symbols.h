/* SPDX-License-Identifier: MIT */
/*
 * The functions of one file, by address. Symbol tables come in one after the other (and names made
 * of relocations); out of them grows a sorted index of 16 bytes a function. An address in, the one
 * function that covers it out.
 *
 * Of the names of one address the same one is always taken: with a size over without, a function
 * over a label, global over weak over local, fewer leading underscores, shorter, first by alphabet.
 * Names stay where they are, in the string tables: the caller that adds a table keeps it alive.
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
	uint32_t size; /* and SYMBOL_* in the upper bits; 0: unknown */
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

struct copy;

struct symbol_strings {
	const char *text;
	uint32_t base, size;
	/* NULL: all bytes are there; else they are read when a name is asked for */
	struct copy *file;
	uint64_t offset; /* in the file */
};

struct symbols {
	struct symbol *v;
	size_t nr;
	bool complete; /* a .symtab was among them: no function lacks its symbol */
	bool is_short; /* a search for those near some addresses was given up */
	ARRAY(struct symbol_found) found;
	ARRAY(uint64_t) unsized; /* symbols-near: where those without a size begin */
	struct symbol_strings tables[8];
	uint32_t nr_tables;
	uint32_t strings_end;
};

void coati_symbols_init(struct symbols *s);
void coati_symbols_fini(struct symbols *s);
/* Room for the names of one more table of @size bytes, the last of which is zero; -E2BIG when there
 * is none. Returns its number. */
int coati_symbols_strings(struct symbols *s, const char *text, size_t size);
/* The same for bytes at @offset of @file, which are read when they are needed. */
int coati_symbols_strings_in(struct symbols *s, struct copy *file, uint64_t offset, size_t size);
/* The name at offset @name of table @strings. */
const char *coati_symbols_text(const struct symbols *s, int strings, uint32_t name);
/* Is it a function, and one that has a place? */
bool coati_symbols_is_function(const struct elf_symbol *sym, uint16_t machine);
uint8_t coati_symbols_rank(const struct elf_symbol *sym);
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
