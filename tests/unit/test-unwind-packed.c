/* SPDX-License-Identifier: MIT */
/*
 * Unwind data that lies compressed in its file: in both ways of writing it and by both methods it
 * gives the rows of the plain one; what is damaged, or claims to be huge, leaves the file without
 * these rows and does no other harm.
 */
#include "lib/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>

#include <coati/unwind.h>

#include "unit/cfi-builder.h"
#include "unit/elf-builder.h"
#include "unwind/unwinder.h"

#define ZSTD_KIND 2

static struct elf_builder elf;
static struct cfi_builder cfi;

/* Two functions: 24 bytes from the second byte on, and 40. */
static void make_cfi(void)
{
	static const uint8_t push16[] = { 0x41, 0x0e, 24 }, push32[] = { 0x41, 0x0e, 40 };

	cfi_builder_init(&cfi);
	cfi.is_debug = true;
	cfi.version = 3;
	cfi.letters = "";
	cfi.encoding = 0;
	cfi_builder_cie(&cfi, NULL, 0);
	cfi_builder_fde(&cfi, BUILDER_TEXT_VADDR, 32, push16, sizeof(push16));
	cfi_builder_fde(&cfi, BUILDER_TEXT_VADDR + 32, 32, push32, sizeof(push32));
}

static uint32_t adler32(const uint8_t *bytes, size_t size)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < size; i++) {
		a = (a + bytes[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

/* One stored block in the frame of zlib. */
static void put_zlib(struct writer *w)
{
	uint32_t sum = adler32(cfi.bytes, cfi.at.len);

	writer_u8(w, 0x78);
	writer_u8(w, 0x01);
	writer_u8(w, 1);
	writer_u16(w, (uint16_t)cfi.at.len);
	writer_u16(w, (uint16_t)~cfi.at.len);
	writer_bytes(w, cfi.bytes, cfi.at.len);
	for (int shift = 24; shift >= 0; shift -= 8)
		writer_u8(w, (uint8_t)(sum >> shift));
}

/* One raw block in the frame of zstd; the size is one byte. */
static void put_zstd(struct writer *w)
{
	uint32_t head = 1 | (uint32_t)cfi.at.len << 3;

	CHECK_INT(cfi.at.len, <, 256);
	writer_u32(w, 0xfd2fb528);
	writer_u8(w, 0x20);
	writer_u8(w, (uint8_t)cfi.at.len);
	writer_u8(w, (uint8_t)head);
	writer_u8(w, (uint8_t)(head >> 8));
	writer_u8(w, (uint8_t)(head >> 16));
	writer_bytes(w, cfi.bytes, cfi.at.len);
}

struct packing {
	const char *name;
	uint64_t flags;
	uint32_t kind;
	uint64_t size; /* that the header claims */
};

static size_t pack(const struct packing *p, uint8_t *out, size_t cap)
{
	struct writer w = writer_over(out, cap);

	if (p->flags & SHF_COMPRESSED) {
		writer_u32(&w, p->kind);
		writer_u32(&w, 0);
		writer_u64(&w, p->size);
		writer_u64(&w, 8);
	} else if (!strcmp(p->name, ".zdebug_frame")) {
		writer_bytes(&w, "ZLIB", 4);
		for (int shift = 56; shift >= 0; shift -= 8)
			writer_u8(&w, (uint8_t)(p->size >> shift));
	} else {
		writer_bytes(&w, cfi.bytes, cfi.at.len);
		return w.len;
	}
	if (p->kind == ZSTD_KIND)
		put_zstd(&w);
	else
		put_zlib(&w);
	CHECK(!w.full);
	return w.len;
}

/* The offset of the stack pointer to the caller's, by the rules at two places of each function; 0:
 * no such rule. */
static void offsets_of(const uint8_t *bytes, size_t size, const struct packing *p, int ret[4])
{
	static const uint64_t at[4] = { 0, 8, 32, 40 };
	struct coati_unwinder_opts opts = { .size = sizeof(opts),
					    .flags = COATI_UNWINDER_NO_CACHE };
	struct coati_image_ref ref = { .size = sizeof(ref), .path = "packed" };
	struct coati_unwinder *u;
	struct coati_images *images;
	uint32_t image, section;

	elf_builder_init(&elf, false);
	elf.machine = EM_X86_64;
	elf_builder_program(&elf);
	section = elf_builder_section(&elf, p->name, SHT_PROGBITS, bytes, size);
	elf.sections[section].flags = p->flags;
	elf_builder_write(&elf, "packed");
	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_OK(coati_unwinder_new(images, &opts, &u, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	CHECK_OK(coati_unwinder_prepare(u, image, NULL));
	for (int i = 0; i < 4; i++) {
		struct table_rule r = table_unpack(table_find(
			&coati_unwinder_image(u, image)->table, BUILDER_TEXT_VADDR + at[i]));

		ret[i] = r.cfa == TABLE_CFA_SP ? r.cfa_off : 0;
	}
	coati_unwinder_free(&u);
	coati_images_free(&images);
}

/* A cross-built program has neither beside it. */
static void need_libraries(void)
{
	if (!dlopen("libz.so.1", RTLD_NOW) || !dlopen("libzstd.so.1", RTLD_NOW))
		test_skip("zlib or zstd is not installed");
}

TEST(unwind_reads_compressed_debug_frames_as_plain_ones)
{
	uint8_t bytes[1024];
	const char *broken = NULL;

	need_libraries();
	CHECK_INT(setenv("XDG_CACHE_HOME", "/nonexistent", 1), ==, 0);
	make_cfi();
	const struct packing packings[] = {
		{ ".debug_frame", 0, 0, 0 },
		{ ".debug_frame", SHF_COMPRESSED, ELFCOMPRESS_ZLIB, cfi.at.len },
		{ ".debug_frame", SHF_COMPRESSED, ZSTD_KIND, cfi.at.len },
		{ ".zdebug_frame", 0, ELFCOMPRESS_ZLIB, cfi.at.len },
	};
	for (size_t i = 0; i < sizeof(packings) / sizeof(*packings); i++) {
		size_t size = pack(&packings[i], bytes, sizeof(bytes));
		int got[4];

		offsets_of(bytes, size, &packings[i], got);
		if (got[0] != 8 || got[1] != 24 || got[2] != 8 || got[3] != 40) {
			test_note("packing %zu: %d %d %d %d", i, got[0], got[1], got[2], got[3]);
			broken = packings[i].name;
		}
	}
	CHECK(!broken);
}

TEST(unwind_stands_every_damage_to_compressed_debug_frames)
{
	uint8_t bytes[1024];
	int got[4];

	CHECK_INT(setenv("XDG_CACHE_HOME", "/nonexistent", 1), ==, 0);
	make_cfi();
	const struct packing huge = { ".debug_frame", SHF_COMPRESSED, ELFCOMPRESS_ZLIB,
				      UINT64_C(1) << 40 };
	const struct packing fine = { ".debug_frame", SHF_COMPRESSED, ELFCOMPRESS_ZLIB,
				      cfi.at.len };
	const struct packing other = { ".debug_frame", SHF_COMPRESSED, 77, cfi.at.len };
	size_t size = pack(&huge, bytes, sizeof(bytes));

	offsets_of(bytes, size, &huge, got);
	CHECK_INT(got[1], ==, 0);
	size = pack(&other, bytes, sizeof(bytes));
	offsets_of(bytes, size, &other, got);
	CHECK_INT(got[1], ==, 0);
	size = pack(&fine, bytes, sizeof(bytes));
	for (size_t cut = 1; cut < size; cut += 5) {
		offsets_of(bytes, cut, &fine, got);
		CHECK_INT(got[1], ==, 0);
	}
	for (size_t i = 24; i < size; i++) {
		bytes[i] ^= 0x04;
		offsets_of(bytes, size, &fine, got);
		CHECK_INT(got[1], ==, 0); /* the checksum sees it */
		bytes[i] ^= 0x04;
	}
}
