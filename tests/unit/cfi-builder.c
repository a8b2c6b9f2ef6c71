/* SPDX-License-Identifier: MIT */
/* See cfi-builder.h. */
#include "unit/cfi-builder.h"

#include <elf.h>
#include <stdio.h>

#include "base/alloc.h"
#include "lib/test.h"

void cfi_builder_init(struct cfi_builder *b)
{
	memset(b, 0, sizeof(*b));
	b->at = writer_over(b->bytes, sizeof(b->bytes));
	b->version = 1;
	b->encoding = 0x1b;
	b->machine = EM_X86_64;
	b->letters = "zR";
	memset(b->code, 0xcc, sizeof(b->code));
}

static size_t begin(struct cfi_builder *b)
{
	size_t start = b->at.len;

	if (b->is_wide)
		writer_u32(&b->at, UINT32_MAX);
	if (b->is_wide)
		writer_u64(&b->at, 0);
	else
		writer_u32(&b->at, 0);
	return start;
}

static void end(struct cfi_builder *b, size_t start)
{
	size_t head = b->is_wide ? 12 : 4;
	uint64_t length;

	writer_zeros(&b->at, (8 - ((b->at.len - start - head) & 7)) & 7);
	length = b->at.len - start - head;
	CHECK(!b->at.full);
	memcpy(b->bytes + start + head - (b->is_wide ? 8 : 4), &length, b->is_wide ? 8 : 4);
}

static void put_id(struct cfi_builder *b, uint64_t id)
{
	if (b->is_debug && b->is_wide)
		writer_u64(&b->at, id);
	else
		writer_u32(&b->at, (uint32_t)id);
}

void cfi_builder_cie(struct cfi_builder *b, const void *program, size_t size)
{
	static const uint8_t x86[] = { 0x0c, 7, 8, 0x90, 1 }, arm64[] = { 0x0c, 31, 0 };
	bool is_x86 = b->machine == EM_X86_64;
	const char *l;

	b->cie = begin(b);
	put_id(b, b->is_debug ? UINT64_MAX : 0);
	writer_u8(&b->at, b->version);
	writer_bytes(&b->at, b->letters, strlen(b->letters) + 1);
	if (!strncmp(b->letters, "eh", 2))
		writer_u64(&b->at, 0x1234); /* as the first compilers wrote */
	if (b->version == 4)
		writer_u16(&b->at, 8); /* address size, segment size */
	writer_u8(&b->at, is_x86 ? 1 : 4);
	writer_u8(&b->at, 0x78); /* -8 */
	writer_u8(&b->at, is_x86 ? 16 : 30);
	if (b->letters[0] == 'z') {
		size_t at = b->at.len;

		writer_u8(&b->at, 0);
		for (l = b->letters + 1; *l; l++) {
			if (*l == 'R')
				writer_u8(&b->at, b->encoding);
			else if (*l == 'L')
				writer_u8(&b->at, 0x0c); /* not what is behind it */
			else if (*l == 'P') {
				writer_u8(&b->at, 0x9b);
				writer_u32(&b->at, 1234);
			}
		}
		b->bytes[at] = (uint8_t)(b->at.len - at - 1);
	}
	if (!b->is_bare)
		writer_bytes(&b->at, is_x86 ? x86 : arm64, is_x86 ? sizeof(x86) : sizeof(arm64));
	writer_bytes(&b->at, program, size);
	end(b, b->cie);
}

static void put_number(struct cfi_builder *b, uint64_t v)
{
	switch (b->encoding & 0x0f) {
	case 0x2:
	case 0xa:
		writer_u16(&b->at, (uint16_t)v);
		break;
	case 0x3:
	case 0xb:
		writer_u32(&b->at, (uint32_t)v);
		break;
	case 0x1:
	case 0x9:
		/* six groups of seven bits hold every address here, with either sign */
		for (int i = 0; i < 5; i++, v >>= 7)
			writer_u8(&b->at, (uint8_t)(v | 0x80));
		writer_u8(&b->at, (uint8_t)(v & 0x7f));
		break;
	default:
		writer_u64(&b->at, v);
	}
}

void cfi_builder_fde(struct cfi_builder *b, uint64_t start, uint64_t length, const void *program,
		     size_t size)
{
	size_t at = begin(b);

	put_id(b, b->is_debug ? b->cie : b->at.len - b->cie);
	if (b->encoding == 0x50)
		while ((CFI_VADDR + b->at.len) % 8)
			writer_u8(&b->at, 0);
	if ((b->encoding & 0x70) == 0x10)
		put_number(b, start - (CFI_VADDR + b->at.len));
	else if ((b->encoding & 0x70) == 0x20)
		put_number(b, start - CFI_TEXT);
	else if ((b->encoding & 0x70) == 0x30)
		put_number(b, start - (CFI_TEXT - 0x800));
	else
		put_number(b, start);
	put_number(b, length);
	if (b->letters[0] == 'z')
		writer_u8(&b->at, 0);
	writer_bytes(&b->at, program, size);
	end(b, at);
}

void cfi_builder_input(struct cfi_builder *b, struct table_input *ret)
{
	*ret = (struct table_input){ .machine = b->machine, .nr_code = 1, .nr_sections = 1 };
	ret->code[0] = (struct table_code){ .start = CFI_TEXT,
					    .size = sizeof(b->code),
					    .bytes = b->code,
					    .nr_bytes = sizeof(b->code) };
	ret->sections[0] = (struct cfi_section){ .bytes = b->bytes,
						 .size = b->at.len,
						 .vaddr = CFI_VADDR,
						 .is_debug = b->is_debug,
						 .text = CFI_TEXT,
						 .data = CFI_TEXT - 0x800 };
}

static void put_where(char *buf, size_t size, const char *name, uint8_t where, int32_t off)
{
	static const char *const from[] = { "", "c", "fp", "sp" };
	size_t n = strlen(buf);

	if (where == TABLE_LOST)
		snprintf(buf + n, size - n, " %s?", name);
	else if (where != TABLE_SAME)
		snprintf(buf + n, size - n, " %s@%s%+d", name, from[where], off);
}

static void put_rule(char *buf, size_t size, const struct table_rule *r, uint32_t machine)
{
	static const char *const plain[] = {
		[TABLE_CFA_GAP] = "gap",
		[TABLE_CFA_END] = "end",
		[TABLE_CFA_SIGNAL] = "signal",
		[TABLE_CFA_UNSUPPORTED] = "unsupported",
	};
	size_t n = strlen(buf);

	buf += n;
	size -= n;
	switch (r->cfa) {
	case TABLE_CFA_SP:
	case TABLE_CFA_FP:
		snprintf(buf, size, "%s%+d", r->cfa == TABLE_CFA_SP ? "sp" : "fp", r->cfa_off);
		break;
	case TABLE_CFA_REG:
		snprintf(buf, size, "r%d%+d", r->arg, r->cfa_off);
		break;
	case TABLE_CFA_AT_SP:
	case TABLE_CFA_AT_FP:
		snprintf(buf, size, "*(%s%+d)%+d", r->cfa == TABLE_CFA_AT_SP ? "sp" : "fp",
			 r->cfa_off, (int8_t)r->arg * 8);
		break;
	case TABLE_CFA_PLT:
		snprintf(buf, size, "plt%d%+d", r->arg, r->cfa_off);
		break;
	case TABLE_CFA_RA_REG:
		snprintf(buf, size, "sp%+d ra=r%d", r->cfa_off, r->arg);
		break;
	default:
		snprintf(buf, size, "%s", plain[r->cfa]);
	}
	put_where(buf, size, "fp", r->fp, r->fp_off);
	put_where(buf, size, machine == EM_X86_64 ? "bx" : "ra", r->other, r->other_off);
}

void cfi_rows(const struct table_input *in, char *buf, size_t size)
{
	uint64_t last_rule = UINT64_MAX;
	int32_t last_other = 0;
	struct table t;
	size_t table_size;
	void *bytes;

	buf[0] = 0;
	CHECK_OK(coati_table_build(in, &bytes, &table_size));
	CHECK_OK(coati_table_open(bytes, table_size, &t));
	for (uint64_t i = 0; i < in->code[0].size; i++) {
		struct table_packed p = table_find(&t, in->code[0].start + i);
		struct table_rule r = table_unpack(p);
		size_t n = strlen(buf);

		if (p.rule == last_rule && p.other == last_other)
			continue;
		last_rule = p.rule;
		last_other = p.other;
		snprintf(buf + n, size - n, "%s%x ", n ? "; " : "", (unsigned int)i);
		put_rule(buf, size, &r, in->machine);
	}
	coati_free(bytes);
}
