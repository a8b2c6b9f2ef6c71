/* SPDX-License-Identifier: MIT */
/*
 * A sample's registers and stack come in, frames go out. The walk itself is table/walk.c; here are
 * the kernel's register numbers, the tables by image, and the second chance with the full unwind
 * data where a compact rule was not enough.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/sized.h"
#include "unwind/unwinder.h"

_Static_assert((int)WALK_REGISTERS == (int)COATI_FRAME_REGS &&
		       (int)WALK_TABLE == (int)COATI_FRAME_TABLE &&
		       (int)WALK_SIGNAL == (int)COATI_FRAME_SIGNAL &&
		       (int)WALK_POINTER == (int)COATI_FRAME_POINTER &&
		       (int)WALK_GUESS == (int)COATI_FRAME_GUESS,
	       "one list");
_Static_assert((int)WALK_END == (int)COATI_UNWIND_END && (int)WALK_GAP == (int)COATI_UNWIND_GAP &&
		       (int)WALK_UNMAPPED == (int)COATI_UNWIND_UNMAPPED &&
		       (int)WALK_TRUNCATED == (int)COATI_UNWIND_TRUNCATED &&
		       (int)WALK_LIMIT == (int)COATI_UNWIND_LIMIT &&
		       (int)WALK_BAD == (int)COATI_UNWIND_BAD,
	       "one list");

struct context {
	struct coati_unwinder *u;
	const struct coati_unwind_input *in;
};

/* perf's number of an x86-64 register to DWARF's, 255: none. */
static const uint8_t x86_numbers[24] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 255, 255, 255, 255, 255, 255, 255, 8, 9, 10, 11, 12, 13, 14, 15,
};

static void take_regs(const struct coati_unwind_input *in, uint64_t regs[WALK_REGS],
		      uint64_t *ret_known)
{
	const uint64_t *from = in->regs;
	uint64_t known = 0;

	for (uint64_t left = in->reg_mask; left; left &= left - 1, from++) {
		unsigned int reg = (unsigned int)__builtin_ctzll(left);

		if (in->machine == COATI_MACHINE_X86_64)
			reg = reg < 24 ? x86_numbers[reg] : 255;
		if (reg >= WALK_REGS)
			continue;
		regs[reg] = *from;
		known |= UINT64_C(1) << reg;
	}
	*ret_known = known;
}

static int find(void *ctx, uint64_t addr, struct walk_place *ret)
{
	struct context *c = ctx;
	struct coati_unwind_place place = { .image = COATI_IMAGE_NONE };
	struct unwind_image *ui;
	int r = c->in->find(c->in->ctx, addr, &place);

	if (r < 0)
		return r;
	*ret = (struct walk_place){
		.start = place.start, .end = place.end, .bias = place.bias, .image = place.image
	};
	if (place.image == COATI_IMAGE_NONE)
		return 0;
	ui = coati_unwinder_image(c->u, place.image);
	if (!ui)
		return 0;
	ui->used = c->u->walk;
	if (coati_unwinder_load(c->u, place.image, ui, NULL) < 0)
		return 0;
	ret->table = &ui->table;
	ret->serial = ui->serial;
	return 0;
}

static int read_memory(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct context *c = ctx;

	return c->in->read(c->in->ctx, addr, ret);
}

/* Code comes from the file; code outside of files is not known. */
static int read_code(void *ctx, const struct walk_place *place, uint64_t addr,
		     uint8_t ret[WALK_CODE_SIZE])
{
	struct context *c = ctx;
	uint64_t vaddr = addr - place->bias;
	struct unwind_image *ui;
	struct unwind_cfi *cfi;

	if (place->image == COATI_IMAGE_NONE)
		return -ENOENT;
	ui = coati_unwinder_image(c->u, place->image);
	cfi = ui ? coati_unwinder_cfi(c->u, place->image, ui) : NULL;
	if (!cfi)
		return -ENOENT;
	for (uint32_t i = 0; i < cfi->in.nr_code; i++) {
		const struct table_code *code = &cfi->in.code[i];
		uint64_t off = vaddr - WALK_CODE_SIZE - code->start;

		if (!code->bytes || code->nr_bytes < WALK_CODE_SIZE ||
		    off > code->nr_bytes - WALK_CODE_SIZE)
			continue;
		if (cfi->in.fetch &&
		    cfi->in.fetch(cfi->in.fetch_ctx, code->bytes + off, WALK_CODE_SIZE) < 0)
			return -EIO;
		memcpy(ret, code->bytes + off, WALK_CODE_SIZE);
		return 0;
	}
	return -ENOENT;
}

static int walk_all(struct walk *w, struct coati_unwind_frame *frames, uint32_t max_frames)
{
	uint32_t n = 0;

	while (coati_walk_next(w)) {
		if (n == max_frames) {
			w->end = WALK_LIMIT;
			break;
		}
		frames[n++] = (struct coati_unwind_frame){ .pc = w->frame.pc,
							   .sp = w->frame.sp,
							   .image = w->frame.image,
							   .how = w->frame.how,
							   .vaddr = w->frame.vaddr };
	}
	return (int)n;
}

static void count(struct coati_unwinder *u, const struct coati_unwind_frame *frames, int n,
		  enum coati_unwind_end end)
{
	u->stats.walks++;
	u->stats.frames += (uint64_t)n;
	u->stats.ends[end]++;
	for (int i = 0; i < n; i++)
		u->stats.guesses += frames[i].how == COATI_FRAME_GUESS;
}

static void prepare(struct context *ctx, uint64_t regs[WALK_REGS], struct walk_input *ret)
{
	const struct coati_unwind_input *in = ctx->in;

	memset(regs, 0, WALK_REGS * sizeof(*regs));
	*ret = (struct walk_input){
		.find = find, .code = read_code, .ctx = ctx, .regs = regs, .cache = ctx->u->cache
	};
	take_regs(in, regs, &ret->known);
	ret->machine = in->machine == COATI_MACHINE_X86_64    ? EM_X86_64
		       : in->machine == COATI_MACHINE_AARCH64 ? EM_AARCH64
							      : EM_NONE;
	ret->read = in->read ? read_memory : NULL;
	ret->stack = in->stack;
	ret->stack_size = in->stack_size;
	ret->stack_addr = in->stack_addr;
	ctx->u->walk++;
}

int coati_unwind(struct coati_unwinder *u, const struct coati_unwind_input *input,
		 struct coati_unwind_frame *frames, uint32_t max_frames,
		 enum coati_unwind_end *ret_end)
{
	struct coati_unwind_input in;
	struct context ctx = { .u = u, .in = &in };
	uint64_t regs[WALK_REGS];
	struct walk_input wi;
	enum coati_unwind_end end;
	struct walk w;
	int n = SIZED_COPY(&in, input);

	if (n < 0 || !in.find || !in.regs || !max_frames || (in.stack_size && !in.stack))
		return -EINVAL;
	prepare(&ctx, regs, &wi);
	if (!coati_walk_begin(&w, &wi))
		return -EINVAL;
	n = walk_all(&w, frames, max_frames);
	end = (enum coati_unwind_end)w.end;
	if (w.end == WALK_UNSUPPORTED) {
		int more = coati_unwind_full(u, &wi, frames, max_frames, &end);

		if (more < n) {
			/* it does not guess, and this walk did */
			coati_walk_begin(&w, &wi);
			more = walk_all(&w, frames, max_frames);
			end = COATI_UNWIND_BAD;
		}
		n = more;
	}
	count(u, frames, n, end);
	if (ret_end)
		*ret_end = end;
	return n;
}

int coati_unwind_evaluate(struct coati_unwinder *u, const struct coati_unwind_input *input,
			  struct coati_unwind_frame *frames, uint32_t max_frames,
			  enum coati_unwind_end *ret_end)
{
	struct context ctx = { .u = u, .in = input };
	uint64_t regs[WALK_REGS];
	struct walk_input wi;

	prepare(&ctx, regs, &wi);
	return coati_unwind_full(u, &wi, frames, max_frames, ret_end);
}

static bool is_root(struct walk *w, uint64_t pc)
{
	const struct walk_place *p = coati_walk_place(w, pc - 1);

	return p && p->table && (table_find(p->table, pc - 1 - p->bias).rule & 15) == TABLE_CFA_END;
}

uint32_t coati_unwind_check(struct coati_unwinder *u, const struct coati_unwind_input *input,
			    const uint64_t *pcs, uint32_t nr, bool *ret_rooted)
{
	struct context ctx = { .u = u, .in = input };
	uint64_t regs[WALK_REGS];
	struct walk_input wi;
	struct walk w;
	uint32_t i = 0;

	*ret_rooted = false;
	prepare(&ctx, regs, &wi);
	if (!coati_walk_begin(&w, &wi))
		return 0;
	for (; i < nr && !*ret_rooted; i++) {
		*ret_rooted = is_root(&w, pcs[i]);
		if (!*ret_rooted && !coati_walk_call(&w, pcs[i]))
			break;
	}
	return i;
}
