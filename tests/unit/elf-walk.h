/* SPDX-License-Identifier: MIT */
/* Everything an ELF file can be asked, asked once: for mutated and random files. */
#pragma once

#include <elf.h>
#include <string.h>

#include "base/elf.h"

/* Reads each byte, so that a sanitizer sees a wrong range. */
static inline uint64_t elf_walk_bytes(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + p[i];
	return sum;
}

static inline uint64_t elf_walk_notes(struct elf_notes notes)
{
	struct elf_note n;
	uint64_t sum = 0;

	while (coati_elf_note_next(&notes, &n) > 0) {
		sum += elf_walk_bytes(n.name, n.name_size);
		sum += elf_walk_bytes(n.desc, n.desc_size);
	}
	return sum;
}

static inline uint64_t elf_walk_section(const struct elf *e, const struct elf_section *s)
{
	struct elf_symbols symbols;
	struct elf_symbol sym;
	uint64_t sum = strlen(s->name);
	size_t size;
	const uint8_t *bytes = coati_elf_section_bytes(e, s, &size);

	sum += elf_walk_bytes(bytes, size);
	sum += elf_walk_notes(coati_elf_notes(e, bytes, size, s->align));
	if (coati_elf_symbols(e, s, &symbols) < 0)
		return sum;
	while (coati_elf_symbol_next(&symbols, &sym) > 0)
		sum += strlen(sym.name) + sym.value + sym.type;
	return sum;
}

/* Only files whose sections are few and small enough to be walked in no time. */
static inline uint64_t elf_walk(const void *bytes, size_t size)
{
	struct elf_section s;
	struct elf_segment seg;
	uint8_t id[20];
	struct elf e;
	uint64_t sum = 0, offset;

	if (coati_elf_from_bytes(bytes, size, &e) < 0)
		return 0;
	for (uint32_t i = 0; i < e.phnum && coati_elf_segment(&e, i, &seg) == 0; i++)
		if (i < 64 && coati_elf_vaddr_to_offset(&e, seg.vaddr, &offset) == 0)
			sum += e.bytes[offset];
	for (uint32_t i = 0; i < e.shnum && i < 64 && coati_elf_section(&e, i, &s) == 0; i++)
		sum += elf_walk_section(&e, &s);
	sum += (uint64_t)coati_elf_section_find(&e, ".note.stapsdt", &s);
	sum += elf_walk_bytes(id, coati_elf_build_id(&e, id));
	coati_elf_close(&e);
	return sum;
}
