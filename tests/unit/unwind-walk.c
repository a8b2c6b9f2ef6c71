/* SPDX-License-Identifier: MIT */
/* See unwind-walk.h. */
#include "unit/unwind-walk.h"

#include <stdlib.h>

#define STACK_ADDR UINT64_C(0x70000000)
#define FRAMES_MAX 4096

static int find(void *ctx, uint64_t addr, struct walk_place *ret)
{
	*ret = (struct walk_place){ .end = STACK_ADDR, .table = ctx, .serial = 1 };
	if (addr & 0x8000)
		ret->table = NULL; /* code without tables, too */
	ret->start = addr & ~UINT64_C(0x7fff);
	ret->end = ret->start + 0x8000;
	return addr < STACK_ADDR ? 0 : -1;
}

static int code(void *ctx, const struct walk_place *place, uint64_t addr,
		uint8_t ret[WALK_CODE_SIZE])
{
	(void)ctx;
	(void)place;
	memset(ret, 0, WALK_CODE_SIZE);
	ret[3] = addr & 1 ? 0xe8 : 0;
	return 0;
}

static void walk_from(const struct walk_input *in)
{
	uint64_t last_sp = 0;
	struct walk w;
	int n = 0;

	if (!coati_walk_begin(&w, in))
		return;
	while (coati_walk_next(&w)) {
		if (++n > FRAMES_MAX || (w.frame.how != WALK_SIGNAL && w.frame.sp < last_sp))
			abort();
		last_sp = w.frame.sp;
	}
	if (w.end > WALK_UNSUPPORTED)
		abort();
}

bool unwind_walk(const void *bytes, size_t size, const uint8_t *stack, size_t stack_size)
{
	static struct walk_cache cache;
	uint64_t regs[WALK_REGS];
	struct table t;
	struct walk_input in = { .find = find,
				 .code = code,
				 .ctx = &t,
				 .regs = regs,
				 .known = UINT64_MAX,
				 .stack = stack,
				 .stack_size = stack_size,
				 .stack_addr = STACK_ADDR };

	if (coati_table_open(bytes, size, &t) < 0)
		return false;
	memset(&cache, 0, sizeof(cache));
	in.machine = t.machine;
	for (uint32_t i = 0; i < 64; i++) {
		const struct table_range *r = t.nr_ranges ? &t.ranges[i % t.nr_ranges] : NULL;

		for (uint32_t k = 0; k < WALK_REGS; k++)
			regs[k] = STACK_ADDR +
				  (stack_size ? stack[(i + k) % stack_size] : 0) % 64 * 8;
		regs[t.machine == EM_X86_64 ? 7 : 31] = STACK_ADDR;
		regs[t.machine == EM_X86_64 ? 16 : 32] =
			r ? r->start + (uint64_t)i * 37 % r->size : i;
		in.cache = i & 1 ? &cache : NULL;
		walk_from(&in);
	}
	return true;
}

static void one_row(const struct table_input *in, const struct gathered *g,
		    const struct table_fde *f)
{
	const struct program_cie *cie = &g->cies[f->cie];
	struct walk_input wi = { .machine = in->machine };
	struct full_frame frame = { .in = &wi, .known = UINT64_MAX };
	struct full_row row;
	struct cfi_fde fde;
	uint64_t cfa;

	if (coati_gathered_fde(in, g, f, &fde) < 0)
		return;
	for (uint64_t off = 0; off < 64; off += 9) {
		if (coati_full_row(cie->section, &cie->cie, &fde, fde.start + off, &row) < 0)
			return;
		if (row.cfa.kind == FULL_VAL_EXPR)
			coati_full_expr(&frame, &row.cfa, NULL, &cfa);
	}
}

void unwind_rows(const struct table_input *in)
{
	struct gathered g;

	if (coati_gather(in, &g) < 0)
		return;
	for (size_t i = 0; i < g.nr_fdes && i < 64; i++)
		one_row(in, &g, &g.fdes[i]);
	coati_gathered_fini(&g);
}
