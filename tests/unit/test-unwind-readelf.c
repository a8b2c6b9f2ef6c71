/* SPDX-License-Identifier: MIT */
/*
 * Every row of some installed files against readelf's own reading of the same unwind data. readelf
 * prints the CFA and each register as a word; the table's rule is printed the same way and the
 * words are compared.
 */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "unwind/table/build.h"

#define COLUMNS_MAX 40

struct columns {
	int fp, other, ra; /* index of a word in a row, -1: not there */
};

static const char *const names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
				     "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip" };

static int split(char *line, char **words)
{
	int n = 0;
	char *rest = line;

	while (n < COLUMNS_MAX && (words[n] = strsep(&rest, " \n")))
		if (*words[n] && *words[n] != '(') /* "r10 (r10)" is one thing */
			n++;
	return n;
}

static struct columns read_columns(char **words, int n)
{
	struct columns c = { -1, -1, -1 };

	for (int i = 0; i < n; i++) {
		if (!strcmp(words[i], "rbp"))
			c.fp = i;
		else if (!strcmp(words[i], "rbx"))
			c.other = i;
		else if (!strcmp(words[i], "ra"))
			c.ra = i;
	}
	return c;
}

static bool is_word(const char *word, uint8_t where, int32_t off)
{
	char want[32];

	if (where == TABLE_SAME)
		return !word || !strcmp(word, "u") || !strcmp(word, "s");
	if (where == TABLE_AT_CFA) {
		snprintf(want, sizeof(want), "c%+d", off);
		return word && !strcmp(word, want);
	}
	if (where == TABLE_LOST)
		return word && strncmp(word, "c", 1) != 0;
	return word && !strcmp(word, "exp");
}

static bool is_cfa(const char *word, const struct table_rule *r)
{
	const char *reg = r->cfa == TABLE_CFA_FP    ? "rbp"
			  : r->cfa == TABLE_CFA_REG ? names[r->arg % 17]
						    : "rsp";
	char want[32];

	switch (r->cfa) {
	case TABLE_CFA_SP:
	case TABLE_CFA_FP:
	case TABLE_CFA_REG:
	case TABLE_CFA_RA_REG:
		snprintf(want, sizeof(want), "%s%+d", reg, r->cfa_off);
		return !strcmp(word, want);
	default:
		return !strcmp(word, "exp");
	}
}

/* Does the rule at the row's address say what the row says? */
static bool is_same(const struct table *t, char **words, int n, const struct columns *c)
{
	uint64_t vaddr = 0;
	struct table_rule r;

	for (const char *p = words[0]; *p; p++)
		vaddr = vaddr << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	r = table_unpack(table_find(t, vaddr));
	if (r.cfa == TABLE_CFA_UNSUPPORTED || r.cfa == TABLE_CFA_SIGNAL)
		return !strcmp(words[1], "exp") || strcmp(words[c->ra], "c-8") != 0;
	if (r.cfa == TABLE_CFA_END)
		return c->ra > 0 && !strcmp(words[c->ra], "u");
	if (!is_cfa(words[1], &r) || (c->ra > 0 && c->ra < n && !strcmp(words[c->ra], "u")))
		return false;
	return is_word(c->fp > 0 ? words[c->fp] : NULL, r.fp, r.fp_off) &&
	       is_word(c->other > 0 ? words[c->other] : NULL, r.other, r.other_off);
}

static void build_table(const char *path, struct elf *elf, struct table *ret, void **ret_bytes)
{
	struct table_input in;
	size_t size;

	CHECK_OK(coati_elf_open(path, elf, NULL));
	CHECK_OK(coati_table_input(elf, &in, NULL));
	CHECK_OK(coati_table_build(&in, ret_bytes, &size));
	CHECK_OK(coati_table_open(*ret_bytes, size, ret));
}

static void compare_file(const char *path)
{
	char command[256], line[1024], copy[1024], *words[COLUMNS_MAX + 1];
	struct columns c = { -1, -1, -1 };
	struct table t;
	struct elf elf;
	bool is_fde = false;
	void *bytes;
	long rows = 0, differ = 0;
	FILE *f;

	if (access(path, R_OK) < 0)
		test_skip("%s is not here", path);
	build_table(path, &elf, &t, &bytes);
	if (t.machine != 62)
		test_skip("readelf's words are known for x86-64 only");
	snprintf(command, sizeof(command), "LC_ALL=C readelf --debug-dump=frames-interp %s 2>&1",
		 path);
	f = popen(command, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		int n;

		memcpy(copy, line, sizeof(copy));
		n = split(line, words);
		if (strstr(copy, " FDE "))
			is_fde = true;
		else if (strstr(copy, " CIE "))
			is_fde = false;
		else if (n > 2 && !strcmp(words[0], "LOC"))
			c = read_columns(words, n);
		else if (is_fde && n > 2 && strlen(words[0]) == 16 && c.ra < n) {
			rows++;
			if (!is_same(&t, words, n, &c) && !differ++)
				test_note("%s differs: %s", path, copy);
		}
	}
	pclose(f);
	CHECK_INT(differ, ==, 0);
	if (rows < 100)
		test_skip("readelf does not tell frames here");
	test_note("%s: %ld rows", path, rows);
	coati_free(bytes);
	coati_elf_close(&elf);
}

TEST(unwind_table_of_libc_is_what_readelf_reads)
{
	compare_file("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(unwind_table_of_libcrypto_is_what_readelf_reads)
{
	compare_file("/lib/x86_64-linux-gnu/libcrypto.so.3");
}

TEST(unwind_table_of_the_dynamic_linker_is_what_readelf_reads)
{
	compare_file("/lib64/ld-linux-x86-64.so.2");
}

TEST(unwind_table_of_perl_is_what_readelf_reads)
{
	compare_file("/usr/bin/perl");
}

TEST(unwind_table_of_the_test_program_is_what_readelf_reads)
{
	char path[256];
	ssize_t n = test_emulated() ? 0 : readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (test_emulated())
		test_skip("/proc/self/exe is the emulator");
	CHECK(n > 0);
	path[n] = 0;
	compare_file(path);
}
