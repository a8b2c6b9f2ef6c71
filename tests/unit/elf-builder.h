/* SPDX-License-Identifier: MIT */
/*
 * Small ELF files made by hand, in either byte order: sections are added one by one, the headers
 * are written last. Room for a few kilobytes; what does not fit fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf.h"
#include "base/writer.h"

#define BUILDER_SECTIONS_MAX 16
#define BUILDER_SEGMENTS_MAX 4
/* Where the text of elf_builder_program() is in the file and in memory. */
#define BUILDER_TEXT_OFFSET 0x200
#define BUILDER_TEXT_VADDR  0x401200
#define BUILDER_DATA_VADDR  0x602240

struct elf_builder {
	uint8_t bytes[16384];
	struct writer at;
	struct writer names; /* of the sections */
	char name_bytes[512];
	uint16_t type, machine;
	uint64_t entry;
	struct elf_section sections[BUILDER_SECTIONS_MAX];
	uint32_t name_offsets[BUILDER_SECTIONS_MAX];
	uint32_t nr_sections;
	struct elf_segment segments[BUILDER_SEGMENTS_MAX];
	uint32_t nr_segments;
};

/* The machine this is compiled for (EM_*). */
uint16_t elf_builder_machine(void);
void elf_builder_init(struct elf_builder *b, bool swap);
/* Append @size bytes as a section and return its index. vaddr, link and the like are set afterwards
 * in b->sections[index]. */
uint32_t elf_builder_section(struct elf_builder *b, const char *name, uint32_t type,
			     const void *bytes, size_t size);
/* A symbol table and, in front of it, its strings. Returns the index of the table. */
uint32_t elf_builder_symbols(struct elf_builder *b, bool dynamic, const struct elf_symbol *syms,
			     size_t nr);
/* Write one note. */
void elf_builder_note(struct writer *w, const char *name, uint32_t type, const void *desc,
		      size_t size);
/* Write one USDT note. */
struct elf_builder_usdt {
	uint64_t pc, base, semaphore;
	const char *provider, *name, *args;
};
void elf_builder_usdt_note(struct writer *w, const struct elf_builder_usdt *u);
/* 64 bytes of text and 64 of data, each in its loadable segment (0x200 in the file for the text,
 * the data behind it). Returns the index of the text section; the data follows it. */
uint32_t elf_builder_program(struct elf_builder *b);
/* Write the headers; returns the size of the file in b->bytes. */
size_t elf_builder_finish(struct elf_builder *b);
/* The same into a file. */
void elf_builder_write(struct elf_builder *b, const char *path);
