/* SPDX-License-Identifier: MIT */
/*
 * A file comes in, the functions go out whose unwind data must not be followed. Go describes all
 * its functions as if they were called and returned, also those in which a goroutine or a thread
 * begins, those that go on on another stack, and the one to which the kernel returns from a signal
 * handler. What lies above their frames is not a caller.
 */
#include <elf.h>
#include <string.h>

#include "unwind/unwinder.h"

static const struct {
	const char *name;
	enum table_mark_kind kind;
} marks[] = {
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

static bool is_go(const struct copy *file)
{
	struct elf_section s;

	for (uint32_t i = 1; i < file->elf.shnum; i++)
		if (coati_elf_section(&file->elf, i, &s) == 0 && strstr(s.name, "gopclntab"))
			return true;
	return false;
}

/* "runtime.goexit" and, since functions have two calling conventions, "runtime.goexit.abi0". */
static void add_mark(struct table_input *in, const struct elf_symbol *sym)
{
	const char *name = sym->name;
	size_t len;

	if (strncmp(name, "runtime.", 8) != 0)
		return;
	name += 8;
	len = strlen(name);
	if (len > 5 && !strcmp(name + len - 5, ".abi0"))
		len -= 5;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strlen(marks[i].name) == len && !memcmp(name, marks[i].name, len) &&
		    in->nr_marks < TABLE_MARKS_MAX)
			in->marks[in->nr_marks++] = (struct table_mark){ .start = sym->value,
									 .size = sym->size,
									 .kind = marks[i].kind };
}

void coati_unwind_find_roots(struct copy *file, struct table_input *in)
{
	struct elf_section table, strings;
	struct elf_symbols symbols;
	struct elf_symbol sym;
	size_t size;

	if (!is_go(file) || coati_elf_section_find(&file->elf, ".symtab", &table) <= 0 ||
	    coati_elf_section(&file->elf, table.link, &strings) < 0 ||
	    !coati_copy_section(file, &table, &size) ||
	    !coati_copy_section(file, &strings, &size) ||
	    coati_elf_symbols(&file->elf, &table, &symbols) < 0)
		return;
	while (coati_elf_symbol_next(&symbols, &sym) > 0)
		if (sym.type == STT_FUNC && sym.size)
			add_mark(in, &sym);
}
