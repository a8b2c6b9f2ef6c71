/* SPDX-License-Identifier: MIT */
/* see go-table.h */
#include "image/go-table.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAGIC_16 0xfffffffau /* Go 1.16 and 1.17: entries are addresses */
#define MAGIC_18 0xfffffff0u
#define MAGIC_20 0xfffffff1u

#define DISTANCE_MAX INT32_MAX /* bytes of a frame */
#define TABLE_ALIGN  8	       /* of a table in a section of other data */

/* The head: magic, two zeros, the unit of code, the size of a pointer, then numbers of that
 * size. */
struct head {
	uint32_t magic;
	uint8_t zeros[2], quantum, pointer;
	uint64_t nr, nr_files, text, names, units, files, steps, functions;
};

/* A section with bytes in the file, by its name. */
static bool find_section(const struct elf *e, const char *name, struct elf_section *ret)
{
	return coati_elf_section_find(e, name, ret) > 0 && ret->type == SHT_PROGBITS;
}

static int read_head(struct cursor *c, struct head *h)
{
	*h = (struct head){ .magic = cursor_u32(c) };
	h->zeros[0] = cursor_u8(c);
	h->zeros[1] = cursor_u8(c);
	h->quantum = cursor_u8(c);
	h->pointer = cursor_u8(c);
	if (h->magic != MAGIC_16 && h->magic != MAGIC_18 && h->magic != MAGIC_20)
		return 0;
	h->nr = cursor_u64(c);
	h->nr_files = cursor_u64(c);
	if (h->magic != MAGIC_16)
		h->text = cursor_u64(c);
	h->names = cursor_u64(c);
	h->units = cursor_u64(c);
	h->files = cursor_u64(c);
	h->steps = cursor_u64(c);
	h->functions = cursor_u64(c);
	if (c->bad || h->zeros[0] || h->zeros[1] || h->pointer != 8 ||
	    (h->quantum != 1 && h->quantum != 4))
		return -EBADMSG;
	return 1;
}

/* Move @s to the first head that a table in it may have. */
static bool search(struct copy *file, struct elf_section *s)
{
	size_t size;
	const uint8_t *bytes = coati_copy_section(file, s, &size);
	struct head h;

	for (size_t i = 0; bytes && i + TABLE_ALIGN <= size; i += TABLE_ALIGN) {
		struct cursor c = cursor_over(bytes + i, size - i);

		if (read_head(&c, &h) <= 0)
			continue;
		s->offset += i;
		s->vaddr += i;
		s->size -= i;
		return true;
	}
	return false;
}

/* It has a section of its own. An external linker puts that of a position-independent program among
 * other constant data. */
static bool find_table(struct copy *file, struct elf_section *ret)
{
	const struct elf *e = &file->elf;
	struct elf_section build_info;

	if (find_section(e, ".gopclntab", ret) || find_section(e, ".data.rel.ro.gopclntab", ret))
		return true;
	return find_section(e, ".go.buildinfo", &build_info) &&
	       find_section(e, ".data.rel.ro", ret) && search(file, ret);
}

/* What a relocation of a position-independent program would put at @vaddr; 0: there is none. */
static uint64_t relocated(struct copy *file, uint64_t vaddr)
{
	const struct elf *e = &file->elf;
	struct elf_section s;

	for (uint32_t i = 1; i < e->shnum; i++) {
		struct cursor c;
		const uint8_t *bytes;
		size_t size;

		if (coati_elf_section(e, i, &s) < 0 || s.type != SHT_RELA || !(s.flags & SHF_ALLOC))
			continue;
		bytes = coati_copy_section(file, &s, &size);
		c = cursor_over(bytes, size);
		while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
			uint64_t at = cursor_u64(&c), addend;

			cursor_skip(
				&c,
				8); /* its kind: only one that adds the base makes sense there */
			addend = cursor_u64(&c);
			if (at == vaddr)
				return addend;
		}
	}
	return 0;
}

static bool is_start(const struct go_table *t, uint64_t vaddr)
{
	struct go_function f;

	for (uint32_t i = 0; i < t->nr; i++)
		if (coati_go_function(t, i, &f) && f.start == vaddr)
			return true;
	return false;
}

/* Where the code of Go begins: as the head says, or as a relocation of it says. Else with the
 * section, unless there is other code in front of it: then the program does not begin with a
 * function of the table. */
static bool find_text(struct go_table *t, struct copy *file, const struct elf_section *s)
{
	struct elf_section text;

	if (t->text || t->entry_bytes == 8)
		return true;
	t->text = relocated(file, s->vaddr + 24);
	if (t->text)
		return true;
	if (coati_elf_section_find(&file->elf, ".text", &text) <= 0)
		return false;
	t->text = text.vaddr;
	return is_start(t, file->elf.entry);
}

static bool set_names(struct go_table *t, const struct head *h)
{
	uint64_t end = h->units > h->names && h->units <= t->size ? h->units : t->size;

	if (h->names >= end)
		return false;
	while (end > h->names && t->bytes[end - 1])
		end--;
	t->names = (const char *)t->bytes + h->names;
	t->names_size = (size_t)(end - h->names);
	return t->names_size;
}

int coati_go_table_read(struct go_table *t, const uint8_t *bytes, size_t size)
{
	struct cursor c = cursor_over(bytes, size);
	struct head h;
	int r = read_head(&c, &h);

	*t = (struct go_table){ .bytes = bytes, .size = size };
	if (r <= 0)
		return r;
	t->text = h.text;
	t->quantum = h.quantum;
	t->entry_bytes = h.magic == MAGIC_16 ? 8 : 4;
	t->steps = (size_t)h.steps;
	t->functions = (size_t)h.functions;
	/* the index has two numbers for each function, and the end of the last one */
	if (h.functions > t->size || h.steps >= t->size || !set_names(t, &h) ||
	    h.nr >= (t->size - h.functions) / (2 * t->entry_bytes))
		return -EBADMSG;
	t->nr = (uint32_t)h.nr;
	return 1;
}

int coati_go_table_init(struct go_table *t, struct copy *file)
{
	struct elf_section s;
	const uint8_t *bytes;
	size_t size;
	int r;

	*t = (struct go_table){ 0 };
	/* no machine that Go and we know has the other byte order */
	if (file->elf.swap || !find_table(file, &s))
		return 0;
	bytes = coati_copy_section(file, &s, &size);
	r = coati_go_table_read(t, bytes, size);
	return r > 0 ? find_text(t, file, &s) : r;
}

/* A number of the index, of either size. */
static uint64_t index_number(const struct go_table *t, uint64_t i)
{
	uint64_t v = 0;

	memcpy(&v, t->bytes + t->functions + i * t->entry_bytes, t->entry_bytes);
	return v;
}

bool coati_go_function(const struct go_table *t, uint32_t i, struct go_function *ret)
{
	struct cursor c = cursor_over(t->bytes + t->functions, t->size - t->functions);

	if (i >= t->nr)
		return false;
	ret->start = t->text + index_number(t, 2 * (uint64_t)i);
	ret->end = t->text + index_number(t, 2 * (uint64_t)i + 2);
	cursor_skip(&c, (size_t)index_number(t, 2 * (uint64_t)i + 1));
	cursor_skip(&c, t->entry_bytes); /* its start again */
	ret->name = cursor_u32(&c);
	cursor_skip(&c, 8); /* arguments, deferred calls */
	ret->steps = cursor_u32(&c);
	return !c.bad && ret->start < ret->end && ret->name < t->names_size;
}

/* ---- distances ---- */

/* Seven bits a byte; more than 32 bits are malformed there. */
static uint32_t read_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 35; shift += 7) {
		uint8_t b = cursor_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80) && v <= UINT32_MAX)
			return (uint32_t)v;
	}
	c->bad = true;
	return 0;
}

struct go_steps coati_go_steps(const struct go_table *t, const struct go_function *f)
{
	struct go_steps s = { .at = cursor_over(t->bytes + t->steps, t->size - t->steps),
			      .pc = f->start,
			      .end = f->steps ? f->end : f->start,
			      .distance = -1,
			      .quantum = t->quantum };

	cursor_skip(&s.at, f->steps);
	return s;
}

int coati_go_step_next(struct go_steps *s, struct go_step *ret)
{
	uint32_t change, length;

	if (s->pc >= s->end)
		return 0;
	change = read_varint(&s->at);
	if (!change && s->began && !s->at.bad)
		return 0;
	length = read_varint(&s->at);
	s->began = true;
	s->distance += change & 1 ? ~(int64_t)(change >> 1) : (int64_t)(change >> 1);
	if (s->at.bad || !length || s->distance < 0 || s->distance > DISTANCE_MAX) {
		s->pc = s->end;
		return -EBADMSG;
	}
	ret->start = s->pc;
	s->pc += (uint64_t)length * s->quantum;
	ret->end = s->pc < s->end ? s->pc : s->end;
	ret->distance = (uint32_t)s->distance;
	return 1;
}
