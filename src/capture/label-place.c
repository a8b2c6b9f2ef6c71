/* SPDX-License-Identifier: MIT */
/* see label-place.h */
#include "capture/label-place.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "image/copy.h"
#include "image/image.h"
#include "record/live-ask.h"

#define SYMBOL	   "otel_thread_ctx_v1"
#define NOTE	   "coati"
#define NOTES_MAX  65536u /* bytes of one segment */
#define RELA_BYTES ((uint64_t)256 << 20)
/* of a table of symbols, and of their names */
#define TABLE_BYTES ((uint64_t)16 << 20)
#define NAMES_BYTES ((uint64_t)128 << 20)

/* Of one file in all: its headers may name the same bytes again and again. */
#define LOOK_BYTES ((uint64_t)512 << 20)

struct search {
	struct copy file;
	uint64_t looked;	/* bytes */
	struct elf_segment tls; /* memsz 0: none */
	bool is_program;
	struct elf_symbol symbol;
};

static void copy_closep(struct copy *c)
{
	coati_copy_close(c);
}

/* May as many bytes be looked at? */
static bool may_look(struct search *s, uint64_t bytes)
{
	if (bytes > LOOK_BYTES - s->looked)
		return false;
	s->looked += bytes;
	return true;
}

/* ---- segments ---- */

static bool has_note(struct search *s, const struct elf_segment *seg)
{
	uint64_t size = seg->filesz < NOTES_MAX ? seg->filesz : NOTES_MAX;
	const uint8_t *bytes =
		may_look(s, size) ? coati_copy_bytes(&s->file, seg->offset, size) : NULL;
	struct elf_notes notes;
	struct elf_note note;

	if (!bytes)
		return false;
	notes = coati_elf_notes(&s->file.elf, bytes, size, seg->align);
	while (coati_elf_note_next(&notes, &note) > 0)
		if (note.type == ASK_NOTE && note.name_size == sizeof(NOTE) &&
		    !memcmp(note.name, NOTE, sizeof(NOTE)))
			return true;
	return false;
}

/* Is it a program that may lie anywhere, and has no interpreter? */
static bool is_static_pie(struct search *s, const struct elf_segment *dynamic)
{
	const uint8_t *bytes =
		may_look(s, dynamic->filesz)
			? coati_copy_bytes(&s->file, dynamic->offset, dynamic->filesz)
			: NULL;
	struct cursor c = cursor_over(bytes, bytes ? (size_t)dynamic->filesz : 0);

	while (cursor_left(&c) >= sizeof(Elf64_Dyn)) {
		uint64_t tag = cursor_u64(&c), value = cursor_u64(&c);

		if (tag == DT_FLAGS_1)
			return value & DF_1_PIE;
	}
	return false;
}

static void look_at_segments(struct search *s, struct label_place *ret)
{
	struct elf_segment seg;

	s->is_program = s->file.elf.type == ET_EXEC;
	for (uint32_t i = 0; i < s->file.elf.phnum; i++) {
		if (coati_elf_segment(&s->file.elf, i, &seg) < 0)
			continue;
		if (seg.type == PT_TLS)
			s->tls = seg;
		else if (seg.type == PT_NOTE)
			ret->has_tracer |= has_note(s, &seg);
		else if (seg.type == PT_INTERP ||
			 (seg.type == PT_DYNAMIC && is_static_pie(s, &seg)))
			s->is_program = true;
	}
}

/* ---- symbols ---- */

/* The variable in a table of symbols. */
static bool find_in(struct search *s, const struct elf_section *table)
{
	struct elf_section strings;
	struct elf_symbols walk;
	size_t size;

	if (coati_elf_section(&s->file.elf, table->link, &strings) < 0 ||
	    table->size > TABLE_BYTES || strings.size > NAMES_BYTES || !may_look(s, table->size) ||
	    !coati_copy_section(&s->file, &strings, &size) ||
	    !coati_copy_section(&s->file, table, &size) ||
	    coati_elf_symbols(&s->file.elf, table, &walk) < 0)
		return false;
	while (coati_elf_symbol_next(&walk, &s->symbol) > 0)
		if (s->symbol.type == STT_TLS && s->symbol.shndx != SHN_UNDEF &&
		    s->symbol.size == sizeof(uint64_t) && !strcmp(s->symbol.name, SYMBOL))
			return true;
	return false;
}

/* In the dynamic table; a program that does not export it may have it in the other one. */
static bool find_symbol(struct search *s)
{
	struct elf_section table;

	for (uint32_t i = 0; i < s->file.elf.shnum; i++)
		if (coati_elf_section(&s->file.elf, i, &table) == 0 && table.type == SHT_DYNSYM &&
		    find_in(s, &table))
			return true;
	return s->is_program && coati_elf_section_find(&s->file.elf, ".symtab", &table) > 0 &&
	       find_in(s, &table);
}

/* ---- where it lies ---- */

/* The thread-local block of a program ends at the thread pointer, at a multiple of its
 * alignment. */
static void place_in_program(const struct search *s, struct label_place *ret)
{
	uint64_t align = s->tls.align ? s->tls.align : 1, end = s->tls.vaddr + s->tls.memsz;

	if (align & (align - 1) || align > WALKER_LABELS_FAR || s->tls.memsz > WALKER_LABELS_FAR ||
	    s->symbol.value > s->tls.memsz)
		return;
	end = (end + align - 1) & ~(align - 1);
	*ret = (struct label_place){ .kind = WALKER_LABELS_AT,
				     .at = s->tls.vaddr + s->symbol.value - end,
				     .has_tracer = ret->has_tracer };
}

/* What the relocation asks for, where it will be in *@at. */
static enum walker_labels wanted(const struct search *s, uint64_t info, uint64_t addend,
				 uint64_t *at)
{
	uint32_t symbol = (uint32_t)(info >> 32);
	bool is_named = symbol == s->symbol.index && symbol && !addend;

	if (!is_named && (symbol || addend != s->symbol.value))
		return WALKER_LABELS_NONE;
	switch ((uint32_t)info) {
	case R_X86_64_TLSDESC:
		*at += 8; /* its function has nothing to do but add this word */
		return WALKER_LABELS_THROUGH;
	case R_X86_64_TPOFF64:
		return WALKER_LABELS_THROUGH;
	case R_X86_64_DTPMOD64: /* without a name it may be of another variable */
		return is_named ? WALKER_LABELS_MODULE : WALKER_LABELS_NONE;
	default:
		return WALKER_LABELS_NONE;
	}
}

/* A distance is better than the number of the library: true when there is one. */
static bool place_in_section(struct search *s, const struct elf_section *table,
			     struct label_place *ret)
{
	size_t size = 0;
	const uint8_t *bytes = table->size <= RELA_BYTES && may_look(s, table->size)
				       ? coati_copy_section(&s->file, table, &size)
				       : NULL;
	struct cursor c = cursor_over(bytes, bytes ? size : 0);

	while (cursor_left(&c) >= sizeof(Elf64_Rela)) {
		uint64_t at = cursor_u64(&c), info = cursor_u64(&c), addend = cursor_u64(&c);

		enum walker_labels kind = wanted(s, info, addend, &at);

		if (kind == WALKER_LABELS_NONE)
			continue;
		ret->kind = kind;
		ret->at = at;
		if (kind == WALKER_LABELS_THROUGH)
			return true;
	}
	return false;
}

static void place_in_library(struct search *s, struct label_place *ret)
{
	struct elf_section table;

	for (uint32_t i = 0; i < s->file.elf.shnum; i++)
		if (coati_elf_section(&s->file.elf, i, &table) == 0 && table.type == SHT_RELA &&
		    place_in_section(s, &table, ret))
			return;
}

void coati_label_place_find(struct coati_images *images, uint32_t image, struct label_place *ret)
{
	CLEANUP(fd_closep) int fd = coati_image_open_fd(images, image, NULL);
	CLEANUP(copy_closep) struct copy file = { .fd = -1 };
	struct search s = { .is_program = false };

	*ret = (struct label_place){ .kind = WALKER_LABELS_NONE };
	if (fd < 0 || coati_copy_open(&file, fd, "", NULL) < 0)
		return;
	TAKE_FD(fd);
	s.file = file;
	if (!file.elf.swap && file.elf.machine == EM_X86_64) {
		look_at_segments(&s, ret);
		if (s.tls.memsz && find_symbol(&s)) {
			if (s.is_program)
				place_in_program(&s, ret);
			else
				place_in_library(&s, ret);
		}
	}
	file = s.file; /* with what was read of it */
}
