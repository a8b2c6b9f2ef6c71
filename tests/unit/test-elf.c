/* SPDX-License-Identifier: MIT */
/* ELF files: both byte orders, damage of every kind, and the files of this machine. */
#include "lib/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "unit/elf-builder.h"
#include "unit/elf-walk.h"

static const struct elf_symbol symbols[] = {
	{ .name = "first", .value = BUILDER_TEXT_VADDR, .size = 16, .type = STT_FUNC, .shndx = 1 },
	{ .name = "second",
	  .value = BUILDER_TEXT_VADDR + 16,
	  .size = 48,
	  .type = STT_FUNC,
	  .bind = STB_GLOBAL,
	  .shndx = 1 },
};

/* A program with two functions and a build id. */
static size_t build_sample(struct elf_builder *b, bool swap)
{
	static const uint8_t id[20] = { 0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10 };
	uint8_t notes[128];
	struct writer w = writer_over(notes, sizeof(notes));

	elf_builder_init(b, swap);
	elf_builder_program(b);
	w.swap = swap;
	elf_builder_note(&w, "Other", 7, "hello", 5);
	elf_builder_note(&w, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	elf_builder_section(b, ".note.gnu.build-id", SHT_NOTE, notes, w.len);
	elf_builder_symbols(b, false, symbols, 2);
	return elf_builder_finish(b);
}

/* Put a number into the built file where its header has one, in its byte order. */
static void poke(struct elf_builder *b, size_t offset, uint64_t value, size_t size)
{
	struct writer w = writer_over(b->bytes + offset, size);

	w.swap = b->at.swap;
	if (size == 2)
		writer_u16(&w, (uint16_t)value);
	else if (size == 4)
		writer_u32(&w, (uint32_t)value);
	else
		writer_u64(&w, value);
}

#define POKE(b, field, value) \
	poke((b), offsetof(Elf64_Ehdr, field), (value), sizeof(((Elf64_Ehdr *)NULL)->field))

/* Field of section header @i. */
#define POKE_SECTION(b, e, i, field, value)                                                    \
	poke((b), (size_t)(e)->shoff + (i) * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, field), \
	     (value), sizeof(((Elf64_Shdr *)NULL)->field))

TEST(elf_reads_the_same_from_both_byte_orders)
{
	for (int swap = 0; swap < 2; swap++) {
		struct elf_builder b;
		size_t size = build_sample(&b, swap);
		struct elf_section table;
		struct elf_symbols syms;
		struct elf_symbol s;
		uint64_t offset;
		struct elf e;

		CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
		CHECK_INT(e.swap, ==, swap);
		CHECK_INT(e.machine, ==, elf_builder_machine());
		CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
		CHECK_OK(coati_elf_symbols(&e, &table, &syms));
		for (int i = 0; i < 2; i++) {
			CHECK_INT(coati_elf_symbol_next(&syms, &s), ==, 1);
			CHECK_STR(s.name, symbols[i].name);
			CHECK_U64(s.value, ==, symbols[i].value);
			CHECK_U64(s.size, ==, symbols[i].size);
			CHECK_INT(s.bind, ==, symbols[i].bind);
			CHECK_INT(s.type, ==, STT_FUNC);
		}
		CHECK_INT(coati_elf_symbol_next(&syms, &s), ==, 0);
		CHECK_OK(coati_elf_vaddr_to_offset(&e, symbols[1].value, &offset));
		CHECK_U64(offset, ==, BUILDER_TEXT_OFFSET + 16);
	}
}

TEST(elf_build_id_is_found_behind_another_note)
{
	for (int swap = 0; swap < 2; swap++) {
		struct elf_builder b;
		size_t size = build_sample(&b, swap);
		uint8_t id[20];
		struct elf e;

		CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
		CHECK_U64(coati_elf_build_id(&e, id), ==, 20);
		CHECK_MEM(id, "\xab\xcd\3\4\5\6\7\10\11\12\0\0\0\0\0\0\0\0\0\0", 20);
	}
}

TEST(elf_build_id_is_found_through_segments_when_sections_are_gone)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	struct elf_section note;
	uint8_t id[20];
	struct elf e;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_INT(coati_elf_section_find(&e, ".note.gnu.build-id", &note), ==, 1);
	build_sample(&b, false);
	b.segments[b.nr_segments++] = (struct elf_segment){
		.type = PT_NOTE, .offset = note.offset, .filesz = note.size, .align = 4
	};
	b.nr_sections--; /* finish adds the names a second time */
	size = elf_builder_finish(&b);
	POKE(&b, e_shoff, 0);
	POKE(&b, e_shnum, 0);
	POKE(&b, e_shstrndx, 0);
	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_U64(e.shnum, ==, 0);
	CHECK_U64(coati_elf_build_id(&e, id), ==, 20);
	CHECK_INT(id[0], ==, 0xab);
}

TEST(elf_notes_aligned_to_eight_are_walked_to_their_end)
{
	uint8_t bytes[64] = { 0 };
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct elf e = { 0 };
	struct elf_notes notes;
	struct elf_note n;

	for (int i = 0; i < 2; i++) {
		writer_u32(&w, 4);
		writer_u32(&w, 4); /* four bytes, padded to eight */
		writer_u32(&w, 5 + (uint32_t)i);
		writer_text(&w, "GNU", 4);
		writer_u64(&w, 0x1122334455667788);
	}
	notes = coati_elf_notes(&e, bytes, w.len, 8);
	CHECK_INT(coati_elf_note_next(&notes, &n), ==, 1);
	CHECK_INT(n.type, ==, 5);
	CHECK_INT(coati_elf_note_next(&notes, &n), ==, 1);
	CHECK_INT(n.type, ==, 6);
	CHECK_INT(n.desc_size, ==, 4);
	CHECK_INT(coati_elf_note_next(&notes, &n), ==, 0);
}

TEST(elf_note_longer_than_its_section_is_malformed)
{
	uint8_t bytes[32] = { 0 };
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct elf e = { 0 };
	struct elf_notes notes;
	struct elf_note n;

	writer_u32(&w, 4);
	writer_u32(&w, 0xfffffff0);
	writer_u32(&w, 1);
	writer_text(&w, "GNU", 4);
	notes = coati_elf_notes(&e, bytes, w.len, 4);
	CHECK_ERR(coati_elf_note_next(&notes, &n), -EBADMSG);
	CHECK_ERR(coati_elf_note_next(&notes, &n), -EBADMSG);
}

TEST(elf_cut_at_every_length_is_refused_or_walked_without_reading_past_its_end)
{
	for (int swap = 0; swap < 2; swap++) {
		struct elf_builder b;
		size_t size = build_sample(&b, swap);

		for (size_t cut = 0; cut <= size; cut++) {
			uint8_t *copy = coati_alloc(cut); /* exact: a sanitizer guards its end */
			struct elf e;
			int r;

			CHECK(copy);
			memcpy(copy, b.bytes, cut);
			r = coati_elf_from_bytes(copy, cut, &e);
			CHECK_INT(r, ==, cut < sizeof(Elf64_Ehdr) ? -EBADMSG : 0);
			elf_walk(copy, cut);
			coati_free(copy);
		}
	}
}

TEST(elf_with_ten_thousand_mutations_never_reads_past_its_end)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	uint64_t sum = 0;

	for (int i = 0; i < 10000; i++) {
		uint8_t *copy = coati_alloc(size);
		uint64_t nr = 1 + test_random() % 8;

		CHECK(copy);
		memcpy(copy, b.bytes, size);
		for (uint64_t n = 0; n < nr; n++) {
			/* half of them in the headers, where the offsets are */
			uint64_t r = test_random();
			size_t at = r & 1   ? (r >> 1) % size
				    : r & 2 ? (r >> 2) % 0x120
					    : size - 1 - (r >> 2) % 0x240;

			copy[at] = (uint8_t)(r & 4 ? 0xff : test_random());
		}
		sum += elf_walk(copy, size);
		coati_free(copy);
	}
	test_note("sum %llx", (unsigned long long)sum);
}

TEST(elf_counts_beyond_sixteen_bits_come_from_section_zero)
{
	struct elf_builder b;
	size_t size = build_sample(&b, true);
	struct elf_section s;
	struct elf e, plain;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &plain));
	POKE(&b, e_phnum, PN_XNUM);
	POKE(&b, e_shnum, 0);
	POKE(&b, e_shstrndx, SHN_XINDEX);
	POKE_SECTION(&b, &plain, 0, sh_size, plain.shnum);
	POKE_SECTION(&b, &plain, 0, sh_info, plain.phnum);
	POKE_SECTION(&b, &plain, 0, sh_link, plain.shstrndx);
	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_U64(e.phnum, ==, plain.phnum);
	CHECK_U64(e.shnum, ==, plain.shnum);
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &s), ==, 1);
	POKE_SECTION(&b, &plain, 0, sh_size, UINT64_C(1) << 40);
	CHECK_ERR(coati_elf_from_bytes(b.bytes, size, &e), -E2BIG);
	POKE_SECTION(&b, &plain, 0, sh_size, plain.shnum);
	POKE_SECTION(&b, &plain, 0, sh_info, 0xffffffff);
	CHECK_ERR(coati_elf_from_bytes(b.bytes, size, &e), -E2BIG);
}

TEST(elf_of_32_bits_is_not_supported)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	struct elf e;

	b.bytes[EI_CLASS] = ELFCLASS32;
	CHECK_ERR(coati_elf_from_bytes(b.bytes, size, &e), -EOPNOTSUPP);
}

TEST(elf_string_table_without_a_last_zero_gives_no_names)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	struct elf_section table, strings;
	struct elf_symbols s;
	struct elf e;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
	CHECK_OK(coati_elf_section(&e, table.link, &strings));
	b.bytes[strings.offset + strings.size - 1] = 'x';
	CHECK_ERR(coati_elf_symbols(&e, &table, &s), -EBADMSG);
}

TEST(elf_table_of_more_symbols_than_the_ceiling_is_refused_at_once)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	struct elf_section table;
	struct elf_symbols s;
	struct elf e;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
	POKE_SECTION(&b, &e, table.index, sh_size, UINT64_MAX);
	CHECK_OK(coati_elf_section(&e, table.index, &table));
	CHECK_ERR(coati_elf_symbols(&e, &table, &s), -E2BIG);
}

TEST(elf_address_outside_of_every_segment_has_no_offset)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	uint64_t offset;
	struct elf e;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_ERR(coati_elf_vaddr_to_offset(&e, 0, &offset), -ENOENT);
	CHECK_ERR(coati_elf_vaddr_to_offset(&e, UINT64_MAX, &offset), -ENOENT);
	CHECK_OK(coati_elf_vaddr_to_offset(&e, BUILDER_DATA_VADDR + 63, &offset));
	/* in memory, but zeros that the file does not have */
	CHECK_ERR(coati_elf_vaddr_to_offset(&e, BUILDER_DATA_VADDR + 64, &offset), -ENOENT);
}

TEST(elf_section_that_lies_outside_has_no_bytes)
{
	struct elf_builder b;
	size_t size = build_sample(&b, false), got = 1;
	struct elf_section s;
	struct elf e;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_INT(coati_elf_section_find(&e, ".text", &s), ==, 1);
	CHECK(coati_elf_section_bytes(&e, &s, &got) == b.bytes + BUILDER_TEXT_OFFSET);
	s.offset = UINT64_MAX - 8;
	CHECK(!coati_elf_section_bytes(&e, &s, &got));
	CHECK_U64(got, ==, 0);
}

TEST(elf_open_refuses_what_is_no_regular_file_without_blocking)
{
	struct coati_error err = { 0 };
	struct elf e;

	CHECK_INT(mkfifo("fifo", 0600), ==, 0);
	CHECK_ERR(coati_elf_open("fifo", &e, &err), -EINVAL);
	CHECK_HAS(err.text, "fifo is not a regular file");
	CHECK_ERR(coati_elf_open("/dev/zero", &e, &err), -EINVAL);
	CHECK_ERR(coati_elf_open(".", &e, &err), -EINVAL);
	CHECK_ERR(coati_elf_open("missing", &e, &err), -ENOENT);
	CHECK_HAS(err.text, "missing");
}

TEST(elf_open_says_why_a_file_is_not_one)
{
	struct coati_error err = { 0 };
	struct elf e;
	int fd = open("text", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK_INT(fd, >=, 0);
	CHECK_ERR(coati_elf_open("text", &e, &err), -EBADMSG);
	CHECK_HAS(err.text, "text is too short");
	for (int i = 0; i < 10; i++)
		CHECK_INT(write(fd, "hello, world", 12), ==, 12);
	close(fd);
	CHECK_ERR(coati_elf_open("text", &e, &err), -EBADMSG);
	CHECK_HAS(err.text, "not an ELF file");
	CHECK_OK(truncate("text", 0));
	fd = open("text", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < 10; i++)
		CHECK_INT(write(fd, "#!/bin/sh\n", 10), ==, 10);
	close(fd);
	CHECK_ERR(coati_elf_open("text", &e, &err), -EBADMSG);
	CHECK_HAS(err.text, "text is a script");
	coati_elf_close(&e);
}

TEST(elf_of_a_hundred_sparse_gigabytes_is_refused_and_walked_in_bounded_time)
{
	struct coati_error err = { 0 };
	struct elf_builder b;
	size_t size = build_sample(&b, false);
	struct elf_section table;
	struct elf_symbols s;
	uint8_t id[20];
	struct elf e;
	void *map;
	int fd;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
	POKE_SECTION(&b, &e, table.index, sh_size, UINT64_C(100) << 30);
	/* the build id's section too: gigabytes of empty notes */
	POKE_SECTION(&b, &e, 3, sh_size, UINT64_C(90) << 30);
	fd = open("sparse", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	CHECK_INT(write(fd, b.bytes, size), ==, size);
	if (ftruncate(fd, INT64_C(101) << 30) < 0)
		test_skip("this file system has no files of 101 GiB");
	CHECK_ERR(coati_elf_open("sparse", &e, &err), -EFBIG);
	CHECK_HAS(err.text, "sparse has more than 1024 MiB");
	map = mmap(NULL, (size_t)101 << 30, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return; /* no room for it in this address space */
	CHECK_OK(coati_elf_from_bytes(map, (size_t)101 << 30, &e));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
	CHECK_ERR(coati_elf_symbols(&e, &table, &s), -E2BIG);
	CHECK_U64(coati_elf_build_id(&e, id), ==, 0);
	munmap(map, (size_t)101 << 30);
}

/* A linker writes the program again while we look at it. */
TEST(elf_that_is_shortened_after_it_was_opened_is_still_there)
{
	struct elf_section table;
	struct elf_symbols syms;
	struct elf_symbol s;
	struct elf_builder b;
	uint8_t id[20];
	struct elf e;
	int nr = 0;

	build_sample(&b, false);
	elf_builder_write(&b, "program");
	CHECK_OK(coati_elf_open("program", &e, NULL));
	CHECK_OK(truncate("program", 0));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
	CHECK_OK(coati_elf_symbols(&e, &table, &syms));
	while (coati_elf_symbol_next(&syms, &s) > 0)
		nr++;
	CHECK_INT(nr, >, 0);
	CHECK_U64(coati_elf_build_id(&e, id), >, 0);
	coati_elf_close(&e);
}

/* A function that the loader has put somewhere, found again in its file. */
static uint64_t find_function(const struct elf *e, const char *name)
{
	struct elf_section table;
	struct elf_symbols syms;
	struct elf_symbol s;

	if (coati_elf_section_find(e, ".dynsym", &table) != 1 ||
	    coati_elf_symbols(e, &table, &syms) < 0)
		return 0;
	while (coati_elf_symbol_next(&syms, &s) > 0)
		if (!strcmp(s.name, name) && s.shndx)
			return s.value;
	return 0;
}

TEST(elf_of_libc_has_a64l_where_the_loader_put_it)
{
	Dl_info info;
	uint64_t vaddr, offset;
	uint8_t id[20];
	struct elf e;

	if (!dladdr(dlsym(RTLD_DEFAULT, "a64l"), &info) || !info.dli_fname)
		test_skip("libc is linked statically");
	CHECK_OK(coati_elf_open(info.dli_fname, &e, NULL));
	vaddr = find_function(&e, "a64l");
	CHECK_U64(vaddr, ==, (uintptr_t)info.dli_saddr - (uintptr_t)info.dli_fbase);
	CHECK_OK(coati_elf_vaddr_to_offset(&e, vaddr, &offset));
	CHECK_MEM(e.bytes + offset, info.dli_saddr, 8);
	CHECK_U64(coati_elf_build_id(&e, id), >, 0);
	coati_elf_close(&e);
}

TEST(elf_of_this_program_has_this_test)
{
	struct elf_section table;
	struct elf_symbols syms;
	struct elf_symbol s;
	bool found = false;
	struct elf e;

	CHECK_OK(coati_elf_open("/proc/self/exe", &e, NULL));
	if (coati_elf_section_find(&e, ".symtab", &table) != 1)
		test_skip("this program is stripped");
	CHECK_OK(coati_elf_symbols(&e, &table, &syms));
	while (coati_elf_symbol_next(&syms, &s) > 0)
		found |= !strcmp(s.name, "test_case_elf_of_this_program_has_this_test");
	CHECK(found);
	coati_elf_close(&e);
}
