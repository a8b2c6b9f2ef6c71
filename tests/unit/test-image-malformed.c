/* SPDX-License-Identifier: MIT */
/*
 * Damaged files: a small whole one is taken apart in many ways, always the same; each must be
 * answered, with a name for every address and without a crash, and what is broken must be said
 * where names are lost by it.
 */
#include "lib/test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/image.h"
#include "unit/elf-builder.h"
#include "unit/image-ask.h"

#define TEXT BUILDER_TEXT_VADDR

/* With everything that is read: symbols, dynamic symbols, unwind data with and without a table, a
 * link, a small table, stubs. */
static size_t build(struct elf_builder *b)
{
	static const struct elf_symbol symbols[] = {
		{ .name = "first", .value = TEXT, .size = 16, .type = STT_FUNC, .shndx = 1 },
		{ .name = "_ZN3foo3barEv",
		  .value = TEXT + 16,
		  .size = 16,
		  .type = STT_FUNC,
		  .bind = STB_GLOBAL,
		  .shndx = 1 },
	};
	static const uint8_t frames[] = { 16, 0,    0,	0, 0,	 0, 0, 0, 1,  'z',  'R', 0,
					  1,  0x78, 16, 1, 0,	 0, 0, 0, 16, 0,    0,	 0,
					  24, 0,    0,	0, 0x40, 0, 0, 0, 0,  0x10, 0,	 0,
					  0,  0,    0,	0, 0,	 0, 0, 0, 0,  0 };
	static const uint8_t table[] = { 1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0,
					 0, 0,	  0, 0,	   0, 0, 0, 0, 0, 0 };
	static const uint8_t link[] = "missing.debug\0\0\0\1\2\3\4";
	static const uint8_t id[20] = { 1, 2, 3 };
	static const uint8_t stubs[] = { 0xff, 0x25, 0, 0x10, 0, 0, 0x68, 0,
					 0,    0,    0, 0xe9, 0, 0, 0,	  0 };
	uint8_t notes[64], rela[24] = { 0 };
	struct writer w = writer_over(notes, sizeof(notes));
	uint32_t i;

	elf_builder_init(b, false);
	elf_builder_program(b);
	elf_builder_note(&w, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	elf_builder_section(b, ".note.gnu.build-id", SHT_NOTE, notes, w.len);
	elf_builder_symbols(b, false, symbols, 2);
	i = elf_builder_symbols(b, true, symbols, 2);
	elf_builder_section(b, ".gnu_debuglink", SHT_PROGBITS, link, sizeof(link) - 1);
	elf_builder_section(b, ".gnu_debugdata", SHT_PROGBITS,
			    "\xfd"
			    "7zXZ",
			    6);
	b->sections[elf_builder_section(b, ".eh_frame", SHT_PROGBITS, frames, sizeof(frames))]
		.vaddr = TEXT + 0x1000;
	b->sections[elf_builder_section(b, ".eh_frame_hdr", SHT_PROGBITS, table, sizeof(table))]
		.vaddr = TEXT + 0x1800;
	rela[8] = R_X86_64_JUMP_SLOT;
	rela[12] = 1;
	b->sections[elf_builder_section(b, ".rela.plt", SHT_RELA, rela, sizeof(rela))].link = i;
	i = elf_builder_section(b, ".plt", SHT_PROGBITS, stubs, sizeof(stubs));
	b->sections[i].vaddr = TEXT + 0x100;
	b->sections[i].flags = SHF_ALLOC | SHF_EXECINSTR;
	return elf_builder_finish(b);
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);

	CHECK_OK(fd);
	CHECK_INT(write(fd, bytes, size), ==, (ssize_t)size);
	close(fd);
}

/* Ask everything; true when names were lost. */
static bool survives(const uint8_t *bytes, size_t size)
{
	struct coati_images *images =
		ask_new((struct coati_images_opts){ .debug_dirs = "/nonexistent" });
	bool lost = false;
	uint64_t vaddr;
	uint32_t image;

	write_bytes("damaged", bytes, size);
	image = ask_path(images, "damaged");
	for (uint64_t at = 0; at < 0x120; at += 8) {
		struct coati_address a =
			ask(images, image, TEXT + at, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES);

		CHECK(a.nr_names >= 1 && a.names[0].function);
		if (at < 32 && a.names[0].flags & COATI_NAME_SYNTHETIC)
			lost = true;
	}
	coati_image_vaddr(images, image, BUILDER_TEXT_OFFSET, &vaddr);
	if (lost)
		CHECK(*ask_why(images, image) || ask_info(images, image).opened);
	coati_images_free(&images);
	return lost;
}

TEST(malformed_is_not_what_the_whole_file_is)
{
	struct elf_builder b;
	size_t size = build(&b);

	CHECK(!survives(b.bytes, size));
}

TEST_LIMIT(malformed_files_cut_at_any_length_are_survived, 60)
{
	struct elf_builder b;
	size_t size = build(&b), nr = 0, lost = 0;

	for (size_t cut = 0; cut < size; cut += 1 + size / 160) {
		lost += survives(b.bytes, cut);
		nr++;
	}
	/* the section headers are at the end: without them no symbol is found */
	CHECK_U64(lost, ==, nr);
	CHECK_U64(nr, >=, 60);
}

TEST_LIMIT(malformed_headers_with_every_field_at_its_extremes_are_survived, 120)
{
	static const uint64_t extremes[] = { 0,		 1,	     0x7fffffff,
					     UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63 };
	struct elf_builder b;
	size_t size = build(&b), nr = 0;
	Elf64_Ehdr head;

	memcpy(&head, b.bytes, sizeof(head));
	for (size_t i = 0; i < head.e_shnum; i++) {
		for (size_t field = 0; field < sizeof(Elf64_Shdr); field += 8) {
			size_t at = head.e_shoff + i * sizeof(Elf64_Shdr) + field;
			uint64_t kept, value = extremes[(i * 8 + field / 8) % 6];

			memcpy(&kept, b.bytes + at, sizeof(kept));
			memcpy(b.bytes + at, &value, sizeof(value));
			survives(b.bytes, size);
			memcpy(b.bytes + at, &kept, sizeof(kept));
			nr++;
		}
	}
	CHECK_U64(nr, >=, 60);
}

TEST_LIMIT(malformed_bytes_anywhere_are_survived, 120)
{
	struct elf_builder b;
	size_t size = build(&b);

	for (size_t at = 0; at < size; at += 1 + size / 300) {
		uint8_t kept = b.bytes[at];

		b.bytes[at] = (uint8_t)(kept ^ (0xff >> (at % 3)));
		survives(b.bytes, size);
		b.bytes[at] = kept;
	}
}

TEST(malformed_symbol_tables_are_said_to_be_damaged)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_builder b;
	size_t size = build(&b);
	struct elf_section s;
	struct elf e;
	uint64_t huge = UINT64_C(1) << 40;

	CHECK_OK(coati_elf_from_bytes(b.bytes, size, &e));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &s), ==, 1);
	memcpy(b.bytes + e.shoff + s.index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
	       &huge, sizeof(huge));
	write_bytes("damaged", b.bytes, size);
	/* the dynamic symbols are still there */
	CHECK_STR(ask_name(images, ask_path(images, "damaged"), TEXT).function, "first");
	CHECK_HAS(ask_why(images, ask_path(images, "damaged")), ".symtab is damaged");
	coati_images_free(&images);
}

TEST_LIMIT(malformed_or_not_every_allocation_may_fail, 60)
{
	struct elf_builder b;
	size_t size = build(&b);
	bool done = false;

	write_bytes("program", b.bytes, size);
	for (uint64_t n = 0; n < 400 && !done; n++) {
		struct coati_address a = { .vaddr = TEXT + 20 };
		struct coati_image_ref ref = { .size = sizeof(ref), .path = "program" };
		struct coati_images *images = NULL;
		int r;

		coati_alloc_fail_after(n);
		r = coati_images_new(NULL, &images, NULL);
		if (r == 0)
			r = coati_images_get(images, &ref, &a.image, NULL);
		if (r == 0)
			r = coati_images_resolve(images, &a, 1, COATI_RESOLVE_LINES, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		/* one image without memory has addresses without names, and says so */
		if (r == 0 && !strcmp(a.names[0].function, "[out of memory]"))
			CHECK_HAS(ask_why(images, a.image), "no memory");
		else
			done = r == 0;
		coati_images_free(&images);
	}
	CHECK(done);
}
