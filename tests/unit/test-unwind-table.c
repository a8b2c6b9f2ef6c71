/* SPDX-License-Identifier: MIT */
/* Tables of unwind data made by hand: every instruction, every form of entry, stubs, and damage of
 * every kind. */
#include "lib/test.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "unit/cfi-builder.h"
#include "unwind/table/walk.h"

#define TEXT_MAX 4096

/* One function of 0x40 bytes with these instructions, as rows. */
static void check_program(uint32_t machine, const void *program, size_t size, const char *want)
{
	static struct cfi_builder b;
	static char text[TEXT_MAX];
	struct table_input in;

	cfi_builder_init(&b);
	b.machine = machine;
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, size);
	cfi_builder_input(&b, &in);
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, want);
}

#define PROGRAM(want, ...)                                                  \
	do {                                                                \
		static const uint8_t program_[] = { __VA_ARGS__ };          \
		check_program(EM_X86_64, program_, sizeof(program_), want); \
	} while (0)
#define PROGRAM_ARM64(want, ...)                                             \
	do {                                                                 \
		static const uint8_t program_[] = { __VA_ARGS__ };           \
		check_program(EM_AARCH64, program_, sizeof(program_), want); \
	} while (0)

TEST(table_follows_instructions_that_advance)
{
	PROGRAM("0 sp+8; 1 sp+16; 40 gap", 0x41, 0x0e, 16);
	PROGRAM("0 sp+8; 5 sp+16; 40 gap", 0x02, 5, 0x0e, 16);
	PROGRAM("0 sp+8; 6 sp+16; 40 gap", 0x03, 6, 0, 0x0e, 16);
	PROGRAM("0 sp+8; 7 sp+16; 40 gap", 0x04, 7, 0, 0, 0, 0x0e, 16);
	PROGRAM("0 sp+8; 8 sp+16; 40 gap", 0x1d, 8, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16);
}

TEST(table_follows_instructions_about_the_cfa)
{
	PROGRAM("0 fp+16; 40 gap", 0x0c, 6, 16);
	PROGRAM("0 sp+8; 1 fp+8; 40 gap", 0x41, 0x0d, 6);
	PROGRAM("0 sp+24; 40 gap", 0x12, 7, 0x7d); /* def_cfa_sf: -3 * -8 */
	PROGRAM("0 sp+16; 40 gap", 0x13, 0x7e);
	PROGRAM("0 r10+0; 40 gap", 0x0c, 10, 0);
	PROGRAM("0 sp+16384; 40 gap", 0x0e, 0x80, 0x80, 0x01);
}

TEST(table_follows_where_registers_are)
{
	PROGRAM("0 sp+8 fp@c-16; 40 gap", 0x86, 2);
	PROGRAM("0 sp+8 bx@c-24; 40 gap", 0x83, 3);
	PROGRAM("0 sp+8; 40 gap", 0x8c, 4); /* r12 is nobody's business */
	PROGRAM("0 sp+8 fp@c-16; 40 gap", 0x05, 6, 2);
	PROGRAM("0 sp+8 fp@c+16; 40 gap", 0x11, 6, 0x7e);
	PROGRAM("0 sp+8 fp@c+16; 40 gap", 0x2f, 6, 2);
	PROGRAM("0 sp+8 fp@c-16; 1 sp+8; 40 gap", 0x86, 2, 0x41, 0xc6);
	PROGRAM("0 sp+8 fp@c-16; 1 sp+8; 40 gap", 0x86, 2, 0x41, 0x06, 6);
	PROGRAM("0 sp+8 fp@c-16; 1 sp+8; 40 gap", 0x86, 2, 0x41, 0x08, 6);
	PROGRAM("0 sp+8 fp?; 40 gap", 0x07, 6);
	PROGRAM("0 sp+8 bx?; 40 gap", 0x09, 3, 12);
}

TEST(table_follows_remember_and_restore_in_depth)
{
	PROGRAM("0 sp+8; 1 sp+16 fp@c-16; 2 sp+8; 3 sp+16 fp@c-16; 40 gap", 0x41, 0x0e, 16, 0x86, 2,
		0x0a, 0x41, 0x0e, 8, 0xc6, 0x41, 0x0b);
	PROGRAM("0 sp+16; 1 sp+24; 2 sp+32; 3 sp+24; 4 sp+16; 40 gap", 0x0e, 16, 0x0a, 0x41, 0x0e,
		24, 0x0a, 0x41, 0x0e, 32, 0x41, 0x0b, 0x41, 0x0b);
}

TEST(table_knows_the_expressions_that_occur)
{
	/* *(rbp - 8), rbp at *(rbp + 0): a realigned frame */
	PROGRAM("0 *(fp-8)+0 fp@fp+0; 40 gap", 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
	/* *(rsp + 40) + 8: hand-written crypto */
	PROGRAM("0 *(sp+40)+8; 40 gap", 0x0f, 5, 0x77, 40, 0x06, 0x23, 8);
	PROGRAM("0 plt11+8; 40 gap", 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		0x22);
	PROGRAM("0 plt10+8; 40 gap", 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24,
		0x22);
	PROGRAM("0 fp+32; 40 gap", 0x0f, 2, 0x76, 32);
	PROGRAM("0 sp+32; 40 gap", 0x0f, 3, 0x92, 7, 32);
	PROGRAM("0 sp+8 bx@fp-16; 40 gap", 0x10, 3, 2, 0x76, 0x70);
	PROGRAM("0 sp+8 fp@sp+8; 40 gap", 0x10, 6, 2, 0x77, 8);
}

/* With so many nops in front, one of them is the last byte of its entry. */
TEST(table_reads_an_expression_up_to_the_end_of_its_entry)
{
	uint8_t program[12] = { 0 };

	for (size_t nops = 0; nops < 8; nops++) {
		memcpy(program + nops, (const uint8_t[]){ 0x0f, 2, 0x76, 32 }, 4);
		check_program(EM_X86_64, program, nops + 4, "0 fp+32; 40 gap");
		program[nops] = 0;
	}
}

TEST(table_says_unsupported_for_what_a_rule_cannot_say)
{
	PROGRAM("0 unsupported; 40 gap", 0x0f, 4, 0x77, 8, 0x06, 0x06); /* twice through memory */
	PROGRAM("0 unsupported; 40 gap", 0x0f, 5, 0x77, 40, 0x06, 0x23, 9); /* odd */
	PROGRAM("0 unsupported; 40 gap", 0x0f, 3, 0x7a, 0, 0x06);	    /* memory at r10 */
	PROGRAM("0 unsupported; 40 gap", 0x90, 2);	       /* return address at c-16 */
	PROGRAM("0 unsupported; 40 gap", 0x16, 6, 2, 0x76, 0); /* value of rbp is an expression */
	PROGRAM("0 unsupported; 40 gap", 0x09, 6, 12);	       /* rbp is in r12 */
	PROGRAM("0 unsupported; 40 gap", 0x14, 7, 1);	       /* caller's rsp is not the CFA */
	PROGRAM("0 sp+8; 40 gap", 0x14, 7, 0);
	PROGRAM("0 unsupported; 40 gap", 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08); /* 2 GiB of frame */
	PROGRAM("0 unsupported; 40 gap", 0x86, 0x80, 0x80, 0x80, 0x40);
}

TEST(table_knows_the_end_and_return_addresses_in_registers)
{
	PROGRAM("0 end; 40 gap", 0x07, 16);
	PROGRAM("0 sp+8; 1 sp+0 ra=r5; 40 gap", 0x41, 0x0e, 0, 0x09, 16, 5); /* vfork */
}

TEST(table_stops_believing_a_damaged_program_where_it_is_damaged)
{
	PROGRAM("0 sp+8; 1 sp+16; 2 unsupported; 40 gap", 0x41, 0x0e, 16, 0x42 - 1, 0x3f);
	PROGRAM("0 unsupported; 40 gap", 0x0b);		 /* restore without remember */
	PROGRAM("0 unsupported; 40 gap", 0x0f, 0x7f, 1); /* a block that is longer than all */
	PROGRAM("0 sp+8; 40 gap", 0x7f, 0x7f, 0x0e, 16); /* rows behind the function */
	PROGRAM("0 sp+8; 4 sp+16; 40 gap", 0x44, 0x0e, 16, 0x01, 0, 0, 0, 0, 0x0e,
		24); /* set_loc elsewhere */
}

TEST(table_of_arm64_follows_the_link_register)
{
	PROGRAM_ARM64("0 sp+0; 40 gap", 0);
	PROGRAM_ARM64("0 sp+0; 4 sp+32 fp@c-32 ra@c-24; 40 gap", 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3);
	PROGRAM_ARM64("0 fp+16 fp@c-16 ra@c-8; 40 gap", 0x0c, 29, 16, 0x9d, 2, 0x9e, 1);
	PROGRAM_ARM64("0 sp+0; 8 sp+16; 40 gap", 0x41, 0x2d, 0x41, 0x0e,
		      16); /* signed return address */
	PROGRAM_ARM64("0 end; 40 gap", 0x07, 30);
	PROGRAM_ARM64("0 sp+0 ra=r17; 40 gap", 0x09, 30, 17);
}

static void check_signal(uint32_t machine, const void *program, size_t size, const char *want)
{
	static struct cfi_builder b;
	static char text[TEXT_MAX];
	struct table_input in;

	cfi_builder_init(&b);
	b.machine = machine;
	b.letters = "zRS";
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, size);
	cfi_builder_input(&b, &in);
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, want);
}

TEST(table_knows_the_frames_of_signals)
{
	static const uint8_t kernel[] = { 0x0f, 4, 0x77, 0xa0, 0x01, 0x06 }; /* *(rsp + 160) */

	check_signal(EM_X86_64, kernel, sizeof(kernel), "0 signal; 40 gap");
	check_signal(EM_X86_64, NULL, 0, "0 sp+8; 40 gap");
	check_signal(EM_AARCH64, NULL, 0, "0 signal; 40 gap");
}

/* One function at CFI_TEXT + 0x20 whose entry is written in some form. */
static void check_form(struct cfi_builder *b, const char *want)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16 };
	static char text[TEXT_MAX];
	struct table_input in;

	cfi_builder_cie(b, NULL, 0);
	cfi_builder_fde(b, CFI_TEXT + 0x20, 0x20, program, sizeof(program));
	cfi_builder_input(b, &in);
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, want);
}

static const char *const usual = "0 gap; 20 sp+8; 21 sp+16; 40 gap";

TEST(table_reads_every_encoding_of_pointers)
{
	static const uint8_t encodings[] = { 0x00, 0x01, 0x03, 0x04, 0x08, 0x09, 0x0b, 0x0c,
					     0x10, 0x1b, 0x19, 0x1c, 0x22, 0x2a, 0x23, 0x2b,
					     0x32, 0x3a, 0x33, 0x3b, 0x39, 0x50 };
	static struct cfi_builder b;

	for (size_t i = 0; i < sizeof(encodings); i++) {
		cfi_builder_init(&b);
		b.encoding = encodings[i];
		check_form(&b, usual);
	}
}

TEST(table_refuses_pointers_that_lead_elsewhere)
{
	static const uint8_t encodings[] = { 0x05, 0x0d, 0x40, 0x60, 0x80, 0x9b, 0xff };
	static struct cfi_builder b;

	for (size_t i = 0; i < sizeof(encodings); i++) {
		cfi_builder_init(&b);
		b.encoding = encodings[i];
		check_form(&b, "0 gap");
	}
}

TEST(table_reads_every_version_augmentation_and_length)
{
	static const char *const letters[] = { "",     "zR",  "zPLR", "zRS", "zRB",
					       "zRSB", "zLR", "zRx",  "eh" };
	static struct cfi_builder b;

	for (int form = 0; form < 4; form++) {
		for (int version = 1; version <= 4; version++) {
			if (version == 2)
				continue;
			for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++) {
				cfi_builder_init(&b);
				b.is_debug = form & 1;
				b.is_wide = form & 2;
				b.version = (uint8_t)version;
				b.letters = letters[i];
				b.encoding = *letters[i] == 'z' ? b.encoding : 0;
				check_form(&b, usual);
			}
		}
	}
}

/* Its augmentation data are the last bytes of the entry: 16 behind the length. */
TEST(table_reads_a_cie_without_instructions)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };
	static struct cfi_builder b;
	static char text[TEXT_MAX];
	struct table_input in;

	cfi_builder_init(&b);
	b.is_bare = true;
	b.letters = "zRBBB";
	cfi_builder_cie(&b, NULL, 0);
	CHECK_U64(b.at.len, ==, 4 + 16);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, sizeof(program));
	cfi_builder_input(&b, &in);
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, "0 sp+8; 40 gap");
}

/* Entries that are cut short, or hold an identifier alone, cost themselves. */
TEST(table_goes_on_behind_entries_that_are_too_short)
{
	static const uint8_t head[] = { 1, 0, 1, 0x78 }; /* version, no letters, alignments */
	static const uint8_t program[] = { 0x0e, 16 };
	static struct cfi_builder b;
	static char text[TEXT_MAX];
	struct table_input in;

	for (size_t size = 0; size <= sizeof(head); size++) {
		uint32_t cie;

		cfi_builder_init(&b);
		b.encoding = 0;
		cie = (uint32_t)b.at.len;
		writer_u32(&b.at, (uint32_t)(4 + size));
		writer_u32(&b.at, 0);
		writer_bytes(&b.at, head, size);
		/* a function of it, which has no size of augmentation data */
		writer_u32(&b.at, 4 + 16 + 2);
		writer_u32(&b.at, (uint32_t)b.at.len - cie);
		writer_u64(&b.at, CFI_TEXT);
		writer_u64(&b.at, 0x20);
		writer_bytes(&b.at, program, sizeof(program));
		/* an FDE of nothing */
		writer_u32(&b.at, 4);
		writer_u32(&b.at, 0x77777);
		b.encoding = 0x1b;
		cfi_builder_cie(&b, NULL, 0);
		cfi_builder_fde(&b, CFI_TEXT + 0x20, 0x20, program, sizeof(program));
		cfi_builder_input(&b, &in);
		cfi_rows(&in, text, sizeof(text));
		CHECK_STR(text, "0 gap; 20 sp+16; 40 gap");
	}
}

TEST(table_refuses_versions_and_augmentations_that_nobody_knows)
{
	static struct cfi_builder b;

	cfi_builder_init(&b);
	b.version = 2;
	check_form(&b, "0 gap");
	cfi_builder_init(&b);
	b.letters = "armcc+";
	check_form(&b, "0 gap");
}

static void add(struct cfi_builder *b, uint64_t off, uint64_t length, uint8_t cfa)
{
	uint8_t program[] = { 0x0e, cfa };

	cfi_builder_fde(b, CFI_TEXT + off, length, program, sizeof(program));
}

static void check_rows(struct cfi_builder *b, const char *want)
{
	static char text[TEXT_MAX];
	struct table_input in;

	cfi_builder_input(b, &in);
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, want);
}

TEST(table_sorts_functions_and_lets_the_later_start_win)
{
	static struct cfi_builder b;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0x800, 0x20, 16);
	add(&b, 0x400, 0x40, 24);
	add(&b, 0x420, 0x10, 32); /* inside the one before */
	add(&b, 0x100, 0x20, 40);
	add(&b, 0x100, 0x80, 48); /* same start: the first of the file counts */
	add(&b, 0x200, 0, 56);	  /* empty */
	check_rows(&b,
		   "0 gap; 100 sp+40; 120 gap; 400 sp+24; 420 sp+32; 430 gap; 800 sp+16; 820 gap");
}

TEST(table_joins_functions_that_padding_parts_and_no_others)
{
	static struct cfi_builder b;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0x100, 0x11, 16);
	add(&b, 0x120, 0x20, 24); /* 15 bytes later */
	add(&b, 0x150, 0x10, 32); /* 16 bytes later */
	check_rows(&b, "0 gap; 100 sp+16; 120 sp+24; 140 gap; 150 sp+32; 160 gap");
}

TEST(table_ends_functions_where_their_code_ends)
{
	static struct cfi_builder b;
	struct table_input in;
	char text[TEXT_MAX];
	struct table t;
	size_t size;
	void *bytes;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0x7f0, 0x40, 16); /* 0x30 bytes behind the end of the first part */
	add(&b, 0xb00, 0x20, 24);
	cfi_builder_input(&b, &in);
	in.code[0].size = 0x800;
	in.code[0].nr_bytes = 0x800;
	in.code[in.nr_code++] = (struct table_code){ .start = CFI_TEXT + 0xa00, .size = 0x600 };
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, "0 gap; 7f0 sp+16");
	CHECK_OK(coati_table_build(&in, &bytes, &size));
	CHECK_OK(coati_table_open(bytes, size, &t));
	CHECK_INT(table_unpack(table_find(&t, CFI_TEXT + 0x7ff)).cfa, ==, TABLE_CFA_SP);
	for (uint64_t off = 0xa00; off < 0xb00; off++)
		CHECK_INT(table_unpack(table_find(&t, CFI_TEXT + off)).cfa, ==, TABLE_CFA_GAP);
	CHECK_INT(table_unpack(table_find(&t, CFI_TEXT + 0xb00)).cfa, ==, TABLE_CFA_SP);
	coati_free(bytes);
	in.code[0].start = CFI_TEXT + 0xa00; /* the rows of the other part are shown */
	in.code[0].size = 0x600;
	in.code[1].start = CFI_TEXT;
	in.code[1].size = 0x800;
	in.code[0].bytes = NULL;
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, "0 gap; 100 sp+24; 120 gap");
}

TEST(table_goes_on_behind_a_zero_in_the_middle)
{
	static struct cfi_builder b;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0, 0x20, 16);
	writer_u32(&b.at, 0);
	add(&b, 0x100, 0x20, 24);
	check_rows(&b, "0 sp+16; 20 gap; 100 sp+24; 120 gap");
}

TEST(table_leaves_out_functions_that_are_not_in_the_code)
{
	static struct cfi_builder b;

	cfi_builder_init(&b);
	b.encoding = 0;
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0 - CFI_TEXT, 0x20, 16); /* discarded: at 0 */
	add(&b, 0x100000, 0x20, 16);
	add(&b, 0xff0, 0x200, 24); /* longer than the code */
	check_rows(&b, "0 gap; ff0 sp+24");
}

/* A function that goes on behind the code has no rows there. */
TEST(table_has_no_rows_behind_the_code)
{
	/* 24 bytes of frame, 15 bytes later 32, two bytes later 40, which is behind the end */
	static const uint8_t program[] = { 0x0e, 24, 0x4f, 0x0e, 32, 0x42, 0x0e, 40 };
	static struct cfi_builder b;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT + 0xff0, 0x200, program, sizeof(program));
	check_rows(&b, "0 gap; ff0 sp+24; fff sp+32");
}

TEST(table_knows_stubs_by_their_bytes)
{
	static struct cfi_builder b;
	struct table_input in;
	char text[TEXT_MAX];

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0x400, 0x20, 16);
	cfi_builder_input(&b, &in);
	/* .plt at 0x100: push, jmp; then jmp, push, jmp */
	memcpy(b.code + 0x100, "\xff\x35\0\0\0\0\xff\x25\0\0\0\0", 12);
	memcpy(b.code + 0x110, "\xff\x25\0\0\0\0\x68\0\0\0\0\xe9\0\0\0\0", 16);
	in.stubs[in.nr_stubs++] =
		(struct table_stubs){ .start = CFI_TEXT + 0x100, .size = 0x40, .is_lazy = true };
	/* .plt.sec at 0x200 */
	memcpy(b.code + 0x200, "\xf3\x0f\x1e\xfa\xff\x25", 6);
	in.stubs[in.nr_stubs++] = (struct table_stubs){ .start = CFI_TEXT + 0x200, .size = 0x20 };
	/* no stub at all, whatever its section is called */
	in.stubs[in.nr_stubs++] = (struct table_stubs){ .start = CFI_TEXT + 0x280, .size = 0x20 };
	/* the return from a handler, looked up one byte before */
	memcpy(b.code + 0x300, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	memcpy(b.code + 0x340, "\xb8\x0f\0\0\0\x0f\x05", 7);
	in.entry = CFI_TEXT + 0x500;
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, "0 gap; 100 sp+16; 106 sp+24; 110 plt11+8; 140 gap; 200 sp+8; 220 gap; "
			"2ff signal; 309 gap; 33f signal; 347 gap; 400 sp+16; 420 gap; "
			"500 end; 600 gap");
}

TEST(table_knows_the_return_from_a_handler_of_arm64)
{
	static struct cfi_builder b;
	struct table_input in;
	char text[TEXT_MAX];

	cfi_builder_init(&b);
	b.machine = EM_AARCH64;
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_input(&b, &in);
	memcpy(b.code + 0x300, "\x68\x11\x80\xd2\x01\0\0\xd4", 8);
	memcpy(b.code + 0x340, "\xb8\x0f\0\0\0\x0f\x05", 7); /* of another machine */
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, "0 gap; 2ff signal; 308 gap");
}

/* A prologue at 0x180, an epilogue at 0x190. */
static void check_init(uint32_t machine, const char *begin, const char *end, const char *want)
{
	static struct cfi_builder b;
	struct table_input in;
	char text[TEXT_MAX];

	cfi_builder_init(&b);
	b.machine = machine;
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_input(&b, &in);
	memcpy(b.code + 0x184, begin, 4);
	in.stubs[in.nr_stubs++] =
		(struct table_stubs){ .start = CFI_TEXT + 0x180, .size = 0x20, .is_init = true };
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, "0 gap"); /* half of it is not believed */
	memcpy(b.code + 0x190, end, 4);
	cfi_rows(&in, text, sizeof(text));
	CHECK_STR(text, want);
}

TEST(table_knows_init_and_fini_by_their_bytes)
{
	check_init(EM_X86_64, "\x48\x83\xec\x08", "\x48\x83\xc4\x08",
		   "0 gap; 180 sp+8; 188 sp+16; 194 sp+8; 1a0 gap");
	check_init(EM_AARCH64, "\xfd\x7b\xbf\xa9", "\xfd\x7b\xc1\xa8",
		   "0 gap; 180 sp+0; 188 sp+16 fp@c-16 ra@c-8; 194 sp+0; 1a0 gap");
}

/* The last row at a place counts, and is none when it says what the row before it says. */
TEST(table_joins_rows_with_the_one_before_those_that_they_replace)
{
	for (uint8_t last = 0; last < 6; last++)
		for (uint8_t again = 0; again <= last; again++) {
			char want[TEXT_MAX] = "";
			uint8_t program[64];
			size_t size = 0, len = 0;

			for (uint8_t i = 0; i <= last; i++) {
				program[size++] = 0x0e;
				program[size++] = (uint8_t)(8 + 8 * i);
				program[size++] = 0x42;
				len += (size_t)snprintf(want + len, sizeof(want) - len,
							"%x sp+%d; ", 2 * i, 8 + 8 * i);
			}
			program[size++] = 0x0e;
			program[size++] = 120;
			program[size++] = 0x40; /* advance by nothing */
			program[size++] = 0x0e;
			program[size++] = (uint8_t)(8 + 8 * again);
			if (again != last)
				len += (size_t)snprintf(want + len, sizeof(want) - len,
							"%x sp+%d; ", 2 * (last + 1),
							8 + 8 * again);
			snprintf(want + len, sizeof(want) - len, "40 gap");
			check_program(EM_X86_64, program, size, want);
		}
}

TEST(table_finds_the_row_before_an_empty_bucket)
{
	static struct cfi_builder b;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	add(&b, 0x3f0, 0xb00, 16); /* over two whole buckets */
	check_rows(&b, "0 gap; 3f0 sp+16; ef0 gap");
}

/* A table with many kinds of rows, for damage. */
static void make_rich(struct cfi_builder *b)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16,   0x86, 2,	 0x0a, 0x43, 0x0d,
					   6,	 0x41, 0x0b, 0x42, 0x0f, 3,    0x76, 0x78,
					   0x06, 0x10, 6,    2,	   0x76, 0,    0x2e, 16 };

	cfi_builder_init(b);
	b->letters = "zPLR";
	cfi_builder_cie(b, NULL, 0);
	for (uint64_t i = 0; i < 6; i++)
		cfi_builder_fde(b, CFI_TEXT + i * 0x100, 0x80, program, sizeof(program));
}

static void build_anything(const struct cfi_builder *b, const uint8_t *bytes, size_t size)
{
	struct table_input in = { .machine = b->machine, .nr_code = 1, .nr_sections = 2 };
	struct table t;
	size_t table_size;
	void *table;

	in.code[0] = (struct table_code){ .start = CFI_TEXT, .size = 4096 };
	for (int i = 0; i < 2; i++)
		in.sections[i] = (struct cfi_section){
			.bytes = bytes, .size = size, .vaddr = CFI_VADDR, .is_debug = i
		};
	CHECK_OK(coati_table_build(&in, &table, &table_size));
	CHECK_OK(coati_table_open(table, table_size, &t));
	for (uint64_t i = 0; i < 4096; i += 8)
		(void)table_find(&t, CFI_TEXT + i);
	coati_free(table);
}

TEST(table_stands_every_length_and_every_changed_byte)
{
	static struct cfi_builder b;

	make_rich(&b);
	for (size_t size = 0; size <= b.at.len; size++) {
		uint8_t *copy = coati_alloc(size + 1);

		/* a block of exactly that size: reading behind it is seen by the sanitizers */
		memcpy(copy, b.bytes, size);
		build_anything(&b, copy, size);
		coati_free(copy);
	}
	for (size_t i = 0; i < b.at.len; i++) {
		static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
		uint8_t keep = b.bytes[i];

		for (size_t v = 0; v < sizeof(values); v++) {
			b.bytes[i] = values[v];
			build_anything(&b, b.bytes, b.at.len);
		}
		b.bytes[i] = keep;
	}
}

TEST(table_build_fails_cleanly_at_every_allocation)
{
	static struct cfi_builder b;
	struct table_input in;
	void *bytes = NULL;
	size_t size;
	int r = -ENOMEM;

	make_rich(&b);
	cfi_builder_input(&b, &in);
	for (uint64_t n = 0; r == -ENOMEM && n < 100; n++) {
		coati_alloc_fail_after(n);
		r = coati_table_build(&in, &bytes, &size);
		coati_alloc_fail_after(UINT64_MAX);
	}
	CHECK_OK(r);
	coati_free(bytes);
}

TEST(table_refuses_machines_code_and_sizes_that_are_not_ours)
{
	struct table_input in = { .machine = EM_RISCV, .nr_code = 1 };
	void *bytes;
	size_t size;

	in.code[0] = (struct table_code){ .start = 0x1000, .size = 64 };
	CHECK_ERR(coati_table_build(&in, &bytes, &size), -EOPNOTSUPP);
	in.machine = EM_X86_64;
	in.code[0].size = TABLE_CODE_MAX + 1;
	CHECK_ERR(coati_table_build(&in, &bytes, &size), -E2BIG);
	in.code[0].size = 0;
	CHECK_ERR(coati_table_build(&in, &bytes, &size), -EINVAL);
	in.code[0] = (struct table_code){ .start = UINT64_MAX, .size = 64 };
	CHECK_ERR(coati_table_build(&in, &bytes, &size), -EINVAL);
}

TEST(table_of_another_byte_order_or_version_is_refused_as_such)
{
	struct table_input in = { .machine = EM_X86_64, .nr_code = 1 };
	struct table_head *h;
	struct table t;
	void *bytes;
	size_t size;

	in.code[0] = (struct table_code){ .start = 0x1000, .size = 64 };
	CHECK_OK(coati_table_build(&in, &bytes, &size));
	h = bytes;
	h->version++;
	CHECK_ERR(coati_table_open(bytes, size, &t), -EOPNOTSUPP);
	h->version--;
	h->magic = __builtin_bswap64(h->magic);
	CHECK_ERR(coati_table_open(bytes, size, &t), -EOPNOTSUPP);
	h->magic = 7;
	CHECK_ERR(coati_table_open(bytes, size, &t), -EBADMSG);
	coati_free(bytes);
}

/* ---- the walk, by rules made by hand ---- */

#define STACK_ADDR UINT64_C(0x70000000)
#define CODE_ADDR  UINT64_C(0x10000)
#define CODE_SIZE  UINT64_C(0x1000)

struct walk_rig {
	struct table table;
	void *bytes;
	uint32_t nr_places, nr_found;
	uint64_t stack[32], regs[WALK_REGS];
	struct walk_input in;
};

/* The same table at each of them. */
static int find_place(void *ctx, uint64_t addr, struct walk_place *ret)
{
	struct walk_rig *rig = ctx;
	uint64_t k = (addr - CODE_ADDR) / CODE_SIZE;

	rig->nr_found++;
	if (k >= rig->nr_places)
		return -1;
	*ret = (struct walk_place){ .start = CODE_ADDR + k * CODE_SIZE,
				    .end = CODE_ADDR + (k + 1) * CODE_SIZE,
				    .bias = CODE_ADDR + k * CODE_SIZE - CFI_TEXT,
				    .table = &rig->table,
				    .image = (uint32_t)k };
	return 0;
}

/* A function of 0x40 bytes with this program; the stack pointer is at the begin of the stack, the
 * frame pointer 64 bytes above it, and the other registers have their number. */
static void rig_init(struct walk_rig *rig, const void *program, size_t size)
{
	static struct cfi_builder b;
	struct table_input in;
	size_t table_size;

	memset(rig, 0, sizeof(*rig));
	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, size);
	cfi_builder_input(&b, &in);
	CHECK_OK(coati_table_build(&in, &rig->bytes, &table_size));
	CHECK_OK(coati_table_open(rig->bytes, table_size, &rig->table));
	rig->nr_places = 1;
	for (uint64_t i = 0; i < WALK_REGS; i++)
		rig->regs[i] = i;
	rig->regs[6] = STACK_ADDR + 64;
	rig->regs[7] = STACK_ADDR;
	rig->regs[16] = CODE_ADDR + 0x10;
	rig->in = (struct walk_input){ .machine = EM_X86_64,
				       .find = find_place,
				       .ctx = rig,
				       .regs = rig->regs,
				       .known = UINT64_MAX,
				       .stack = (const uint8_t *)rig->stack,
				       .stack_size = sizeof(rig->stack),
				       .stack_addr = STACK_ADDR };
}

/* The second frame has this pc and stack pointer; pc 0: there is none, and the walk ends so. */
static void check_caller(struct walk_rig *rig, uint64_t pc, uint64_t sp, enum walk_end end)
{
	struct walk w;

	CHECK(coati_walk_begin(&w, &rig->in));
	CHECK(coati_walk_next(&w));
	CHECK_U64(w.frame.pc, ==, rig->regs[16]);
	CHECK_U64(w.frame.sp, ==, STACK_ADDR);
	CHECK_INT(w.frame.how, ==, WALK_REGISTERS);
	CHECK_INT(coati_walk_next(&w), ==, pc != 0);
	if (pc) {
		CHECK_U64(w.frame.pc, ==, pc);
		CHECK_U64(w.frame.sp, ==, sp);
		CHECK_U64(w.frame.vaddr, ==, pc - CODE_ADDR + CFI_TEXT);
		CHECK_INT(w.frame.how, ==, WALK_TABLE);
	} else {
		CHECK_INT(w.end, ==, end);
		CHECK(!coati_walk_next(&w)); /* and stays so */
		CHECK_INT(w.end, ==, end);
	}
	coati_free(rig->bytes);
}

#define RIG(rig, ...)                                              \
	do {                                                       \
		static const uint8_t program_[] = { __VA_ARGS__ }; \
		rig_init(rig, program_, sizeof(program_));         \
	} while (0)

TEST(walk_follows_rules_that_little_code_has)
{
	const uint64_t caller = CODE_ADDR + 0x20;
	static struct walk_rig rig;

	RIG(&rig, 0x0c, 10, 16); /* r10+16 */
	rig.regs[10] = STACK_ADDR + 32;
	rig.stack[5] = caller;
	check_caller(&rig, caller, STACK_ADDR + 48, 0);
	RIG(&rig, 0x0c, 10, 16);
	rig.in.known &= ~(UINT64_C(1) << 10);
	check_caller(&rig, 0, 0, WALK_UNSUPPORTED);
	RIG(&rig, 0x0f, 5, 0x77, 40, 0x06, 0x23, 8); /* *(sp+40)+8 */
	rig.stack[5] = STACK_ADDR + 56;
	rig.stack[7] = caller;
	check_caller(&rig, caller, STACK_ADDR + 64, 0);
	RIG(&rig, 0x0f, 3, 0x76, 0x78, 0x06); /* *(fp-8) */
	rig.stack[7] = STACK_ADDR + 72;
	rig.stack[8] = caller;
	check_caller(&rig, caller, STACK_ADDR + 72, 0);
	RIG(&rig, 0x0e, 8, 0x09, 16, 5); /* the return address is in r5 */
	rig.regs[5] = caller;
	check_caller(&rig, caller, STACK_ADDR + 8, 0);
	for (uint64_t at = 10; at <= 12; at++) { /* pushed by the 11th byte of an entry */
		RIG(&rig, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
		rig.regs[16] = CODE_ADDR + 0x10 + at;
		rig.stack[0] = CODE_ADDR + 0x28;
		rig.stack[1] = CODE_ADDR + 0x30;
		check_caller(&rig, CODE_ADDR + (at < 11 ? 0x28 : 0x30),
			     STACK_ADDR + (at < 11 ? 8 : 16), 0);
	}
	RIG(&rig, 0x0f, 4, 0x77, 0x90, 0x03, 0x06); /* *(sp+400) is behind the stack */
	check_caller(&rig, 0, 0, WALK_TRUNCATED);
	RIG(&rig, 0x0f, 4, 0x76, 0x90, 0x03, 0x06); /* and so is *(fp+400) */
	check_caller(&rig, 0, 0, WALK_TRUNCATED);
	RIG(&rig, 0x0f, 4, 0x77, 8, 0x06, 0x06); /* twice through memory */
	check_caller(&rig, 0, 0, WALK_UNSUPPORTED);
	RIG(&rig, 0x07, 16);
	check_caller(&rig, 0, 0, WALK_END);
	RIG(&rig, 0x0e, 0); /* a stack that does not grow */
	rig.in.known &= ~(UINT64_C(1) << 10);
	check_caller(&rig, 0, 0, WALK_BAD);
}

/* More mappings than the walk remembers: each is found again, and the right one. */
TEST(walk_goes_through_more_mappings_than_it_remembers)
{
	static struct walk_rig rig;

	for (uint32_t places = WALK_PLACES - 1; places <= WALK_PLACES + 3; places++) {
		struct walk w;
		uint32_t nr = 0;

		RIG(&rig, 0x00);
		rig.nr_places = places;
		for (uint64_t i = 0; i < 32; i++)
			rig.stack[i] = CODE_ADDR + (i + 1) % places * CODE_SIZE + 0x10;
		CHECK(coati_walk_begin(&w, &rig.in));
		for (; coati_walk_next(&w); nr++) {
			CHECK_U64(w.frame.image, ==, nr % places);
			CHECK_U64(w.frame.vaddr, ==, CFI_TEXT + 0x10);
			CHECK_U64(w.frame.sp, ==, STACK_ADDR + 8 * nr);
		}
		CHECK_U64(nr, ==, 33);
		CHECK_INT(w.end, ==, WALK_TRUNCATED);
		CHECK_U64(rig.nr_found, ==, places <= WALK_PLACES ? places : 33);
		coati_free(rig.bytes);
	}
}

/* The frame pointer is saved right where the stack pointer is, and these bytes are not there: it is
 * not known, which is no red zone. */
TEST(walk_does_not_believe_a_register_whose_place_is_missing)
{
	static struct walk_rig rig;
	struct walk w;

	for (uint64_t missing = 0; missing <= 8; missing += 8) {
		RIG(&rig, 0x0e, 16, 0x86, 2, 0x60, 0x0d, 6); /* from 0x20 on: fp+16 */
		rig.stack[0] = STACK_ADDR + 96;
		rig.stack[1] = CODE_ADDR + 0x30;
		rig.stack[9] = CODE_ADDR + 0x34; /* by the frame pointer of the first frame */
		rig.stack[13] = CODE_ADDR + 0x38;
		rig.in.stack += missing;
		rig.in.stack_addr += missing;
		rig.in.stack_size -= missing;
		CHECK(coati_walk_begin(&w, &rig.in));
		CHECK(coati_walk_next(&w));
		CHECK(coati_walk_next(&w));
		CHECK_U64(w.frame.pc, ==, CODE_ADDR + 0x30);
		CHECK_INT(coati_walk_next(&w), ==, !missing);
		if (missing)
			CHECK_INT(w.end, ==, WALK_BAD);
		else
			CHECK_U64(w.frame.pc, ==, CODE_ADDR + 0x38);
		coati_free(rig.bytes);
	}
}

/* The rows of functions before equal neighbors are joined: three of one, two of the other. */
TEST(table_says_how_many_rows_it_was_made_of)
{
	static struct cfi_builder b;
	static const uint8_t three[] = { 0x41, 0x0e, 16, 0x41, 0x0e, 8 };
	static const uint8_t two[] = { 0x41, 0x0e, 8 };
	static const uint8_t odd[] = { 0x16, 6, 2, 0x76, 0, 0x41, 0x09, 3, 12, 0x41, 0x08, 6 };
	static const uint8_t damaged[] = { 0x41, 0x3f };
	const struct table_head *head;
	struct table_input in;
	size_t size;
	void *bytes;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, three, sizeof(three));
	cfi_builder_fde(&b, CFI_TEXT + 0x40, 0x40, two, sizeof(two));
	cfi_builder_input(&b, &in);
	CHECK_OK(coati_table_build(&in, &bytes, &size));
	head = bytes;
	CHECK_U64(head->nr_raw_rows, ==, 5);
	CHECK_U64(head->nr_rows, ==, 5); /* nothing, sp+8, sp+16, sp+8, the gap */
	CHECK_U64(head->nr_fdes, ==, 2);
	CHECK_U64(head->nr_damaged, ==, 0);
	CHECK_U64(head->nr_unsupported, ==, 0);
	coati_free(bytes);
	cfi_builder_fde(&b, CFI_TEXT + 0x80, 0x40, odd, sizeof(odd));
	cfi_builder_fde(&b, CFI_TEXT + 0xc0, 0x40, damaged, sizeof(damaged));
	cfi_builder_input(&b, &in);
	CHECK_OK(coati_table_build(&in, &bytes, &size));
	head = bytes;
	CHECK_U64(head->nr_fdes, ==, 4);
	CHECK_U64(head->nr_damaged, ==, 1);
	CHECK_U64(head->nr_unsupported, ==, 3); /* also where the damage is */
	coati_free(bytes);
}
