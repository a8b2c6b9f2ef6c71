/* SPDX-License-Identifier: MIT */
/* Expressions and rows for all registers: the slow and complete reading of unwind data. */
#include "lib/test.h"

#include <elf.h>

#include "unit/cfi-builder.h"
#include "unwind/full.h"

#define BASE UINT64_C(0x7000)

static uint64_t memory[8] = { 100, 101, 0x1122334455667788, 103 };

static struct full_frame frame(struct walk_input *in)
{
	struct full_frame f = { .in = in, .known = 1u << 7 | 1u << 6 | 1u << 16 };

	*in = (struct walk_input){ .machine = EM_X86_64,
				   .stack = (const uint8_t *)memory,
				   .stack_size = sizeof(memory),
				   .stack_addr = BASE };
	f.regs[6] = BASE + 16;
	f.regs[7] = BASE;
	f.regs[16] = 0x1000b;
	return f;
}

static int evaluate(const uint8_t *bytes, size_t size, uint64_t *ret)
{
	struct full_rule e = { .kind = FULL_VAL_EXPR, .expr = bytes, .expr_size = size };
	struct walk_input in;
	struct full_frame f = frame(&in);

	return coati_full_expr(&f, &e, NULL, ret);
}

#define GIVES(want, ...)                                           \
	do {                                                       \
		static const uint8_t bytes_[] = { __VA_ARGS__ };   \
		uint64_t got_ = 0;                                 \
		CHECK_OK(evaluate(bytes_, sizeof(bytes_), &got_)); \
		CHECK_U64(got_, ==, (uint64_t)(want));             \
	} while (0)
#define FAILS(code, ...)                                                  \
	do {                                                              \
		static const uint8_t bytes_[] = { __VA_ARGS__ };          \
		uint64_t got_ = 0;                                        \
		CHECK_ERR(evaluate(bytes_, sizeof(bytes_), &got_), code); \
	} while (0)

TEST(unwind_expression_has_constants_of_every_size)
{
	GIVES(5, 0x35);
	GIVES(200, 0x08, 200);
	GIVES(-56, 0x09, 200);
	GIVES(0x8001, 0x0a, 1, 0x80);
	GIVES(-32767, 0x0b, 1, 0x80);
	GIVES(0x80000001, 0x0c, 1, 0, 0, 0x80);
	GIVES(-2147483647, 0x0d, 1, 0, 0, 0x80);
	GIVES(0x0807060504030201, 0x0e, 1, 2, 3, 4, 5, 6, 7, 8);
	GIVES(300, 0x10, 0xac, 0x02);
	GIVES(-1, 0x11, 0x7f);
}

TEST(unwind_expression_reads_registers_and_memory)
{
	GIVES(BASE + 8, 0x77, 8);
	GIVES(BASE + 16 - 8, 0x76, 0x78);
	GIVES(BASE + 1, 0x92, 7, 1);
	GIVES(101, 0x77, 8, 0x06);
	GIVES(0x88, 0x77, 16, 0x94, 1);
	GIVES(0x7788, 0x77, 16, 0x94, 2);
	FAILS(-ENODATA, 0x73, 0);	 /* rbx is not known */
	FAILS(-ENODATA, 0x30, 0x06);	 /* memory at 0 */
	FAILS(-ENODATA, 0x77, 57, 0x06); /* one byte behind the end */
}

TEST(unwind_expression_calculates)
{
	GIVES(1, 0x39, 0x35, 0x1a);
	GIVES(3, 0x3d, 0x34, 0x1b);
	GIVES(-4, 0x31, 0x35, 0x1c);
	GIVES(1, 0x3d, 0x34, 0x1d);
	GIVES(20, 0x35, 0x34, 0x1e);
	GIVES(-5, 0x35, 0x1f);
	GIVES(~UINT64_C(5), 0x35, 0x20);
	GIVES(5, 0x35, 0x1f, 0x19);
	GIVES(7, 0x35, 0x36, 0x21);
	GIVES(11, 0x35, 0x36, 0x22);
	GIVES(305, 0x35, 0x23, 0xac, 0x02);
	GIVES(40, 0x35, 0x33, 0x24);
	GIVES(5, 0x08, 40, 0x33, 0x25);
	GIVES(-1, 0x35, 0x1f, 0x33, 0x26);
	GIVES(3, 0x35, 0x36, 0x27);
	GIVES(1, 0x35, 0x35, 0x29);
	GIVES(1, 0x35, 0x35, 0x2a);
	GIVES(0, 0x35, 0x35, 0x2b);
	GIVES(1, 0x35, 0x35, 0x2c);
	GIVES(1, 0x34, 0x35, 0x2d);
	GIVES(1, 0x34, 0x35, 0x2e);
}

TEST(unwind_expression_moves_and_branches)
{
	GIVES(10, 0x35, 0x12, 0x22);
	GIVES(5, 0x35, 0x36, 0x13);
	GIVES(1, 0x35, 0x36, 0x16, 0x1c);
	GIVES(5, 0x35, 0x36, 0x14);
	GIVES(4, 0x34, 0x35, 0x36, 0x15, 2);
	GIVES(2, 0x31, 0x32, 0x33, 0x17);
	GIVES(7, 0x37, 0x2f, 1, 0, 0x38);
	GIVES(7, 0x37, 0x31, 0x28, 1, 0, 0x38);
	GIVES(8, 0x37, 0x30, 0x28, 1, 0, 0x38);
	/* the linkers' words for a stub: pc & 15 is 11 */
	GIVES(BASE + 16, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
}

TEST(unwind_expression_that_is_damaged_ends)
{
	FAILS(-EBADMSG, 0x22);			       /* nothing to add */
	FAILS(-EBADMSG, 0x35, 0x30, 0x1b);	       /* by zero */
	FAILS(-EBADMSG, 0x0c, 1);		       /* cut short */
	FAILS(-EBADMSG, 0x2f, 0xfd, 0xff);	       /* for ever */
	FAILS(-EBADMSG, 0x2f, 0x00, 0x80);	       /* out of it */
	FAILS(-EBADMSG, 0x96);			       /* no answer */
	FAILS(-EBADMSG, 0x30, 0x12, 0x2f, 0xfc, 0xff); /* too deep */
	FAILS(-EOPNOTSUPP, 0x9c);		       /* the CFA itself */
	FAILS(-EOPNOTSUPP, 0xff);
}

TEST(unwind_row_knows_every_register)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16,   0x8c, 2,	 0x41, 0x0c, 13,
					   0,	 0x09, 3,    12,   0x14, 15,   1,    0x10,
					   14,	 2,    0x76, 8,	   0x0a, 0x41, 0xcc, 0x0b };
	static struct cfi_builder b;
	struct table_input in;
	struct cfi_entry e;
	struct cfi_cie cie;
	struct cfi_fde fde;
	struct full_row row;
	size_t at = 0;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, sizeof(program));
	cfi_builder_input(&b, &in);
	CHECK_INT(coati_cfi_next(&in.sections[0], &at, &e), ==, 1);
	CHECK_OK(coati_cfi_cie(&in.sections[0], &e, &cie));
	CHECK_INT(coati_cfi_next(&in.sections[0], &at, &e), ==, 1);
	CHECK_OK(coati_cfi_fde(&in.sections[0], &e, &cie, &fde));

	CHECK_OK(coati_full_row(&in.sections[0], &cie, &fde, CFI_TEXT, &row));
	CHECK_INT(row.cfa.off, ==, 8);
	CHECK_INT(row.regs[16].kind, ==, FULL_OFFSET);
	CHECK_OK(coati_full_row(&in.sections[0], &cie, &fde, CFI_TEXT + 1, &row));
	CHECK_INT(row.cfa.off, ==, 16);
	CHECK_INT(row.regs[12].off, ==, -16);
	CHECK_INT(row.regs[3].kind, ==, FULL_SAME);
	CHECK_OK(coati_full_row(&in.sections[0], &cie, &fde, CFI_TEXT + 0x30, &row));
	CHECK_INT(row.cfa.reg, ==, 13);
	CHECK_INT(row.regs[3].kind, ==, FULL_REGISTER);
	CHECK_INT(row.regs[3].reg, ==, 12);
	CHECK_INT(row.regs[15].kind, ==, FULL_VAL_OFFSET);
	CHECK_INT(row.regs[15].off, ==, -8);
	CHECK_INT(row.regs[14].kind, ==, FULL_EXPR);
	CHECK_INT(row.regs[12].kind, ==, FULL_OFFSET);
}

TEST(unwind_row_knows_offsets_of_either_sign)
{
	static const uint8_t program[] = { 0x05, 12, 3, 0x11, 13, 0x7e, 0x2f, 14, 2 };
	static struct cfi_builder b;
	struct table_input in;
	struct cfi_entry e;
	struct cfi_cie cie;
	struct cfi_fde fde;
	struct full_row row;
	size_t at = 0;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, NULL, 0);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, sizeof(program));
	cfi_builder_input(&b, &in);
	CHECK_INT(coati_cfi_next(&in.sections[0], &at, &e), ==, 1);
	CHECK_OK(coati_cfi_cie(&in.sections[0], &e, &cie));
	CHECK_INT(coati_cfi_next(&in.sections[0], &at, &e), ==, 1);
	CHECK_OK(coati_cfi_fde(&in.sections[0], &e, &cie, &fde));
	CHECK_OK(coati_full_row(&in.sections[0], &cie, &fde, CFI_TEXT, &row));
	for (uint32_t reg = 12; reg <= 14; reg++)
		CHECK_INT(row.regs[reg].kind, ==, FULL_OFFSET);
	CHECK_INT(row.regs[12].off, ==, -24);
	CHECK_INT(row.regs[13].off, ==, 16);
	CHECK_INT(row.regs[14].off, ==, 16);
}

/* Restored by its number in an operand: to what the CIE says; a register of no number that is
 * followed changes nothing. */
TEST(unwind_row_restores_registers_by_any_number)
{
	static const uint8_t program[] = {
		0x8c, 2,    0x8d,      3,    0x80, 6,	 0x41, 0x06, 12,
		0x41, 0x06, WALK_REGS, 0x06, 0x7f, 0x06, 0,    0x0e, 32
	};
	static struct cfi_builder b;
	struct table_input in;
	struct cfi_entry e;
	struct cfi_cie cie;
	struct cfi_fde fde;
	struct full_row row;
	size_t at = 0;

	cfi_builder_init(&b);
	cfi_builder_cie(&b, (const uint8_t[]){ 0x80, 4, 0x8c, 5 }, 4);
	cfi_builder_fde(&b, CFI_TEXT, 0x40, program, sizeof(program));
	cfi_builder_input(&b, &in);
	CHECK_INT(coati_cfi_next(&in.sections[0], &at, &e), ==, 1);
	CHECK_OK(coati_cfi_cie(&in.sections[0], &e, &cie));
	CHECK_INT(coati_cfi_next(&in.sections[0], &at, &e), ==, 1);
	CHECK_OK(coati_cfi_fde(&in.sections[0], &e, &cie, &fde));
	CHECK_OK(coati_full_row(&in.sections[0], &cie, &fde, CFI_TEXT, &row));
	CHECK_INT(row.regs[12].off, ==, -16);
	CHECK_INT(row.regs[13].off, ==, -24);
	for (uint64_t i = 1; i <= 2; i++) {
		CHECK_OK(coati_full_row(&in.sections[0], &cie, &fde, CFI_TEXT + i, &row));
		CHECK_INT(row.regs[12].kind, ==, FULL_OFFSET);
		CHECK_INT(row.regs[12].off, ==, -40);
		CHECK_INT(row.regs[0].kind, ==, FULL_OFFSET);
		CHECK_INT(row.regs[0].off, ==, i == 1 ? -48 : -32);
		CHECK_INT(row.regs[13].off, ==, -24);
		CHECK_INT(row.cfa.off, ==, i == 1 ? 8 : 32);
		CHECK_INT(row.regs[WALK_REGS - 1].kind, ==, row.regs[WALK_REGS - 2].kind);
	}
}
