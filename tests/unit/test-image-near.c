/* SPDX-License-Identifier: MIT */
/* Symbols near some addresses, searched in a file or in kallsyms: the same answers as from all. */
#include "lib/test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/kernel.h"
#include "image/symbols-near.h"

#define NR_SYMBOLS   4000
#define NR_ADDRESSES 60
#define TEXT_END     UINT64_C(0x800000)

static uint64_t draw(uint64_t below)
{
	return test_random() % below;
}

/* ---- symbol tables ---- */

struct table {
	Elf64_Sym v[NR_SYMBOLS];
	char names[NR_SYMBOLS * 8 + 1];
};

/* Mostly short functions; some long ones around others, aliases and labels without a size. */
static Elf64_Sym draw_symbol(uint64_t last)
{
	static const uint64_t sizes[] = { 0, 16, 64, 200, 3000, 40000 };
	static const uint8_t types[] = { STT_FUNC, STT_FUNC, STT_FUNC, STT_NOTYPE, STT_OBJECT };

	return (Elf64_Sym){
		.st_value = draw(8) ? draw(TEXT_END) : last,
		.st_size = sizes[draw(6)],
		.st_info = (unsigned char)ELF64_ST_INFO(draw(3), types[draw(5)]),
		.st_shndx = draw(20) ? 1 : SHN_UNDEF,
	};
}

static void draw_table(struct table *t)
{
	memset(t, 0, sizeof(*t));
	for (uint32_t i = 1; i < NR_SYMBOLS; i++) {
		t->v[i] = draw_symbol(t->v[i - 1].st_value);
		t->v[i].st_name = 8 * i;
		snprintf(t->names + 8 * i, 8, "%sf%llu", draw(4) ? "" : "_",
			 (unsigned long long)draw(5000));
	}
}

static void take_whole(const struct table *t, struct symbols *ret)
{
	coati_symbols_init(ret);
	CHECK(coati_symbols_strings(ret, t->names, sizeof(t->names)) == 0);
	for (uint32_t i = 1; i < NR_SYMBOLS; i++) {
		const struct elf_symbol sym = { .name = t->names + t->v[i].st_name,
						.value = t->v[i].st_value,
						.size = t->v[i].st_size,
						.type = ELF64_ST_TYPE(t->v[i].st_info),
						.bind = ELF64_ST_BIND(t->v[i].st_info),
						.shndx = t->v[i].st_shndx };
		const struct symbol_found f = { .start = sym.value,
						.size = (uint32_t)sym.size,
						.name = t->v[i].st_name,
						.rank = coati_symbols_rank(&sym) };

		if (coati_symbols_is_function(&sym, EM_X86_64))
			CHECK_OK(coati_symbols_add(ret, &f, 0));
	}
	CHECK_OK(coati_symbols_finish(ret));
}

static int take_near(const struct table *t, const struct symbols_near *near, struct symbols *ret)
{
	int fd = open("table", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r;
	struct symbols_table where = { .fd = fd,
				       .size = sizeof(t->v),
				       .strings_size = sizeof(t->names),
				       .machine = EM_X86_64 };

	CHECK(fd >= 0);
	CHECK_OK(coati_write_all(fd, t->v, sizeof(t->v)));
	coati_symbols_init(ret);
	CHECK(coati_symbols_strings(ret, t->names, sizeof(t->names)) == 0);
	r = coati_symbols_add_near(ret, &where, near);
	if (r == 0)
		CHECK_OK(coati_symbols_finish(ret));
	close(fd);
	return r;
}

/* The one that covers the address, as an image looks for it. */
static const struct symbol *covering(const struct symbols *s, uint64_t addr)
{
	const struct symbol *sym = coati_symbols_before(s, addr);

	if (sym && !symbol_size(sym))
		return sym + 1 == s->v + s->nr || addr < sym[1].start ? sym : NULL;
	for (; sym; sym--) {
		if (addr - sym->start < symbol_size(sym))
			return sym;
		if (!(sym->size & SYMBOL_NESTED))
			break;
	}
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void draw_addresses(struct symbols_near *near, uint64_t base, uint64_t size)
{
	near->nr = NR_ADDRESSES;
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		near->v[i] = base + draw(size);
	qsort(near->v, near->nr, sizeof(*near->v), by_value);
}

static void check_answer(const struct symbols *whole, const struct symbols *near, uint64_t addr)
{
	const struct symbol *a = covering(whole, addr), *b = covering(near, addr);

	CHECK(!a == !b);
	if (!a || !b)
		return;
	CHECK_U64(a->start, ==, b->start);
	CHECK_U64(symbol_size(a), ==, symbol_size(b));
	CHECK_U64(a->size & SYMBOL_ALIASED, ==, b->size & SYMBOL_ALIASED);
	CHECK_STR(coati_symbols_name(whole, a), coati_symbols_name(near, b));
}

TEST(symbols_near_an_address_answer_as_the_whole_table)
{
	static struct table t;
	uint64_t room[NR_ADDRESSES], told = 0, kept = 0;
	struct symbols_near near = { .v = room };

	for (int round = 0; round < 40; round++) {
		struct symbols whole, some;

		draw_table(&t);
		draw_addresses(&near, 0, TEXT_END);
		take_whole(&t, &whole);
		CHECK_OK(take_near(&t, &near, &some));
		for (size_t i = 0; i < near.nr; i++) {
			if (!coati_symbols_tells(&some, &near, near.v[i], 0))
				continue;
			told++;
			check_answer(&whole, &some, near.v[i]);
		}
		kept += some.nr;
		CHECK(!coati_symbols_tells(&some, &near, TEXT_END + 1, 0));
		coati_symbols_fini(&whole);
		coati_symbols_fini(&some);
	}
	/* it says something, and of few symbols */
	CHECK(told > 500);
	CHECK(kept < told * 40);
}

/* ---- kallsyms ---- */

#define KERNEL UINT64_C(0xffffffff81000000)
#define MODULE UINT64_C(0xffffffffa0000000)

/* Sorted as the kernel's own, then modules as they were loaded. */
static void draw_list(char *text, size_t size)
{
	static const char types[] = "TtWDA";
	uint64_t at = KERNEL;
	size_t n = (size_t)snprintf(text, size, "0000000000000000 A percpu\n%llx T _text\n",
				    (unsigned long long)at);

	for (int i = 0; i < 1500; i++) {
		at += draw(3) * 16 * draw(20);
		n += (size_t)snprintf(text + n, size - n, "%llx %c k%d\n", (unsigned long long)at,
				      types[draw(5)], i);
	}
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(text + n, size - n, "%llx t m%d\t[mod%d]\n",
				      (unsigned long long)(MODULE + draw(100000)), i, i % 5);
}

static char *near_lines(const char *text, const struct symbols_near *near, size_t *ret_size)
{
	struct kernel_lines *l = coati_kernel_lines_new(near);
	char *copy = coati_strdup(text), *ret = NULL;
	size_t size = strlen(text), at = 0;
	int r = 0;

	CHECK(l && copy);
	while (r == 0 && at < size) {
		size_t n = 1 + draw(900);

		n = n < size - at ? n : size - at;
		r = coati_kernel_lines_add(l, copy + at, n);
		at += n;
	}
	CHECK(r >= 0);
	CHECK_OK(coati_kernel_lines_take(l, &ret, ret_size));
	coati_kernel_lines_free(&l);
	coati_free(copy);
	return ret;
}

static void check_kernel(const struct kernel *whole, const struct kernel *some, uint64_t addr)
{
	const char *a_module = "", *b_module = "";
	const struct symbol *a = coati_kernel_find(whole, addr, &a_module);
	const struct symbol *b = coati_kernel_find(some, addr, &b_module);

	CHECK(!a == !b);
	if (!a || !b)
		return;
	CHECK_U64(a->start, ==, b->start);
	CHECK_U64(symbol_size(a), ==, symbol_size(b));
	CHECK_STR(coati_symbols_name(&whole->symbols, a), coati_symbols_name(&some->symbols, b));
	CHECK_STR(a_module, b_module);
}

/* @span: the kernel proper alone, or modules as well. */
static void compare_lists(uint64_t span)
{
	static char text[200000];
	uint64_t room[NR_ADDRESSES];
	struct symbols_near near = { .v = room };
	struct kernel whole = { 0 }, some = { 0 };
	size_t size = 0;
	char *lines;

	draw_list(text, sizeof(text));
	draw_addresses(&near, KERNEL, span);
	if (span > 1000000)
		for (size_t i = NR_ADDRESSES / 2; i < NR_ADDRESSES; i++)
			near.v[i] = MODULE + 1700 * i;
	lines = near_lines(text, &near, &size);
	CHECK(size < strlen(text) / 2);
	CHECK_OK(coati_kernel_take(&whole, coati_strdup(text), strlen(text)));
	CHECK_OK(coati_kernel_take(&some, lines, size));
	CHECK_U64(some.text_start, ==, KERNEL);
	for (size_t i = 0; i < near.nr; i++)
		check_kernel(&whole, &some, near.v[i]);
	coati_kernel_fini(&whole);
	coati_kernel_fini(&some);
}

TEST(kernel_lines_near_an_address_answer_as_the_whole_list)
{
	for (int i = 0; i < 30; i++) {
		compare_lists(200000);
		compare_lists(2000000);
	}
}

/* Nothing was read of it, and nothing is calculated from where it would be. */
TEST(symbols_near_of_a_table_without_symbols_are_none)
{
	uint64_t addr = 0x1000;
	struct symbols_near near = { .v = &addr, .nr = 1 };
	struct symbols none = { 0 };

	CHECK(coati_symbols_tells(&none, &near, addr, 0));
	CHECK(!coati_symbols_tells(&none, &near, addr + 1, 0));
}
