/* SPDX-License-Identifier: MIT */
/*
 * The function table of a Go program comes in, unwind data as in .debug_frame goes out: strip
 * removes that, and Go has no .eh_frame. The runtime unwinds its stacks by the same table. It says
 * for each instruction how far the stack pointer is from the return address, as Go's own
 * .debug_frame does, and nothing of other registers.
 */
#include <elf.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "base/strbuf.h"
#include "image/go-table.h"
#include "unwind/unwinder.h"

#define FRAMES_MAX (256u << 20) /* bytes; a Go program of 100 MB needs 10 MB */

enum {
	CFA_ADVANCE_1 = 0x02,
	CFA_ADVANCE_2 = 0x03,
	CFA_ADVANCE_4 = 0x04,
	CFA_SAME_VALUE = 0x08,
	CFA_DEF = 0x0c,
	CFA_DEF_OFFSET = 0x0e,
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	X86_64_SP = 7,
	X86_64_RA = 16,
	AARCH64_LR = 30,
	AARCH64_SP = 31,
	DATA_ALIGN = 0x7f, /* -1: offsets are bytes below the frame */
};

struct frames {
	struct strbuf bytes;
	uint8_t quantum;
	bool is_x86;
};

static void add_number(struct frames *f, uint64_t v, size_t size)
{
	coati_strbuf_add(&f->bytes, &v, size);
}

static void add_uleb(struct frames *f, uint64_t v)
{
	uint8_t bytes[LEB128_MAX];

	coati_strbuf_add(&f->bytes, bytes, (size_t)(uleb_put(bytes, v) - bytes));
}

/* The length of an entry is known when it is complete. */
static void end_entry(struct frames *f, size_t start)
{
	uint32_t length = (uint32_t)(f->bytes.len - start - 4);

	if (!f->bytes.failed)
		memcpy(f->bytes.text + start, &length, sizeof(length));
}

/* What all functions share: at their start nothing is on the stack but, on x86-64, the return
 * address. */
static void add_common(struct frames *f)
{
	add_number(f, 0, 4);
	add_number(f, UINT32_MAX, 4);
	add_number(f, 1, 1); /* version */
	add_number(f, 0, 1); /* no augmentation */
	add_uleb(f, f->quantum);
	add_number(f, DATA_ALIGN, 1);
	add_number(f, f->is_x86 ? X86_64_RA : AARCH64_LR, 1);
	add_number(f, CFA_DEF, 1);
	add_uleb(f, f->is_x86 ? X86_64_SP : AARCH64_SP);
	add_uleb(f, f->is_x86 ? 8 : 0);
	if (f->is_x86) {
		add_number(f, CFA_OFFSET | X86_64_RA, 1);
		add_uleb(f, 8);
	}
	end_entry(f, 0);
}

static void add_advance(struct frames *f, uint64_t bytes)
{
	uint64_t units = bytes / f->quantum;

	if (units < 64) {
		add_number(f, CFA_ADVANCE | units, 1);
	} else if (units <= UINT8_MAX) {
		add_number(f, CFA_ADVANCE_1, 1);
		add_number(f, units, 1);
	} else if (units <= UINT16_MAX) {
		add_number(f, CFA_ADVANCE_2, 1);
		add_number(f, units, 2);
	} else {
		add_number(f, CFA_ADVANCE_4, 1);
		add_number(f, units, 4);
	}
}

/* On arm64 the return address is in its register, or lowest in the frame. */
static void add_distance(struct frames *f, uint32_t distance)
{
	add_number(f, CFA_DEF_OFFSET, 1);
	add_uleb(f, (uint64_t)distance + (f->is_x86 ? 8 : 0));
	if (f->is_x86)
		return;
	if (distance) {
		add_number(f, CFA_OFFSET | AARCH64_LR, 1);
		add_uleb(f, distance);
	} else {
		add_number(f, CFA_SAME_VALUE, 1);
		add_uleb(f, AARCH64_LR);
	}
}

/* A function whose distances are damaged has none behind the damage: its entry ends there. */
static void add_function(struct frames *f, const struct go_table *t, const struct go_function *go)
{
	struct go_steps steps = coati_go_steps(t, go);
	size_t start = f->bytes.len, length_at = start + 16;
	uint64_t at = go->start, length;
	struct go_step step;

	if (go->end - go->start > UINT32_MAX)
		return;
	add_number(f, 0, 4);
	add_number(f, 0, 4); /* the common entry is the first */
	add_number(f, go->start, 8);
	add_number(f, 0, 8);
	while (coati_go_step_next(&steps, &step) > 0 && !f->bytes.failed) {
		if (step.start > at)
			add_advance(f, step.start - at);
		at = step.start;
		add_distance(f, step.distance);
		length = step.end - go->start;
		if (!f->bytes.failed)
			memcpy(f->bytes.text + length_at, &length, sizeof(length));
	}
	end_entry(f, start);
}

int coati_unwind_go_frames(const struct go_table *t, uint32_t machine, uint8_t **ret,
			   size_t *ret_size)
{
	struct frames f = { .bytes = STRBUF_INIT(FRAMES_MAX),
			    .quantum = t->quantum,
			    .is_x86 = machine == EM_X86_64 };
	struct go_function go;
	int r;

	add_common(&f);
	for (uint32_t i = 0; i < t->nr && !f.bytes.failed; i++)
		if (coati_go_function(t, i, &go) && go.steps)
			add_function(&f, t, &go);
	r = f.bytes.failed;
	if (r == 0) {
		*ret_size = f.bytes.len;
		*ret = (uint8_t *)coati_strbuf_take(&f.bytes);
	}
	coati_strbuf_fini(&f.bytes);
	return r;
}
