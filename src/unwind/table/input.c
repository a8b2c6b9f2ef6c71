/* SPDX-License-Identifier: MIT */
/*
 * An ELF file comes in; its unwind sections, executable segments and stubs go out. Without section
 * headers (they are the first that is stripped, and memory images have none) .eh_frame is found
 * through the program header of its index.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "unwind/table/build.h"

static int add_code(const struct elf *elf, struct table_input *in)
{
	for (uint32_t i = 0; i < elf->phnum; i++) {
		struct elf_segment s;
		struct table_code *c = &in->code[in->nr_code];
		int r = coati_elf_segment(elf, i, &s);

		if (r < 0)
			return r;
		if (s.type != PT_LOAD || !(s.flags & PF_X) || !s.memsz)
			continue;
		if (in->nr_code == TABLE_RANGES_MAX)
			return -E2BIG;
		*c = (struct table_code){ .start = s.vaddr, .size = s.memsz };
		if (s.offset <= elf->size && s.filesz <= elf->size - s.offset) {
			c->bytes = elf->bytes + s.offset;
			c->nr_bytes = (size_t)(s.filesz < s.memsz ? s.filesz : s.memsz);
		}
		in->nr_code++;
	}
	return in->nr_code ? 0 : -ENODATA;
}

/* Linkers put constants into the same segment: between the first and the last executable section is
 * the code. */
static int narrow_code(const struct elf *elf, struct table_code *c)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < elf->shnum; i++) {
		struct elf_section s;
		int r = coati_elf_section(elf, i, &s);

		if (r < 0)
			return r;
		if (!(s.flags & SHF_EXECINSTR) || s.vaddr - c->start >= c->size ||
		    s.size > c->size - (s.vaddr - c->start))
			continue;
		start = s.vaddr < start ? s.vaddr : start;
		end = s.vaddr + s.size > end ? s.vaddr + s.size : end;
	}
	if (start >= end)
		return 0;
	/* buckets begin at round addresses: nicer to look at, and nothing else */
	start = (start & ~UINT64_C(1023)) > c->start ? start & ~UINT64_C(1023) : c->start;
	if (c->bytes && start - c->start <= c->nr_bytes) {
		c->bytes += start - c->start;
		c->nr_bytes -= (size_t)(start - c->start);
	} else {
		c->bytes = NULL;
	}
	c->start = start;
	c->size = end - start;
	if (c->nr_bytes > c->size)
		c->nr_bytes = (size_t)c->size;
	return 0;
}

static void add_section(const struct elf *elf, const struct elf_section *s, bool is_debug,
			struct table_input *in)
{
	size_t size;
	const uint8_t *bytes = coati_elf_section_bytes(elf, s, &size);

	if (!bytes || !size || in->nr_sections == 2)
		return;
	if (s->flags & SHF_COMPRESSED || !strcmp(s->name, ".zdebug_frame")) {
		if (!is_debug)
			return; /* it is not what the program itself would find in memory */
		in->packed = bytes;
		in->packed_size = size;
		in->is_packed_flagged = s->flags & SHF_COMPRESSED;
		return;
	}
	in->sections[in->nr_sections++] = (struct cfi_section){
		.bytes = bytes, .size = size, .vaddr = s->vaddr, .is_debug = is_debug
	};
}

void coati_table_input_add(struct table_input *in, const uint8_t *bytes, size_t size)
{
	if (!size || in->nr_sections == 2)
		return;
	in->sections[in->nr_sections++] = (struct cfi_section){
		.bytes = bytes, .size = size, .is_debug = true, .text = in->text, .data = in->data
	};
}

static void add_stubs(const struct elf_section *s, struct table_input *in)
{
	if (in->nr_stubs == TABLE_STUBS_MAX || !(s->flags & SHF_EXECINSTR) || !s->size)
		return;
	in->stubs[in->nr_stubs++] = (struct table_stubs){ .start = s->vaddr,
							  .size = s->size,
							  .is_lazy = !strcmp(s->name, ".plt"),
							  .is_init = s->name[1] != 'p' };
}

static int add_sections(const struct elf *elf, struct table_input *in)
{
	struct elf_section debug = { .type = SHT_NULL };

	for (uint32_t i = 0; i < elf->shnum; i++) {
		struct elf_section s;
		int r = coati_elf_section(elf, i, &s);

		if (r < 0)
			return r;
		if (!strcmp(s.name, ".eh_frame"))
			add_section(elf, &s, false, in);
		else if (!strcmp(s.name, ".debug_frame") || !strcmp(s.name, ".zdebug_frame"))
			debug = s;
		else if (!strncmp(s.name, ".plt", 4) || !strcmp(s.name, ".init") ||
			 !strcmp(s.name, ".fini"))
			add_stubs(&s, in);
		else if (!strcmp(s.name, ".text"))
			in->text = s.vaddr;
		else if (!strcmp(s.name, ".got"))
			in->data = s.vaddr;
	}
	if (debug.type == SHT_PROGBITS)
		add_section(elf, &debug, true, in);
	for (uint32_t i = 0; i < in->nr_sections; i++) {
		in->sections[i].text = in->text;
		in->sections[i].data = in->data;
	}
	return 0;
}

/* The index begins with version 1, three encodings, and the pointer to .eh_frame; that one ends
 * where its segment does. */
static void add_by_header(const struct elf *elf, const struct elf_segment *hdr,
			  struct table_input *in)
{
	struct cfi_section s = { .bytes = elf->bytes + hdr->offset, .vaddr = hdr->vaddr };
	struct elf_segment load;
	struct cursor c;
	uint64_t vaddr, off;
	uint8_t encoding;

	if (hdr->offset > elf->size || hdr->filesz > elf->size - hdr->offset)
		return;
	s.size = (size_t)hdr->filesz;
	s.data = hdr->vaddr;
	c = cursor_over(s.bytes, s.size);
	if (cursor_u8(&c) != 1)
		return;
	encoding = cursor_u8(&c);
	cursor_skip(&c, 2);
	vaddr = coati_cfi_pointer(&c, &s, encoding & 0x7f);
	if (c.bad || coati_elf_segment_at(elf, vaddr, &load) < 0)
		return;
	off = vaddr - load.vaddr;
	in->sections[in->nr_sections++] =
		(struct cfi_section){ .bytes = elf->bytes + load.offset + off,
				      .size = (size_t)(load.filesz - off),
				      .vaddr = vaddr,
				      .stops_at_end = true };
}

static int find_header(const struct elf *elf, struct table_input *in)
{
	for (uint32_t i = 0; i < elf->phnum && !in->nr_sections; i++) {
		struct elf_segment s;
		int r = coati_elf_segment(elf, i, &s);

		if (r < 0)
			return r;
		if (s.type == PT_GNU_EH_FRAME)
			add_by_header(elf, &s, in);
	}
	return 0;
}

static int read_input(const struct elf *elf, struct table_input *in)
{
	int r = add_code(elf, in);

	for (uint32_t i = 0; r >= 0 && i < in->nr_code; i++)
		r = narrow_code(elf, &in->code[i]);
	if (r >= 0)
		r = add_sections(elf, in);
	if (r >= 0 && !in->nr_sections)
		r = find_header(elf, in);
	return r;
}

int coati_table_input(const struct elf *elf, struct table_input *ret, struct coati_error *err)
{
	struct table_input in = { .machine = elf->machine, .entry = elf->entry };
	int r;

	if (elf->swap)
		return coati_fail(
			err, -EOPNOTSUPP,
			"it has the other byte order: its stacks are unwound on such a machine");
	if (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64)
		return coati_fail(err, -EOPNOTSUPP,
				  "it is for machine %u: only x86-64 and arm64 are unwound",
				  elf->machine);
	r = read_input(elf, &in);
	if (r == -ENODATA)
		return coati_fail(err, r, "it has no executable code");
	if (r == -E2BIG)
		return coati_fail(err, r, "it has more than %u executable segments",
				  TABLE_RANGES_MAX);
	if (r < 0)
		return coati_fail(err, r, "its headers are damaged");
	in.build_id_size = (uint32_t)coati_elf_build_id(elf, in.build_id);
	*ret = in;
	return 0;
}
