/* SPDX-License-Identifier: MIT */
/* Code without rules: a return address is believed right behind a call only, and says that it was
 * guessed. */
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

TEST(frame_pointers_are_followed_to_a_near_frame_behind_a_call)
{
	struct scene s = { .stack = { 1, 2, STACK + 64, CODE + 0x80 } };
	struct walk_frame f;
	enum walk_end end;

	memset(s.code, 0x90, sizeof(s.code));
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 1);
	CHECK_INT(end, ==, WALK_GAP);
	memcpy(s.code + 0x80 - 5, "\xe8\x88\xff\xff\xff", 5);
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 2);
	CHECK_INT(f.how, ==, WALK_POINTER);
	CHECK_U64(f.pc, ==, CODE + 0x80);
	CHECK_U64(f.sp, ==, STACK + 32);
	CHECK_INT(walk(&s, STACK + 17, &f, &end), ==, 1);
	CHECK_INT(walk(&s, STACK - 16, &f, &end), ==, 1);
	CHECK_INT(walk(&s, STACK + (1u << 21), &f, &end), ==, 1);
	CHECK_INT(end, ==, WALK_GAP);
}

TEST(a_frame_record_that_leads_nowhere_is_a_guess)
{
	/* further down, not aligned, too far away */
	static const uint64_t next[] = { STACK, STACK + 65, STACK + (1u << 24) };
	struct scene s = { .stack = { 1, 2, 0, CODE + 0x80 } };
	struct walk_frame f;
	enum walk_end end;

	memset(s.code, 0x90, sizeof(s.code));
	memcpy(s.code + 0x80 - 5, "\xe8\x88\xff\xff\xff", 5);
	for (size_t i = 0; i < sizeof(next) / sizeof(*next); i++) {
		s.stack[2] = next[i];
		CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 2);
		CHECK_INT(f.how, ==, WALK_GUESS);
	}
}

TEST(a_function_without_a_frame_record_does_not_hide_its_caller)
{
	/* the top of the stack leads to 0x80, which was called from 0xc0; pc is 0x10 */
	struct scene s = { .stack = { CODE + 0x80, 2, STACK + 64, CODE + 0xc0 } };
	struct walk_frame f;
	enum walk_end end;

	memset(s.code, 0x90, sizeof(s.code));
	memcpy(s.code + 0x80 - 5, "\xe8\x88\xff\xff\xff", 5); /* calls 8 */
	memcpy(s.code + 0xc0 - 5, "\xe8\x80\xff\xff\xff", 5); /* calls 0x40, behind pc */
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 2);
	CHECK_U64(f.pc, ==, CODE + 0x80);
	CHECK_INT(f.how, ==, WALK_GUESS);
	memcpy(s.code + 0xc0 - 5, "\xe8\x4c\xff\xff\xff", 5); /* calls 0xc, nearer than 8 */
	CHECK_INT(walk(&s, STACK + 16, &f, &end), ==, 2);
	CHECK_U64(f.pc, ==, CODE + 0xc0);
	CHECK_INT(f.how, ==, WALK_POINTER);
}

TEST(the_first_and_last_instructions_show_where_the_return_address_is)
{
	static const struct {
		const char *code;
		size_t size, at;
	} cases[] = { { "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 8, 0 },
		      { "\x55\x48\x89\xe5", 4, 0 },
		      { "\x48\x89\xe5", 3, 1 },
		      { "\x5d\xc3", 2, 1 },
		      { "\xc3", 1, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* the frame record is the caller's, and leads to the caller's caller */
		struct scene s = { .stack = { [4] = STACK + 64, [5] = CODE + 0xc0 } };
		struct walk_frame f;
		enum walk_end end;

		memset(s.code, 0x90, sizeof(s.code));
		s.code[0x80 - 2] = s.code[0xc0 - 2] = 0xff; /* call *rax */
		s.code[0x80 - 1] = s.code[0xc0 - 1] = 0xd0;
		memcpy(s.code + 0x10, cases[i].code, cases[i].size);
		s.stack[0] = STACK + 32;
		s.stack[cases[i].at] = CODE + 0x80;
		CHECK_INT(walk(&s, STACK + 32, &f, &end), ==, 2);
		CHECK_U64(f.pc, ==, CODE + 0x80);
		CHECK_U64(f.sp, ==, STACK + 8 * cases[i].at + 8);
		CHECK_INT(f.how, ==, WALK_POINTER);
	}
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
