/* SPDX-License-Identifier: MIT */
/* Which function an address belongs to: sizes, unwind data, aliases, sections, in files made by
 * hand. */
#include "lib/test.h"

#include <elf.h>
#include <stdio.h>

#include "base/writer.h"
#include "unit/elf-builder.h"
#include "unit/image-ask.h"

#define TEXT BUILDER_TEXT_VADDR

/* A function as unwind data states it. */
struct fde {
	uint64_t start, length;
};

struct program {
	const struct elf_symbol *symbols;
	size_t nr_symbols;
	const struct fde *fdes;
	size_t nr_fdes;
	bool with_table; /* .eh_frame_hdr too */
	bool dynamic;	 /* .dynsym instead of .symtab */
	uint16_t machine;
	uint64_t entry;	  /* 0: none */
	const char *code; /* of the text from offset 16 on, NULL: zeros */
	size_t code_size;
};

#define FRAMES_VADDR UINT64_C(0x700000)
#define TABLE_VADDR  UINT64_C(0x710000)

static void write_frames(struct writer *w, const struct program *p, uint32_t *offsets)
{
	static const uint8_t cie[] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0 };

	writer_u32(w, sizeof(cie));
	writer_bytes(w, cie, sizeof(cie));
	for (size_t i = 0; i < p->nr_fdes; i++) {
		offsets[i] = (uint32_t)w->len;
		writer_u32(w, 16);
		writer_u32(w, (uint32_t)w->len);
		writer_u32(w, (uint32_t)(p->fdes[i].start - (FRAMES_VADDR + w->len)));
		writer_u32(w, (uint32_t)p->fdes[i].length);
		writer_u32(w, 0);
	}
	writer_u32(w, 0);
}

static void write_table(struct writer *w, const struct program *p, const uint32_t *offsets)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };

	writer_bytes(w, head, sizeof(head));
	writer_u32(w, (uint32_t)(FRAMES_VADDR - (TABLE_VADDR + 4)));
	writer_u32(w, (uint32_t)p->nr_fdes);
	for (size_t i = 0; i < p->nr_fdes; i++) {
		writer_u32(w, (uint32_t)(p->fdes[i].start - TABLE_VADDR));
		writer_u32(w, (uint32_t)(FRAMES_VADDR + offsets[i] - TABLE_VADDR));
	}
}

/* Into the file "program". */
static void build(const struct program *p)
{
	uint8_t frames[1024], table[512];
	struct writer w = writer_over(frames, sizeof(frames));
	struct writer t = writer_over(table, sizeof(table));
	uint32_t offsets[32], i;
	struct elf_builder b;

	elf_builder_init(&b, false);
	if (p->machine)
		b.machine = p->machine;
	if (p->entry)
		b.entry = p->entry;
	elf_builder_program(&b);
	if (p->code)
		memcpy(b.bytes + BUILDER_TEXT_OFFSET + 16, p->code, p->code_size);
	if (p->nr_fdes) {
		write_frames(&w, p, offsets);
		i = elf_builder_section(&b, ".eh_frame", SHT_PROGBITS, frames, w.len);
		b.sections[i].vaddr = FRAMES_VADDR;
	}
	if (p->with_table) {
		write_table(&t, p, offsets);
		i = elf_builder_section(&b, ".eh_frame_hdr", SHT_PROGBITS, table, t.len);
		b.sections[i].vaddr = TABLE_VADDR;
	}
	if (p->nr_symbols)
		elf_builder_symbols(&b, p->dynamic, p->symbols, p->nr_symbols);
	elf_builder_write(&b, "program");
}

/* The function at @offset of the text of the file that @p describes. */
static struct coati_name name_at(const struct program *p, uint64_t offset)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	static char function[256];
	struct coati_name n;

	build(p);
	n = ask_name(images, ask_path(images, "program"), TEXT + offset);
	snprintf(function, sizeof(function), "%s", n.function);
	n.function = function;
	coati_images_free(&images);
	return n;
}

#define SYM(n, at, len, t, b)                                                               \
	{                                                                                   \
		.name = (n), .value = TEXT + (at), .size = (len), .type = (t), .bind = (b), \
		.shndx = 1                                                                  \
	}

TEST(symbols_name_an_address_inside_their_size_alone)
{
	static const struct elf_symbol symbols[] = { SYM("first", 0, 8, STT_FUNC, STB_GLOBAL),
						     SYM("second", 16, 8, STT_FUNC, STB_GLOBAL) };
	struct program p = { symbols, 2 };

	CHECK_STR(name_at(&p, 0).function, "first");
	CHECK_STR(name_at(&p, 7).function, "first");
	CHECK_STR(name_at(&p, 8).function, "program!.text");
	CHECK_STR(name_at(&p, 16).function, "second");
	CHECK_STR(name_at(&p, 24).function, "program!.text");
	CHECK(name_at(&p, 24).flags & COATI_NAME_SYNTHETIC);
}

TEST(symbols_never_name_what_lies_beyond_their_fde)
{
	static const struct elf_symbol symbols[] = { SYM("liar", 0, 64, STT_FUNC, STB_GLOBAL) };
	static const struct fde fdes[] = { { TEXT, 8 }, { TEXT + 16, 16 } };

	for (int table = 0; table < 2; table++) {
		struct program p = { symbols, 1, fdes, 2, table };

		CHECK_STR(name_at(&p, 7).function, "liar");
		CHECK_STR(name_at(&p, 8).function, "program!.text");
		CHECK_STR(name_at(&p, 20).function, "program!fn_401210");
	}
}

TEST(symbols_without_a_size_reach_to_the_end_of_their_fde)
{
	static const struct elf_symbol symbols[] = { SYM("unsized", 0, 0, STT_FUNC, STB_GLOBAL) };
	static const struct fde fdes[] = { { TEXT, 12 }, { TEXT + 32, 8 } };

	for (int table = 0; table < 2; table++) {
		struct program p = { symbols, 1, fdes, 2, table, .dynamic = true };

		CHECK_STR(name_at(&p, 11).function, "unsized");
		CHECK_STR(name_at(&p, 12).function, "program!.text");
		CHECK_STR(name_at(&p, 33).function, "program!fn_401220");
	}
}

TEST(symbols_without_size_and_fde_reach_to_the_next_symbol_or_the_end_of_the_section)
{
	static const struct elf_symbol symbols[] = { SYM("first", 0, 0, STT_FUNC, STB_GLOBAL),
						     SYM("second", 16, 0, STT_NOTYPE, STB_GLOBAL),
						     SYM("sized", 32, 8, STT_FUNC, STB_GLOBAL),
						     SYM("last", 48, 0, STT_FUNC, STB_GLOBAL) };
	static const char *const expected[8] = { "first", "first",	   "second", "second",
						 "sized", "program!.text", "last",   "last" };

	for (int dynamic = 0; dynamic < 2; dynamic++) { /* dynamic: a stripped file */
		struct program p = { symbols, 4, .dynamic = dynamic };

		for (uint64_t at = 0; at < 64; at++)
			CHECK_STR(name_at(&p, at).function, expected[at / 8]);
		CHECK_U64(name_at(&p, 15).length, ==, 16);
		CHECK_U64(name_at(&p, 63).length, ==, 16);
		CHECK_STR(name_at(&p, 64).function, "[program]");
	}
}

TEST(symbols_without_size_and_fde_end_where_another_function_has_unwind_data)
{
	static const struct elf_symbol symbols[] = { SYM("bare", 0, 0, STT_FUNC, STB_GLOBAL) };
	static const struct fde fdes[] = { { TEXT + 16, 8 }, { TEXT + 32, 8 } };

	for (int table = 0; table < 2; table++) {
		struct program p = { symbols, 1, fdes, 2, table, .dynamic = true };

		CHECK_STR(name_at(&p, 15).function, "bare");
		CHECK_STR(name_at(&p, 16).function, "program!fn_401210");
		/* behind a function without a symbol nobody knows whose code it is */
		CHECK_STR(name_at(&p, 24).function, "program!.text");
		CHECK_STR(name_at(&p, 41).function, "program!.text");
		CHECK_U64(name_at(&p, 1).length, ==, 16);
	}
}

TEST(symbols_without_a_size_do_not_reach_over_the_entry_point)
{
	static const struct elf_symbol symbols[] = { SYM("bare", 0, 0, STT_FUNC, STB_GLOBAL),
						     SYM("_etext", 48, 0, STT_NOTYPE, STB_GLOBAL) };
	struct program p = { symbols, 2, .dynamic = true, .entry = TEXT + 20 };

	CHECK_STR(name_at(&p, 19).function, "bare");
	CHECK_STR(name_at(&p, 20).function, "program!.text");
	CHECK_STR(name_at(&p, 50).function, "program!.text");
}

TEST(symbols_that_are_missing_give_one_name_to_the_whole_function)
{
	static const struct fde fdes[] = { { TEXT, 8 }, { TEXT + 8, 24 } };
	struct program p = { NULL, 0, fdes, 2, true };
	struct coati_name a = name_at(&p, 8), b = name_at(&p, 31);

	CHECK_STR(a.function, "program!fn_401208");
	CHECK_STR(b.function, "program!fn_401208");
	CHECK(!b.symbol);
	CHECK_U64(b.start, ==, TEXT + 8);
	CHECK_U64(b.length, ==, 24);
	CHECK_STR(name_at(&p, 32).function, "program!.text");
}

TEST(symbols_of_one_address_are_chosen_by_rank_and_never_by_chance)
{
	static const struct elf_symbol by_rank[] = { SYM("a", 0, 8, STT_FUNC, STB_LOCAL),
						     SYM("bb", 0, 8, STT_FUNC, STB_WEAK),
						     SYM("ccc", 0, 8, STT_FUNC, STB_GLOBAL) };
	static const struct elf_symbol by_bars[] = { SYM("_x", 0, 8, STT_FUNC, STB_GLOBAL),
						     SYM("longer", 0, 8, STT_FUNC, STB_GLOBAL) };
	static const struct elf_symbol by_length[] = { SYM("longer", 0, 8, STT_FUNC, STB_GLOBAL),
						       SYM("short", 0, 8, STT_FUNC, STB_GLOBAL) };
	static const struct elf_symbol by_letter[] = { SYM("bbb", 0, 8, STT_FUNC, STB_GLOBAL),
						       SYM("aaa", 0, 8, STT_FUNC, STB_GLOBAL) };

	CHECK_STR(name_at(&(struct program){ by_rank, 3 }, 1).function, "ccc");
	CHECK_STR(name_at(&(struct program){ by_bars, 2 }, 1).function, "longer");
	CHECK_STR(name_at(&(struct program){ by_length, 2 }, 1).function, "short");
	CHECK_STR(name_at(&(struct program){ by_letter, 2 }, 1).function, "aaa");
	CHECK(name_at(&(struct program){ by_letter, 2 }, 1).flags & COATI_NAME_ALIASED);
	CHECK(!(name_at(&(struct program){ by_letter, 1 }, 1).flags & COATI_NAME_ALIASED));
}

TEST(symbols_inside_others_name_the_innermost)
{
	static const struct elf_symbol symbols[] = { SYM("outer", 0, 40, STT_FUNC, STB_GLOBAL),
						     SYM("inner", 8, 8, STT_FUNC, STB_LOCAL),
						     SYM("label", 20, 0, STT_NOTYPE, STB_GLOBAL) };
	struct program p = { symbols, 3 };

	CHECK_STR(name_at(&p, 4).function, "outer");
	CHECK_STR(name_at(&p, 9).function, "inner");
	CHECK_STR(name_at(&p, 16).function, "outer");
	CHECK_STR(name_at(&p, 21).function, "outer");
}

TEST(symbols_that_mark_code_and_data_on_arm64_name_nothing)
{
	static const struct elf_symbol symbols[] = { SYM("$x", 0, 4, STT_NOTYPE, STB_LOCAL),
						     SYM("$d.1", 8, 4, STT_NOTYPE, STB_LOCAL),
						     SYM("real", 16, 8, STT_FUNC, STB_LOCAL) };
	struct program p = { symbols, 3, .machine = EM_AARCH64 };

	CHECK_STR(name_at(&p, 1).function, "program!.text");
	CHECK_STR(name_at(&p, 9).function, "program!.text");
	CHECK_STR(name_at(&p, 17).function, "real");
}

TEST(symbols_with_versions_and_control_characters_are_fit_to_be_shown)
{
	static const struct elf_symbol symbols[] = {
		SYM("memcpy@@GLIBC_2.14", 0, 8, STT_FUNC, STB_GLOBAL),
		SYM("ba\x1b[31md", 8, 8, STT_FUNC, STB_GLOBAL)
	};
	struct program p = { symbols, 2 };

	CHECK_STR(name_at(&p, 1).function, "memcpy");
	CHECK_STR(name_at(&p, 9).function, "ba?[31md");
}

TEST(symbols_outside_every_section_have_the_name_of_the_file)
{
	struct program p = { NULL, 0 };

	CHECK_STR(name_at(&p, 0x100000).function, "[program]");
}

/* The return address of a signal handler is the first byte, and callers are looked up one byte
 * before. */
TEST(symbols_of_signal_trampolines_are_known_by_their_bytes)
{
	static const struct elf_symbol before[] = { SYM("before", 0, 8, STT_FUNC, STB_GLOBAL) };
	static const struct elf_symbol own[] = { SYM("sigreturn", 16, 9, STT_FUNC, STB_LOCAL) };
	static const struct fde fdes[] = { { TEXT + 15, 10 } };
	static const struct {
		uint16_t machine;
		const char *code;
		size_t size, second;
	} forms[] = {
		{ EM_X86_64, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9, 7 },
		{ EM_X86_64, "\xb8\x0f\0\0\0\x0f\x05", 7, 5 },
		{ EM_AARCH64, "\x68\x11\x80\xd2\x01\0\0\xd4", 8, 4 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct program p = { before, 1, fdes, 1, .machine = forms[i].machine };

		p.code = forms[i].code;
		p.code_size = forms[i].size;
		CHECK_STR(name_at(&p, 15).function, "__restore_rt");
		CHECK_STR(name_at(&p, 16).function, "__restore_rt");
		CHECK_STR(name_at(&p, 16 + forms[i].second).function, "__restore_rt");
		CHECK_U64(name_at(&p, 15).start, ==, TEXT + 16);
		CHECK(!(name_at(&p, 15).flags & COATI_NAME_SYNTHETIC));
		CHECK_STR(name_at(&p, 7).function, "before");
		p.symbols = own;
		CHECK_STR(name_at(&p, 15).function, "sigreturn");
		p.code_size--; /* another system call, or none */
		CHECK_STR(name_at(&p, 15).function, "program!fn_40120f");
	}
}
