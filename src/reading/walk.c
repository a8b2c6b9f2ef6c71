/* SPDX-License-Identifier: MIT */
/*
 * Samples with registers and a copy of the stack (perf record --call-graph dwarf): the user part of
 * the chain is walked here, and from then on it is a chain like any other. Hot: runs for each such
 * sample; the walk itself is the unwinder's.
 */
#include "reading/reading.h"

#include "record/record.h"

/* The stack pointer in the kernel's perf numbering. */
#define X86_64_SP  7
#define AARCH64_SP 31
#define ABI_64	   2 /* registers of a 64-bit task */

struct walk {
	struct reading *reading;
	int32_t pid;
	uint64_t time;
};

static int find_place(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	struct walk *w = ctx;
	struct coati_place place;
	int r = coati_processes_find(w->reading->processes, w->pid, addr, w->time, &place);

	if (r < 0)
		return r;
	*ret = (struct coati_unwind_place){ .image = place.image,
					    .start = place.start,
					    .end = place.end,
					    .bias = addr - place.vaddr };
	return 0;
}

/* The words in front of the user part, those of callers moved into the call. Number of words. */
static uint32_t copy_kernel_part(const struct coati_u64s *chain, uint64_t *to)
{
	bool first = true;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < chain->count; i++) {
		uint64_t word = coati_u64_at(chain, i);

		if (word == COATI_CONTEXT_USER || word == COATI_CONTEXT_USER_DEFERRED)
			break;
		if (word >= COATI_CONTEXT_MAX)
			first = true;
		else if (!first)
			word--;
		else
			first = false;
		to[nr++] = word;
	}
	return nr;
}

/* Addresses in a chain, markers not counted. */
static uint32_t count_addresses(const struct coati_u64s *chain)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < chain->count; i++)
		nr += coati_u64_at(chain, i) < COATI_CONTEXT_MAX;
	return nr;
}

/* The frames as words behind those that are there. */
static void add_frames(struct reading *r, struct chain_key *key, uint64_t *to, uint32_t nr)
{
	if (nr > CHAIN_WORDS - 1 - key->nr)
		nr = CHAIN_WORDS - 1 - key->nr;
	to[key->nr++] = COATI_CONTEXT_USER;
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_unwind_frame *f = &r->frames[i];
		bool exact = !i || f->how == COATI_FRAME_SIGNAL || f->how == COATI_FRAME_REGS;

		to[key->nr++] = exact ? f->pc : f->pc - 1;
		if (f->how == COATI_FRAME_GUESS)
			key->mode |= CHAIN_GUESSED;
	}
}

static int unwind(struct reading *r, const struct coati_record *rec, uint64_t time,
		  enum coati_unwind_end *ret_end)
{
	const struct coati_sample *s = &rec->u.sample;
	uint64_t buf[64], sp;
	struct walk w = { .reading = r, .pid = (int32_t)rec->id.pid, .time = time };
	struct coati_unwind_input in = { .size = sizeof(in),
					 .machine = r->machine,
					 .find = find_place,
					 .ctx = &w,
					 .reg_mask = s->regs_user.mask };
	uint32_t sp_reg = r->machine == COATI_MACHINE_X86_64 ? X86_64_SP : AARCH64_SP;

	if (s->regs_user.values.count > 64 || coati_regs_get(&s->regs_user, sp_reg, &sp) < 0)
		return -1;
	in.regs = coati_u64_array(&s->regs_user.values, buf);
	in.stack = s->stack;
	in.stack_size = s->present & COATI_SAMPLE_STACK_USER ? s->stack_dyn_size : 0;
	in.stack_addr = sp;
	return coati_unwind(r->profile->unwinder, &in, r->frames, r->profile->max_frames, ret_end);
}

bool coati_reading_walk(struct reading *r, const struct coati_record *rec, uint64_t time,
			struct chain_key *key)
{
	const struct coati_sample *s = &rec->u.sample;
	bool has_chain = s->present & COATI_SAMPLE_CALLCHAIN;
	uint64_t *to = r->words + CHAIN_WORDS;
	enum coati_unwind_end end;
	int nr;

	if (s->regs_user.abi != ABI_64 || r->machine == COATI_MACHINE_NONE)
		return false;
	nr = unwind(r, rec, time, &end);
	if (nr <= 0)
		return false;
	key->nr = has_chain ? copy_kernel_part(&s->callchain, to) : 0;
	/* frame pointers knew more than the copy of the stack */
	if (nr == 1 && has_chain && count_addresses(&s->callchain) > key->nr)
		return false;
	if (!key->nr && (rec->misc & COATI_MISC_CPUMODE_MASK) == COATI_MISC_KERNEL &&
	    s->present & COATI_SAMPLE_IP) {
		to[key->nr++] = COATI_CONTEXT_KERNEL;
		to[key->nr++] = s->ip;
	}
	key->mode |= CHAIN_ADJUSTED | CHAIN_UNWOUND | (uint32_t)end << CHAIN_END_SHIFT;
	add_frames(r, key, to, (uint32_t)nr);
	key->words = to;
	return true;
}
