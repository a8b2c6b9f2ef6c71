/* SPDX-License-Identifier: MIT */
/*
 * A file comes in, the functions go out in which stacks begin. Go describes all its functions as if
 * they were called and returned, also those in which a goroutine or a thread begins, those that go
 * on on another stack, and the one to which the kernel returns from a signal handler: what lies
 * above their frames is not a caller, and their unwind data must not be followed. musl has no
 * unwind data: what calls main() and the functions of threads is known by its name.
 */
#include <elf.h>
#include <string.h>

#include "image/go-table.h"
#include "unwind/unwinder.h"

static const struct {
	const char *name;
	enum table_mark_kind kind;
} go_marks[] = {
	{ "goexit", TABLE_MARK_ROOT },
	{ "mstart", TABLE_MARK_ROOT },
	{ "mcall", TABLE_MARK_ROOT },
	{ "rt0_go", TABLE_MARK_ROOT },
	/* on another stack: the frame pointer leads back to the first one */
	{ "systemstack", TABLE_MARK_GAP },
	{ "morestack", TABLE_MARK_GAP },
	{ "asmcgocall", TABLE_MARK_GAP },
	/* its bytes tell what it is when no rule stands in their way */
	{ "sigreturn", TABLE_MARK_GAP },
	{ "sigreturn__sigaction", TABLE_MARK_GAP },
};

/* Of static programs; "start" is a name that others may have, too, and counts beside the first
 * one. */
static const char *const musl_starts[] = {
	"libc_start_main_stage2", "__libc_start_main", "_start_c", "start", "start_c11", "__clone"
};

static void add(struct table_input *in, uint64_t start, uint64_t size, enum table_mark_kind kind)
{
	if (in->nr_marks < TABLE_MARKS_MAX && size)
		in->marks[in->nr_marks++] =
			(struct table_mark){ .start = start, .size = size, .kind = kind };
}

/* "runtime.goexit" and, since functions have two calling conventions, "runtime.goexit.abi0". */
static void add_go(struct table_input *in, const char *name, uint64_t start, uint64_t size)
{
	size_t len;

	if (strncmp(name, "runtime.", 8) != 0)
		return;
	name += 8;
	len = strlen(name);
	if (len > 5 && !strcmp(name + len - 5, ".abi0"))
		len -= 5;
	for (size_t i = 0; i < sizeof(go_marks) / sizeof(*go_marks); i++)
		if (strlen(go_marks[i].name) == len && !memcmp(name, go_marks[i].name, len))
			add(in, start, size, go_marks[i].kind);
}

static bool find_symbols(struct copy *file, struct elf_symbols *ret)
{
	struct elf_section table, strings;
	size_t size;

	return coati_elf_section_find(&file->elf, ".symtab", &table) > 0 &&
	       coati_elf_section(&file->elf, table.link, &strings) == 0 &&
	       coati_copy_section(file, &table, &size) &&
	       coati_copy_section(file, &strings, &size) &&
	       coati_elf_symbols(&file->elf, &table, ret) == 0;
}

/* By the name of a section: tables of older programs are not read, but their symbols are. */
static bool is_go(const struct elf *e)
{
	struct elf_section s;

	for (uint32_t i = 1; i < e->shnum; i++)
		if (coati_elf_section(e, i, &s) == 0 && strstr(s.name, "gopclntab"))
			return true;
	return false;
}

/* By symbols, or where they were stripped by Go's own table. */
static void find_go(struct copy *file, const struct go_table *t, struct table_input *in)
{
	struct elf_symbols symbols;
	struct go_function f;
	struct elf_symbol sym;

	if (find_symbols(file, &symbols)) {
		while (coati_elf_symbol_next(&symbols, &sym) > 0)
			if (sym.type == STT_FUNC)
				add_go(in, sym.name, sym.value, sym.size);
		return;
	}
	for (uint32_t i = 0; i < t->nr; i++)
		if (coati_go_function(t, i, &f))
			add_go(in, t->names + f.name, f.start, f.end - f.start);
}

/* A program that no other program loads. */
static bool is_static(const struct elf *e)
{
	struct elf_segment s;

	for (uint32_t i = 0; i < e->phnum; i++)
		if (coati_elf_segment(e, i, &s) < 0 || s.type == PT_INTERP)
			return false;
	return e->entry;
}

static void find_musl(struct copy *file, struct table_input *in)
{
	uint32_t nr_before = in->nr_marks;
	struct elf_symbols symbols;
	struct elf_symbol sym;
	bool is_musl = false;

	if (!is_static(&file->elf) || !find_symbols(file, &symbols))
		return;
	while (coati_elf_symbol_next(&symbols, &sym) > 0) {
		is_musl |= !strcmp(sym.name, musl_starts[0]);
		for (size_t i = 0; i < sizeof(musl_starts) / sizeof(*musl_starts); i++)
			if (sym.type == STT_FUNC && !strcmp(sym.name, musl_starts[i]))
				add(in, sym.value, sym.size, TABLE_MARK_START);
	}
	if (!is_musl)
		in->nr_marks = nr_before;
}

void coati_unwind_find_roots(struct copy *file, struct table_input *in)
{
	struct go_table t;
	int r = coati_go_table_init(&t, file);

	if (r <= 0)
		t.nr = 0;
	if (r > 0 || is_go(&file->elf))
		find_go(file, &t, in);
	else
		find_musl(file, in);
}
