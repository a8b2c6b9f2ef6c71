/* SPDX-License-Identifier: MIT */
/*
 * Functions of Go in which stacks begin or go on elsewhere: its unwind data describes them as if
 * they were called. Functions of musl that call main() and begin threads, which have no unwind
 * data. Only in files of Go and of musl are their names believed.
 */
#include "lib/test.h"

#include <elf.h>
#include <stdlib.h>

#include <coati/unwind.h>

#include "unit/cfi-builder.h"
#include "unit/elf-builder.h"
#include "unwind/unwinder.h"

static struct elf_builder elf;
static struct cfi_builder cfi;

#define PLAIN  (BUILDER_TEXT_VADDR)
#define GOEXIT (BUILDER_TEXT_VADDR + 16)
#define SWITCH (BUILDER_TEXT_VADDR + 32)
#define LAST   (BUILDER_TEXT_VADDR + 48)

static void make_file(const char *section)
{
	const struct elf_symbol syms[] = {
		{ .name = "main.main", .value = PLAIN, .size = 16, .type = STT_FUNC, .shndx = 1 },
		{ .name = "runtime.goexit.abi0",
		  .value = GOEXIT,
		  .size = 16,
		  .type = STT_FUNC,
		  .shndx = 1 },
		{ .name = "runtime.systemstack",
		  .value = SWITCH,
		  .size = 16,
		  .type = STT_FUNC,
		  .shndx = 1 },
		{ .name = "runtime.goexit0",
		  .value = LAST,
		  .size = 16,
		  .type = STT_FUNC,
		  .shndx = 1 },
	};

	cfi_builder_init(&cfi);
	cfi.is_debug = true;
	cfi.version = 3;
	cfi.letters = "";
	cfi.encoding = 0;
	cfi_builder_cie(&cfi, NULL, 0);
	for (uint64_t i = 0; i < 4; i++)
		cfi_builder_fde(&cfi, BUILDER_TEXT_VADDR + 16 * i, 16, NULL, 0);
	elf_builder_init(&elf, false);
	elf.machine = EM_X86_64;
	elf_builder_program(&elf);
	elf_builder_section(&elf, section, SHT_PROGBITS, "\0\0\0\0", 4);
	elf_builder_section(&elf, ".debug_frame", SHT_PROGBITS, cfi.bytes, cfi.at.len);
	elf_builder_symbols(&elf, false, syms, sizeof(syms) / sizeof(*syms));
	elf_builder_write(&elf, "program");
}

static void find_rules(uint8_t ret[4])
{
	struct coati_unwinder_opts opts = { .size = sizeof(opts),
					    .flags = COATI_UNWINDER_NO_CACHE };
	struct coati_image_ref ref = { .size = sizeof(ref), .path = "program" };
	struct coati_unwinder *u;
	struct coati_images *images;
	uint32_t image;

	CHECK_INT(setenv("XDG_CACHE_HOME", "/nonexistent", 1), ==, 0);
	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_OK(coati_unwinder_new(images, &opts, &u, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	CHECK_OK(coati_unwinder_prepare(u, image, NULL));
	for (uint64_t i = 0; i < 4; i++)
		ret[i] = table_unpack(table_find(&coati_unwinder_image(u, image)->table,
						 BUILDER_TEXT_VADDR + 16 * i + 4))
				 .cfa;
	coati_unwinder_free(&u);
	coati_images_free(&images);
}

static void rules_of(const char *section, uint8_t ret[4])
{
	make_file(section);
	find_rules(ret);
}

TEST(unwind_ends_in_the_functions_where_goroutines_begin)
{
	uint8_t cfa[4];

	rules_of(".gopclntab", cfa);
	CHECK_INT(cfa[0], ==, TABLE_CFA_SP);
	CHECK_INT(cfa[1], ==, TABLE_CFA_END);
	CHECK_INT(cfa[2], ==, TABLE_CFA_GAP);
	CHECK_INT(cfa[3], ==, TABLE_CFA_SP);
}

TEST(unwind_believes_the_names_of_go_only_in_its_files)
{
	uint8_t cfa[4];

	rules_of(".note", cfa);
	for (int i = 0; i < 4; i++)
		CHECK_INT(cfa[i], ==, TABLE_CFA_SP);
}

/* A static program: main has unwind data, and so has, when @described, what calls it. */
static void make_static(const char *caller, bool described)
{
	const struct elf_symbol syms[] = {
		{ .name = "main", .value = PLAIN, .size = 16, .type = STT_FUNC, .shndx = 1 },
		{ .name = caller, .value = GOEXIT, .size = 16, .type = STT_FUNC, .shndx = 1 },
		{ .name = "start", .value = SWITCH, .size = 8, .type = STT_FUNC, .shndx = 1 },
	};

	cfi_builder_init(&cfi);
	cfi.is_debug = true;
	cfi.version = 3;
	cfi.letters = "";
	cfi.encoding = 0;
	cfi_builder_cie(&cfi, NULL, 0);
	for (uint64_t i = 0; i < (described ? 2 : 1); i++)
		cfi_builder_fde(&cfi, BUILDER_TEXT_VADDR + 16 * i, 16, NULL, 0);
	elf_builder_init(&elf, false);
	elf.machine = EM_X86_64;
	elf.entry = LAST;
	elf_builder_program(&elf);
	elf_builder_section(&elf, ".debug_frame", SHT_PROGBITS, cfi.bytes, cfi.at.len);
	elf_builder_symbols(&elf, false, syms, sizeof(syms) / sizeof(*syms));
}

TEST(unwind_ends_in_what_calls_main_in_musl)
{
	uint8_t cfa[4];

	make_static("libc_start_main_stage2", false);
	elf_builder_write(&elf, "program");
	find_rules(cfa);
	CHECK_INT(cfa[0], ==, TABLE_CFA_SP);
	CHECK_INT(cfa[1], ==, TABLE_CFA_END);
	CHECK_INT(cfa[2], ==, TABLE_CFA_END);
	CHECK_INT(cfa[3], ==, TABLE_CFA_END); /* the entry point */
}

TEST(unwind_follows_what_calls_main_where_it_is_described)
{
	uint8_t cfa[4];

	make_static("libc_start_main_stage2", true);
	elf_builder_write(&elf, "program");
	find_rules(cfa);
	CHECK_INT(cfa[1], ==, TABLE_CFA_SP);
	CHECK_INT(cfa[2], ==, TABLE_CFA_END);
}

TEST(unwind_believes_the_names_of_musl_only_in_static_programs_with_it)
{
	uint8_t cfa[4];

	/* "start" and __libc_start_main are names of others, too */
	make_static("__libc_start_main", false);
	elf_builder_write(&elf, "program");
	find_rules(cfa);
	CHECK_INT(cfa[1], ==, TABLE_CFA_GAP);
	CHECK_INT(cfa[2], ==, TABLE_CFA_GAP);
	make_static("libc_start_main_stage2", false);
	elf.segments[elf.nr_segments++] = (struct elf_segment){ .type = PT_INTERP };
	elf_builder_write(&elf, "program");
	find_rules(cfa);
	CHECK_INT(cfa[1], ==, TABLE_CFA_GAP);
}
