/* SPDX-License-Identifier: MIT */
/*
 * Found symbols are sorted by address (a byte-wise radix sort: two million of them take
 * milliseconds), the best of each address is kept, and what lies without a size inside a function
 * is a label of that function and goes.
 */
#include "image/symbols.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "image/copy.h"

#define NAME_LOOK_MAX 512 /* bytes of a name that take part in the choice */
#define NAME_READ_MAX 16384

enum rank {
	RANK_LABEL = 0, /* hand-written assembly */
	RANK_LOCAL,
	RANK_WEAK,
	RANK_GLOBAL,
};

void coati_symbols_init(struct symbols *s)
{
	*s = (struct symbols){ .found.max = SYMBOLS_MAX };
}

void coati_symbols_fini(struct symbols *s)
{
	ARRAY_FINI(&s->found);
	ARRAY_FINI(&s->unsized);
	coati_free(s->v);
	*s = (struct symbols){ 0 };
}

int coati_symbols_strings_in(struct symbols *s, struct copy *file, uint64_t offset, size_t size)
{
	int r = size && coati_copy_bytes(file, offset + size - 1, 1)
			? coati_symbols_strings(s, (const char *)file->bytes + offset, size)
			: -EBADMSG;

	if (r >= 0) {
		s->tables[r].file = file;
		s->tables[r].offset = offset;
	}
	return r;
}

int coati_symbols_strings(struct symbols *s, const char *text, size_t size)
{
	uint32_t nr = s->nr_tables;

	if (nr >= sizeof(s->tables) / sizeof(s->tables[0]) || size > UINT32_MAX - s->strings_end)
		return -E2BIG;
	if (!size || text[size - 1])
		return -EBADMSG;
	s->tables[nr] = (struct symbol_strings){ .text = text,
						 .base = s->strings_end,
						 .size = (uint32_t)size };
	s->strings_end += (uint32_t)size;
	s->nr_tables++;
	return (int)nr;
}

/* The piece of the file in which it is, or as many as it takes. What cannot be read is empty. */
static void read_name(const struct symbol_strings *t, uint32_t at)
{
	uint32_t end = t->size - at < NAME_READ_MAX ? t->size : at + NAME_READ_MAX;

	while (at < end) {
		uint32_t n = end - at < NAME_LOOK_MAX ? end - at : NAME_LOOK_MAX;

		if (!coati_copy_bytes(t->file, t->offset + at, n) || memchr(t->text + at, 0, n))
			return;
		at += n;
	}
}

static const char *text_at(const struct symbol_strings *t, uint32_t at)
{
	if (t->file)
		read_name(t, at);
	return t->text + at;
}

const char *coati_symbols_text(const struct symbols *s, int strings, uint32_t name)
{
	return text_at(&s->tables[strings], name);
}

static const char *name_at(const struct symbols *s, uint32_t name)
{
	uint32_t i = s->nr_tables;

	while (i && name < s->tables[i - 1].base)
		i--;
	return i ? text_at(&s->tables[i - 1], name - s->tables[i - 1].base) : "";
}

/* $x, $d, $x.1: where code and data begin; .L1: labels of the compiler; _etext: the linker's mark
 * at the end of the code, where another section may begin. */
static bool is_marker(const char *name, uint16_t machine)
{
	if (name[0] == '.' && name[1] == 'L')
		return true;
	if (!strcmp(name, "etext") || !strcmp(name, "_etext") || !strcmp(name, "__etext"))
		return true;
	return machine == EM_AARCH64 && name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
	       (!name[2] || name[2] == '.');
}

/* The names of functions are not looked at: they lie all over the string table, and most are never
 * asked for. */
bool coati_symbols_is_function(const struct elf_symbol *sym, uint16_t machine)
{
	if (sym->shndx == SHN_UNDEF || sym->shndx == SHN_ABS || sym->shndx == SHN_COMMON)
		return false;
	if (sym->type == STT_FUNC || sym->type == STT_GNU_IFUNC)
		return true;
	/* a label of one file without a size is a place to jump to, more often than a function */
	if (sym->type != STT_NOTYPE || (sym->bind == STB_LOCAL && !sym->size))
		return false;
	return *sym->name && !is_marker(sym->name, machine);
}

uint8_t coati_symbols_rank(const struct elf_symbol *sym)
{
	if (sym->type == STT_NOTYPE)
		return RANK_LABEL;
	if (sym->bind == STB_LOCAL)
		return RANK_LOCAL;
	return sym->bind == STB_WEAK ? RANK_WEAK : RANK_GLOBAL;
}

int coati_symbols_add_table(struct symbols *s, const struct elf *e, struct elf_symbols walk,
			    int strings)
{
	const struct symbol_strings *t = &s->tables[strings];
	struct elf_symbol sym;
	int r;

	while ((r = coati_elf_symbol_next(&walk, &sym)) > 0) {
		struct symbol_found *f;

		if (!coati_symbols_is_function(&sym, e->machine))
			continue;
		f = ARRAY_ADD(&s->found);
		if (!f)
			return s->found.len >= SYMBOLS_MAX ? -E2BIG : -ENOMEM;
		f->start = sym.value;
		f->size = sym.size < SYMBOL_SIZE_MASK ? (uint32_t)sym.size : SYMBOL_SIZE_MASK;
		f->name = t->base + (uint32_t)(sym.name - t->text);
		f->rank = coati_symbols_rank(&sym);
	}
	return r;
}

int coati_symbols_add(struct symbols *s, const struct symbol_found *f, int strings)
{
	struct symbol_found *new = ARRAY_ADD(&s->found);

	if (!new)
		return s->found.len >= SYMBOLS_MAX ? -E2BIG : -ENOMEM;
	*new = *f;
	new->name += s->tables[strings].base;
	return 0;
}

/* One pass of the sort, by byte @shift / 8 of the address. */
static void sort_pass(const struct symbol_found *from, struct symbol_found *to, size_t nr,
		      unsigned int shift)
{
	size_t count[257] = { 0 };

	for (size_t i = 0; i < nr; i++)
		count[(from[i].start >> shift & 0xff) + 1]++;
	for (size_t i = 1; i < 257; i++)
		count[i] += count[i - 1];
	for (size_t i = 0; i < nr; i++)
		to[count[from[i].start >> shift & 0xff]++] = from[i];
}

/* By address, stable. Bytes in which all agree are passed over. */
static int sort_found(struct symbols *s)
{
	struct symbol_found *other = coati_alloc_array(s->found.len, sizeof(*other));
	uint64_t all = 0;

	if (!other)
		return -ENOMEM;
	for (size_t i = 1; i < s->found.len; i++)
		all |= s->found.v[i].start ^ s->found.v[0].start;
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		struct symbol_found *swap = s->found.v;

		if (!(all >> shift & 0xff))
			continue;
		sort_pass(s->found.v, other, s->found.len, shift);
		s->found.v = other;
		other = swap;
	}
	coati_free(other);
	s->found.cap = s->found.len;
	return 0;
}

static size_t count_underscores(const char *name)
{
	size_t nr = 0;

	while (nr < NAME_LOOK_MAX && name[nr] == '_')
		nr++;
	return nr;
}

/* Of two names of one place: negative when @a is the better one, 0 when they are one name. */
static int compare_names(const struct symbols *s, const struct symbol_found *a,
			 const struct symbol_found *b)
{
	const char *x = name_at(s, a->name), *y = name_at(s, b->name);
	size_t x_len, y_len, x_bars, y_bars;

	if (!strncmp(x, y, NAME_LOOK_MAX))
		return 0;
	if (!*x != !*y)
		return *x ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	/* mangled names begin with one in any case */
	x_bars = count_underscores(x);
	y_bars = count_underscores(y);
	if (x_bars != y_bars)
		return x_bars < y_bars ? -1 : 1;
	x_len = strnlen(x, NAME_LOOK_MAX);
	y_len = strnlen(y, NAME_LOOK_MAX);
	if (x_len != y_len)
		return x_len < y_len ? -1 : 1;
	return strncmp(x, y, NAME_LOOK_MAX);
}

/* The best of [@first, @end), which begin at one address, as an entry of the index. */
static struct symbol choose(const struct symbols *s, size_t first, size_t end)
{
	const struct symbol_found *best = &s->found.v[first];
	uint32_t size = best->size, flags = 0;

	for (size_t i = first + 1; i < end; i++) {
		const struct symbol_found *f = &s->found.v[i];
		int order = compare_names(s, f, best);

		if (order)
			flags = SYMBOL_ALIASED;
		/* the same name from two tables: one may know more */
		if (order < 0 || (!order && f->size > best->size))
			best = f;
		if (f->size > size)
			size = f->size;
	}
	if (best->size)
		size = best->size;
	return (struct symbol){ best->start, size | flags, best->name };
}

int coati_symbols_finish(struct symbols *s)
{
	uint64_t reach = 0;
	size_t nr = 0, end;

	if (!s->found.len)
		return 0;
	if (sort_found(s) < 0)
		return -ENOMEM;
	s->v = coati_alloc_array(s->found.len, sizeof(*s->v));
	if (!s->v)
		return -ENOMEM;
	for (size_t i = 0; i < s->found.len; i = end) {
		struct symbol *v = &s->v[nr];
		uint64_t stop;

		for (end = i + 1;
		     end < s->found.len && s->found.v[end].start == s->found.v[i].start;)
			end++;
		*v = choose(s, i, end);
		if (!symbol_size(v) && v->start < reach)
			continue; /* a label inside a function */
		if (v->start < reach)
			v->size |= SYMBOL_NESTED;
		if (!__builtin_add_overflow(v->start, symbol_size(v), &stop) && stop > reach)
			reach = stop;
		nr++;
	}
	s->nr = nr;
	ARRAY_FINI(&s->found);
	return 0;
}

const char *coati_symbols_name(const struct symbols *s, const struct symbol *sym)
{
	return name_at(s, sym->name);
}

const struct symbol *coati_symbols_before(const struct symbols *s, uint64_t vaddr)
{
	size_t low = SEARCH(mid, 0, s->nr, s->v[mid].start <= vaddr);

	return low ? &s->v[low - 1] : NULL;
}
