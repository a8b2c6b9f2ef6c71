/* SPDX-License-Identifier: MIT */
/* Small ELF files made by hand; see the header. */
#include "unit/elf-builder.h"

#include <elf.h>
#include <stdio.h>

#include "lib/test.h"

uint16_t elf_builder_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

void elf_builder_init(struct elf_builder *b, bool swap)
{
	memset(b, 0, sizeof(*b));
	b->at = writer_over(b->bytes, sizeof(b->bytes));
	b->at.swap = swap;
	b->names = writer_over(b->name_bytes, sizeof(b->name_bytes));
	b->type = ET_DYN;
	b->machine = elf_builder_machine();
	b->entry = BUILDER_TEXT_VADDR;
	writer_zeros(&b->at, sizeof(Elf64_Ehdr) + BUILDER_SEGMENTS_MAX * sizeof(Elf64_Phdr));
	writer_u8(&b->names, 0);
	b->nr_sections = 1;
}

static void align_to(struct writer *w, size_t align)
{
	writer_zeros(w, (align - (w->len & (align - 1))) & (align - 1));
}

uint32_t elf_builder_section(struct elf_builder *b, const char *name, uint32_t type,
			     const void *bytes, size_t size)
{
	uint32_t i = b->nr_sections++;

	CHECK_INT(i, <, BUILDER_SECTIONS_MAX);
	b->name_offsets[i] = (uint32_t)b->names.len;
	writer_text(&b->names, name, 1);
	align_to(&b->at, 8);
	b->sections[i] =
		(struct elf_section){ .type = type, .offset = b->at.len, .size = size, .align = 8 };
	if (type == SHT_NOTE)
		b->sections[i].align = 4;
	if (bytes)
		writer_bytes(&b->at, bytes, size);
	else
		writer_zeros(&b->at, size);
	return i;
}

uint32_t elf_builder_symbols(struct elf_builder *b, bool dynamic, const struct elf_symbol *syms,
			     size_t nr)
{
	char strings[1024];
	uint8_t table[2048];
	struct writer s = writer_over(strings, sizeof(strings));
	struct writer t = writer_over(table, sizeof(table));
	uint32_t strtab, i;

	t.swap = b->at.swap;
	writer_u8(&s, 0);
	writer_zeros(&t, sizeof(Elf64_Sym));
	for (size_t n = 0; n < nr; n++) {
		writer_u32(&t, (uint32_t)s.len);
		writer_u8(&t, (uint8_t)ELF64_ST_INFO(syms[n].bind, syms[n].type));
		writer_u8(&t, 0);
		writer_u16(&t, syms[n].shndx);
		writer_u64(&t, syms[n].value);
		writer_u64(&t, syms[n].size);
		writer_text(&s, syms[n].name, 1);
	}
	CHECK(!s.full && !t.full);
	strtab =
		elf_builder_section(b, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, strings, s.len);
	i = elf_builder_section(b, dynamic ? ".dynsym" : ".symtab",
				dynamic ? SHT_DYNSYM : SHT_SYMTAB, table, t.len);
	b->sections[i].link = strtab;
	b->sections[i].entsize = sizeof(Elf64_Sym);
	return i;
}

void elf_builder_note(struct writer *w, const char *name, uint32_t type, const void *desc,
		      size_t size)
{
	writer_u32(w, (uint32_t)strlen(name) + 1);
	writer_u32(w, (uint32_t)size);
	writer_u32(w, type);
	writer_text(w, name, 4);
	writer_bytes(w, desc, size);
	align_to(w, 4);
}

void elf_builder_usdt_note(struct writer *w, const struct elf_builder_usdt *u)
{
	uint8_t desc[512];
	struct writer d = writer_over(desc, sizeof(desc));

	d.swap = w->swap;
	writer_u64(&d, u->pc);
	writer_u64(&d, u->base);
	writer_u64(&d, u->semaphore);
	writer_text(&d, u->provider, 1);
	writer_text(&d, u->name, 1);
	writer_text(&d, u->args, 1);
	CHECK(!d.full);
	elf_builder_note(w, "stapsdt", 3, desc, d.len);
}

uint32_t elf_builder_program(struct elf_builder *b)
{
	static const uint8_t text[64] = { 0xc3 };
	uint32_t i;

	writer_zeros(&b->at, BUILDER_TEXT_OFFSET - b->at.len);
	i = elf_builder_section(b, ".text", SHT_PROGBITS, text, sizeof(text));
	b->sections[i].vaddr = BUILDER_TEXT_VADDR;
	b->sections[i].flags = SHF_ALLOC | SHF_EXECINSTR;
	elf_builder_section(b, ".data", SHT_PROGBITS, NULL, 64);
	b->sections[i + 1].vaddr = BUILDER_DATA_VADDR;
	b->sections[i + 1].flags = SHF_ALLOC | SHF_WRITE;
	b->segments[b->nr_segments++] =
		(struct elf_segment){ .type = PT_LOAD,
				      .flags = PF_R | PF_X,
				      .vaddr = BUILDER_TEXT_VADDR - BUILDER_TEXT_OFFSET,
				      .filesz = BUILDER_TEXT_OFFSET + 64,
				      .memsz = BUILDER_TEXT_OFFSET + 64,
				      .align = 4096 };
	b->segments[b->nr_segments++] = (struct elf_segment){ .type = PT_LOAD,
							      .flags = PF_R | PF_W,
							      .offset = BUILDER_TEXT_OFFSET + 64,
							      .vaddr = BUILDER_DATA_VADDR,
							      .filesz = 64,
							      .memsz = 4096,
							      .align = 4096 };
	return i;
}

static void write_section(struct writer *w, uint32_t name, const struct elf_section *s)
{
	writer_u32(w, name);
	writer_u32(w, s->type);
	writer_u64(w, s->flags);
	writer_u64(w, s->vaddr);
	writer_u64(w, s->offset);
	writer_u64(w, s->size);
	writer_u32(w, s->link);
	writer_u32(w, s->info);
	writer_u64(w, s->align);
	writer_u64(w, s->entsize);
}

static void write_segment(struct writer *w, const struct elf_segment *s)
{
	writer_u32(w, s->type);
	writer_u32(w, s->flags);
	writer_u64(w, s->offset);
	writer_u64(w, s->vaddr);
	writer_u64(w, s->vaddr);
	writer_u64(w, s->filesz);
	writer_u64(w, s->memsz);
	writer_u64(w, s->align);
}

static void write_header(struct elf_builder *b, uint64_t shoff, uint32_t shstrndx)
{
	bool little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != b->at.swap;
	struct writer w = writer_over(b->bytes, sizeof(b->bytes));

	w.swap = b->at.swap;
	writer_bytes(&w, ELFMAG, SELFMAG);
	writer_u8(&w, ELFCLASS64);
	writer_u8(&w, little ? ELFDATA2LSB : ELFDATA2MSB);
	writer_u8(&w, EV_CURRENT);
	writer_zeros(&w, EI_NIDENT - 7);
	writer_u16(&w, b->type);
	writer_u16(&w, b->machine);
	writer_u32(&w, EV_CURRENT);
	writer_u64(&w, b->entry);
	writer_u64(&w, sizeof(Elf64_Ehdr));
	writer_u64(&w, shoff);
	writer_u32(&w, 0);
	writer_u16(&w, sizeof(Elf64_Ehdr));
	writer_u16(&w, sizeof(Elf64_Phdr));
	writer_u16(&w, (uint16_t)b->nr_segments);
	writer_u16(&w, sizeof(Elf64_Shdr));
	writer_u16(&w, (uint16_t)b->nr_sections);
	writer_u16(&w, (uint16_t)shstrndx);
	for (uint32_t i = 0; i < b->nr_segments; i++)
		write_segment(&w, &b->segments[i]);
}

size_t elf_builder_finish(struct elf_builder *b)
{
	uint32_t shstrndx = elf_builder_section(b, ".shstrtab", SHT_STRTAB, NULL, 0);
	uint64_t shoff;

	b->sections[shstrndx].size = b->names.len;
	writer_bytes(&b->at, b->name_bytes, b->names.len);
	align_to(&b->at, 8);
	shoff = b->at.len;
	for (uint32_t i = 0; i < b->nr_sections; i++)
		write_section(&b->at, b->name_offsets[i], &b->sections[i]);
	CHECK(!b->at.full && !b->names.full);
	write_header(b, shoff, shstrndx);
	return b->at.len;
}

void elf_builder_write(struct elf_builder *b, const char *path)
{
	size_t size = elf_builder_finish(b);
	FILE *f = fopen(path, "we");

	CHECK(f);
	CHECK_U64(fwrite(b->bytes, 1, size, f), ==, size);
	CHECK_INT(fclose(f), ==, 0);
}
