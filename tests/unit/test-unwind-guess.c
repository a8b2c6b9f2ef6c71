/* SPDX-License-Identifier: MIT */
/* Code without rules: a return address is believed right behind a call only, and says that it was guessed. */
#include "lib/test.h"

#include <elf.h>

#include "base/alloc.h"
#include "unwind/table/build.h"
#include "unwind/table/walk.h"

#define CODE  UINT64_C(0x400000)
#define STACK UINT64_C(0x7fff0000)

struct scene {
	uint8_t code[256];
	uint64_t stack[16];
	struct table table;
	bool is_bare; /* no table at all */
};

static int find(void *ctx, uint64_t addr, struct walk_place *ret)
{
	struct scene *s = ctx;

	if (addr < CODE || addr >= CODE + sizeof(s->code))
		return -ENOENT;
	*ret = (struct walk_place){ .start = CODE,
				    .end = CODE + sizeof(s->code),
				    .table = s->is_bare ? NULL : &s->table };
	return 0;
}

static int code(void *ctx, const struct walk_place *place, uint64_t addr,
		uint8_t ret[WALK_CODE_SIZE])
{
	struct scene *s = ctx;

	(void)place;
	memcpy(ret, s->code + (addr - CODE) - WALK_CODE_SIZE, WALK_CODE_SIZE);
	return 0;
}

/* Two frames at most are looked at; the number, how the second was found, and the end. */
static int walk(struct scene *s, uint64_t fp, struct walk_frame *ret, enum walk_end *ret_end)
{
	uint64_t regs[WALK_REGS] = { [6] = fp, [7] = STACK, [16] = CODE + 0x10 };
	struct table_input in = { .machine = EM_X86_64, .nr_code = 1 };
	struct walk_input wi = { .machine = EM_X86_64,
				 .find = find,
				 .code = code,
				 .ctx = s,
				 .regs = regs,
				 .known = 1u << 6 | 1u << 7 | 1u << 16,
				 .stack = (const uint8_t *)s->stack,
				 .stack_size = sizeof(s->stack),
				 .stack_addr = STACK };
	struct walk w;
	void *bytes;
	size_t size;
	int n = 0;

	in.code[0] = (struct table_code){ .start = CODE, .size = sizeof(s->code) };
	CHECK_OK(coati_table_build(&in, &bytes, &size));
	CHECK_OK(coati_table_open(bytes, size, &s->table));
	CHECK(coati_walk_begin(&w, &wi));
	while (n < 2 && coati_walk_next(&w)) {
		*ret = w.frame;
		n++;
	}
	*ret_end = w.end;
	coati_free(bytes);
	return n;
}

TEST(guess_takes_the_top_of_the_stack_behind_a_call)
{
	static const uint8_t calls[][7] = {
		{ 0x90, 0x90, 0xe8, 0x88, 0xff, 0xff, 0xff }, /* call rel32, a little before pc */
		{ 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, /* call *rax */
		{ 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8 },    /* call *8(rax) */
		{ 0x90, 0xff, 0x15, 1, 2, 3, 4 },	      /* call *slot(rip) */
		{ 0xff, 0x94, 0x24, 1, 2, 3, 4 },	      /* call *disp32(rsp) */
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct scene s = { .stack = { CODE + 0x80 } };
		struct walk_frame f;
		enum walk_end end;

		memset(s.code, 0x90, sizeof(s.code));
		memcpy(s.code + 0x80 - 7, calls[i], 7);
		CHECK_INT(walk(&s, 0, &f, &end), ==, 2);
		CHECK_INT(f.how, ==, WALK_GUESS);
		CHECK_U64(f.pc, ==, CODE + 0x80);
		CHECK_U64(f.sp, ==, STACK + 8);
	}
}

TEST(guess_does_not_take_a_call_to_somewhere_else)
{
	static const int32_t offsets[] = { 0, 0x100000, -0x20000, -0x6f };
	struct scene s = { .stack = { CODE + 0x80 } };
	struct walk_frame f;
	enum walk_end end;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		memset(s.code, 0x90, sizeof(s.code));
		s.code[0x80 - 5] = 0xe8;
		memcpy(s.code + 0x80 - 4, &offsets[i], 4);
		CHECK_INT(walk(&s, 0, &f, &end), ==, 1);
		CHECK_INT(end, ==, WALK_GAP);
	}
}

TEST(guess_by_frame_pointer_needs_a_call_and_a_near_frame)
{
	struct scene s = { .stack = { 1, 2, STACK + 64, CODE + 0x80 } };
	struct walk_frame f;
	enum walk_end end;

	memset(s.code, 0x90, sizeof(s.code));
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 1);
	CHECK_INT(end, ==, WALK_GAP);
	memcpy(s.code + 0x80 - 5, "\xe8\x88\xff\xff\xff", 5);
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 2);
	CHECK_INT(f.how, ==, WALK_GUESS);
	CHECK_INT(walk(&s, STACK + 17, &f, &end), ==, 1);
	CHECK_INT(walk(&s, STACK - 16, &f, &end), ==, 1);
	CHECK_INT(walk(&s, STACK + (1u << 21), &f, &end), ==, 1);
	CHECK_INT(end, ==, WALK_GAP);
}

TEST(code_without_tables_is_walked_by_frame_pointer_and_ends_at_zero)
{
	struct scene s = { .stack = { 1, 2, 0, CODE + 0x80 }, .is_bare = true };
	struct walk_frame f;
	enum walk_end end;

	memset(s.code, 0x90, sizeof(s.code));
	s.code[0x80 - 5] = 0xe8;
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 2);
	CHECK_INT(f.how, ==, WALK_POINTER);
	CHECK_INT(walk(&s, 0, &f, &end), ==, 1);
	CHECK_INT(end, ==, WALK_END);
}
