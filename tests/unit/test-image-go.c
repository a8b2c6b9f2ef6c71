/* SPDX-License-Identifier: MIT */
/* The function table of Go programs, made by hand: names and unwind data of stripped ones. */
#include "lib/test.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <coati/unwind.h>

#include "base/alloc.h"
#include "image/go-table.h"
#include "unit/elf-builder.h"
#include "unit/image-ask.h"
#include "unwind/unwinder.h"

#define TEXT  BUILDER_TEXT_VADDR
#define TABLE UINT64_C(0x700000)

#define GO_16 0xfffffffau
#define GO_18 0xfffffff0u
#define GO_20 0xfffffff1u

struct go_program {
	uint32_t magic;
	uint16_t machine;
	uint64_t text;	     /* what the head says */
	uint64_t relocation; /* what a relocation says, 0: there is none */
	uint64_t entry;
	const char *section;
	size_t cut; /* bytes that the table has; 0: all */
};

/* main.main: 4 bytes with nothing on the stack, 8 with a frame of 24 bytes, 4 with nothing again.
 * Then two without a frame. */
static const uint8_t steps[] = { 0, 2, 4, 48, 8, 47, 4, 0, 2, 16, 0 };
static const char names[] = "\0main.main\0main.leaf\0runtime.goexit\0\0";

#define NAMES_AT     128
#define STEPS_AT     192
#define FUNCTIONS_AT 256

/* One record of a function behind the index, and where it is in the index. */
static void put_function(struct writer *w, const struct go_program *p, uint64_t start,
			 uint32_t name, uint32_t first_step)
{
	if (p->magic == GO_16)
		writer_u64(w, start);
	else
		writer_u32(w, (uint32_t)start);
	writer_u32(w, name);
	writer_u32(w, 0);
	writer_u32(w, 0);
	writer_u32(w, first_step);
	writer_zeros(w, 24);
}

static void put_index(struct writer *w, const struct go_program *p, uint64_t v)
{
	if (p->magic == GO_16)
		writer_u64(w, v);
	else
		writer_u32(w, (uint32_t)v);
}

static void pad_to(struct writer *w, size_t at)
{
	CHECK(w->len <= at);
	writer_zeros(w, at - w->len);
}

static size_t write_table(const struct go_program *p, uint8_t bytes[1024])
{
	struct writer w = writer_over(bytes, 1024);
	bool is_16 = p->magic == GO_16;
	uint64_t base = is_16 ? TEXT : 0;
	uint32_t record = is_16 ? 48 : 44, first = 7 * (is_16 ? 8 : 4);
	uint8_t quantum = p->machine == EM_AARCH64 ? 4 : 1;

	writer_u32(&w, p->magic);
	writer_u16(&w, 0);
	writer_u8(&w, quantum);
	writer_u8(&w, 8);
	writer_u64(&w, 3);
	writer_u64(&w, 1);
	if (!is_16)
		writer_u64(&w, p->text);
	writer_u64(&w, NAMES_AT);
	writer_u64(&w, NAMES_AT + sizeof(names));
	writer_u64(&w, NAMES_AT + sizeof(names));
	writer_u64(&w, STEPS_AT);
	writer_u64(&w, FUNCTIONS_AT);
	pad_to(&w, NAMES_AT);
	writer_bytes(&w, names, sizeof(names));
	pad_to(&w, STEPS_AT);
	writer_bytes(&w, steps, sizeof(steps));
	pad_to(&w, FUNCTIONS_AT);
	for (uint32_t i = 0; i < 3; i++) {
		put_index(&w, p, base + 16 * (uint64_t)quantum * i);
		put_index(&w, p, first + record * i);
	}
	put_index(&w, p, base + 48 * (uint64_t)quantum);
	put_function(&w, p, base, 1, 1);
	put_function(&w, p, base + 16 * (uint64_t)quantum, 11, 8);
	put_function(&w, p, base + 32 * (uint64_t)quantum, 21, 8);
	CHECK(!w.full);
	return w.len;
}

/* The length of the table. The text is large enough for code of arm64, too. */
static size_t make(struct elf_builder *b, const struct go_program *p)
{
	uint8_t table[1024];
	size_t size = write_table(p, table);
	uint64_t rela[3] = { TABLE + 24, 8, p->relocation };
	uint32_t i;

	elf_builder_init(b, false);
	b->machine = p->machine ? p->machine : EM_X86_64;
	b->entry = p->entry;
	i = elf_builder_program(b);
	b->segments[0].memsz = BUILDER_TEXT_OFFSET + 192;
	b->sections[i].size = 192;
	i = elf_builder_section(b, p->section ? p->section : ".gopclntab", SHT_PROGBITS, table,
				p->cut ? p->cut : size);
	b->sections[i].vaddr = TABLE;
	if (p->relocation) {
		i = elf_builder_section(b, ".rela.dyn", SHT_RELA, rela, sizeof(rela));
		b->sections[i].flags = SHF_ALLOC;
	}
	return size;
}

/* The table of a program in memory. */
static int open_table(const struct go_program *p, struct copy *c, struct go_table *t)
{
	static struct elf_builder b;
	struct coati_error err;
	uint8_t *bytes;
	size_t size;

	make(&b, p);
	size = elf_builder_finish(&b);
	bytes = coati_alloc(size + 1);
	memcpy(bytes, b.bytes, size);
	CHECK_OK(coati_copy_take(c, bytes, size, "program", &err));
	return coati_go_table_init(t, c);
}

static void check_functions(const struct go_table *t, uint64_t quantum)
{
	static const char *const want[] = { "main.main", "main.leaf", "runtime.goexit" };
	struct go_function f;

	CHECK_U64(t->nr, ==, 3);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(coati_go_function(t, i, &f));
		CHECK_STR(t->names + f.name, want[i]);
		CHECK_U64(f.start, ==, TEXT + 16 * quantum * i);
		CHECK_U64(f.end, ==, TEXT + 16 * quantum * (i + 1));
	}
	CHECK(!coati_go_function(t, 3, &f));
}

static void check_steps(const struct go_table *t)
{
	static const uint64_t ends[] = { 4, 12, 16 };
	static const uint32_t distances[] = { 0, 24, 0 };
	struct go_function f;
	struct go_steps s;
	struct go_step step;

	CHECK(coati_go_function(t, 0, &f));
	s = coati_go_steps(t, &f);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(coati_go_step_next(&s, &step), ==, 1);
		CHECK_U64(step.end, ==, TEXT + ends[i] * t->quantum);
		CHECK_U64(step.distance, ==, distances[i]);
	}
	CHECK_INT(coati_go_step_next(&s, &step), ==, 0);
}

TEST(go_table_has_functions_of_every_version)
{
	static const uint32_t magics[] = { GO_16, GO_18, GO_20 };
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	struct go_table t;
	struct copy c;

	for (size_t i = 0; i < 6; i++) {
		struct go_program p = { .magic = magics[i / 2],
					.machine = machines[i % 2],
					.text = TEXT };

		CHECK_INT(open_table(&p, &c, &t), ==, 1);
		check_functions(&t, i % 2 ? 4 : 1);
		check_steps(&t);
		coati_copy_close(&c);
	}
	CHECK_INT(open_table(&(struct go_program){ .magic = 0xfffffffb }, &c, &t), ==, 0);
	coati_copy_close(&c);
}

TEST(go_table_knows_where_the_code_begins)
{
	struct go_table t;
	struct copy c;
	struct go_program p = { .magic = GO_20, .relocation = TEXT };

	/* the head of a position-independent program is relocated */
	CHECK_INT(open_table(&p, &c, &t), ==, 1);
	check_functions(&t, 1);
	coati_copy_close(&c);
	/* no word: with .text, when the program begins in a function of Go */
	p = (struct go_program){ .magic = GO_20, .entry = TEXT + 16 };
	CHECK_INT(open_table(&p, &c, &t), ==, 1);
	check_functions(&t, 1);
	coati_copy_close(&c);
	p.entry = TEXT + 17;
	CHECK_INT(open_table(&p, &c, &t), ==, 0);
	coati_copy_close(&c);
}

TEST(go_table_is_searched_for_where_a_linker_gave_it_no_section)
{
	static struct elf_builder b;
	uint8_t data[1024 + 16] = { 0xf1, 0xff, 0xff, 0xff, 0, 0, 9, 8 };
	struct go_program p = { .magic = GO_20, .text = TEXT };
	size_t size = write_table(&p, data + 16);
	struct coati_error err;
	struct go_table t;
	struct copy c;

	for (int with = 0; with < 2; with++) {
		uint8_t *bytes;
		size_t whole;

		elf_builder_init(&b, false);
		b.machine = EM_X86_64;
		elf_builder_program(&b);
		elf_builder_section(&b, ".data.rel.ro", SHT_PROGBITS, data, size + 16);
		if (with)
			elf_builder_section(&b, ".go.buildinfo", SHT_PROGBITS, "x", 1);
		whole = elf_builder_finish(&b);
		bytes = coati_alloc(whole + 1);
		memcpy(bytes, b.bytes, whole);
		CHECK_OK(coati_copy_take(&c, bytes, whole, "program", &err));
		CHECK_INT(coati_go_table_init(&t, &c), ==, with);
		if (with)
			check_functions(&t, 1);
		coati_copy_close(&c);
	}
}

/* Whatever is cut or changed: no function outside of the bytes, and an end. */
static void look_at_all(const struct go_table *t)
{
	struct go_function f;
	struct go_step step;

	for (uint32_t i = 0; i < t->nr; i++) {
		struct go_steps s;
		uint64_t at;

		if (!coati_go_function(t, i, &f))
			continue;
		CHECK(f.start < f.end && f.name < t->names_size);
		CHECK(memchr(t->names + f.name, 0, t->names_size - f.name));
		at = f.start;
		s = coati_go_steps(t, &f);
		while (coati_go_step_next(&s, &step) > 0) {
			CHECK(step.start == at && step.end > at && step.end <= f.end);
			at = step.end;
		}
	}
}

TEST(go_table_bears_every_short_length_and_changed_byte)
{
	static struct elf_builder b;
	struct go_program p = { .magic = GO_20, .text = TEXT };
	size_t size = make(&b, &p);
	uint8_t *bytes;
	struct go_table t;
	struct copy c;
	int r;

	for (p.cut = 1; p.cut < size; p.cut++) {
		r = open_table(&p, &c, &t);
		CHECK(r == 0 || r == 1 || r == -EBADMSG);
		if (r > 0)
			look_at_all(&t);
		coati_copy_close(&c);
	}
	p.cut = 0;
	for (size_t i = 0; i < size * 3; i++) {
		static const uint8_t values[] = { 0, 0x7f, 0xff };

		CHECK_INT(open_table(&p, &c, &t), ==, 1);
		bytes = c.bytes + (t.bytes - c.bytes);
		bytes[i / 3] = values[i % 3];
		r = coati_go_table_init(&t, &c);
		CHECK(r == 0 || r == 1 || r == -EBADMSG);
		if (r > 0)
			look_at_all(&t);
		coati_copy_close(&c);
	}
}

TEST(image_of_a_stripped_go_program_has_the_names_of_its_table)
{
	static struct elf_builder b;
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_name name;
	uint32_t image;

	make(&b, &(struct go_program){ .magic = GO_20, .text = TEXT });
	elf_builder_write(&b, "program");
	image = ask_path(images, "program");
	CHECK_STR(ask_function(images, image, TEXT + 15), "main.main");
	name = ask_name(images, image, TEXT + 16);
	CHECK_STR(name.function, "main.leaf");
	CHECK_U64(name.start, ==, TEXT + 16);
	CHECK_U64(name.length, ==, 16);
	CHECK_INT(name.flags, ==, 0);
	CHECK_STR(ask_function(images, image, TEXT + 47), "runtime.goexit");
	CHECK(ask_name(images, image, TEXT + 48).flags & COATI_NAME_SYNTHETIC);
	CHECK_STR(ask_why(images, image), "");
	coati_images_free(&images);
}

TEST(image_of_a_go_program_takes_symbols_before_its_table)
{
	const struct elf_symbol symbol = {
		.name = "main.renamed", .value = TEXT, .size = 16, .type = STT_FUNC, .shndx = 1
	};
	static struct elf_builder b;
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image;

	make(&b, &(struct go_program){ .magic = GO_20, .text = TEXT });
	elf_builder_symbols(&b, false, &symbol, 1);
	elf_builder_write(&b, "program");
	image = ask_path(images, "program");
	CHECK_STR(ask_function(images, image, TEXT), "main.renamed");
	CHECK(ask_name(images, image, TEXT + 16).flags & COATI_NAME_SYNTHETIC);
	coati_images_free(&images);
}

TEST(image_says_that_the_table_of_a_go_program_is_damaged)
{
	static struct elf_builder b;
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image;

	make(&b, &(struct go_program){ .magic = GO_20, .text = TEXT, .cut = 100 });
	elf_builder_write(&b, "program");
	image = ask_path(images, "program");
	CHECK(ask_name(images, image, TEXT).flags & COATI_NAME_SYNTHETIC);
	CHECK_HAS(ask_why(images, image), ".gopclntab is damaged");
	coati_images_free(&images);
}

/* ---- unwind data ---- */

/* The rules at some offsets of a stripped program. */
static void rules_of(const struct go_program *p, const uint64_t *at, size_t nr,
		     struct table_rule *ret)
{
	static struct elf_builder b;
	struct coati_unwinder_opts opts = { .size = sizeof(opts),
					    .flags = COATI_UNWINDER_NO_CACHE };
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_unwinder *u;
	uint32_t image;

	CHECK_INT(setenv("XDG_CACHE_HOME", "/nonexistent", 1), ==, 0);
	make(&b, p);
	elf_builder_write(&b, "program");
	image = ask_path(images, "program");
	CHECK_OK(coati_unwinder_new(images, &opts, &u, NULL));
	CHECK_OK(coati_unwinder_prepare(u, image, NULL));
	for (size_t i = 0; i < nr; i++)
		ret[i] = table_unpack(
			table_find(&coati_unwinder_image(u, image)->table, TEXT + at[i]));
	coati_unwinder_free(&u);
	coati_images_free(&images);
}

TEST(unwind_of_a_stripped_go_program_follows_its_table)
{
	static const uint64_t at[] = { 0, 3, 4, 11, 12, 15, 20, 33 };
	static const int32_t offsets[] = { 8, 8, 32, 32, 8, 8, 8 };
	struct table_rule rules[8];

	rules_of(&(struct go_program){ .magic = GO_20, .text = TEXT }, at, 8, rules);
	for (int i = 0; i < 7; i++) {
		CHECK_INT(rules[i].cfa, ==, TABLE_CFA_SP);
		CHECK_INT(rules[i].cfa_off, ==, offsets[i]);
	}
	/* runtime.goexit is where goroutines begin */
	CHECK_INT(rules[7].cfa, ==, TABLE_CFA_END);
}

TEST(unwind_of_a_stripped_go_program_of_arm64_knows_where_the_return_address_is)
{
	static const uint64_t at[] = { 0, 12, 16, 44, 48 };
	static const int32_t offsets[] = { 0, 0, 24, 24, 0 };
	struct table_rule rules[5];

	rules_of(&(struct go_program){ .magic = GO_18, .machine = EM_AARCH64, .text = TEXT }, at, 5,
		 rules);
	for (int i = 0; i < 5; i++) {
		CHECK_INT(rules[i].cfa, ==, TABLE_CFA_SP);
		CHECK_INT(rules[i].cfa_off, ==, offsets[i]);
		CHECK_INT(rules[i].other, ==, offsets[i] ? TABLE_AT_CFA : TABLE_SAME);
		CHECK_INT(rules[i].other_off, ==, -offsets[i]);
	}
}

TEST(unwind_of_a_stripped_go_program_bears_every_failing_allocation)
{
	struct go_program p = { .magic = GO_20, .text = TEXT };
	uint8_t *bytes = NULL;
	size_t size = 0;
	struct go_table t;
	struct copy c;
	int r = -ENOMEM;

	CHECK_INT(open_table(&p, &c, &t), ==, 1);
	for (unsigned int n = 0; r < 0; n++) {
		coati_alloc_fail_after(n);
		r = coati_unwind_go_frames(&t, EM_X86_64, &bytes, &size);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
	}
	CHECK_U64(size, ==, 18 + 3 * 24 + 2 + 3 + 3 + 2 + 2);
	coati_free(bytes);
	coati_copy_close(&c);
}
