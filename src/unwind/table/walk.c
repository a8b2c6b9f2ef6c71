/* SPDX-License-Identifier: MIT */
/*
 * One step of the walk: the rule of the address, applied to registers and stack. Frame 0 and what a
 * signal interrupted are looked up by their address; callers by the byte before it, because a call
 * may be the last instruction of its function.
 */
#include "unwind/table/walk.h"

#include <elf.h>
#include <string.h>

#define ARM64_ADDRESS ((UINT64_C(1) << 48) - 1) /* above are signatures of pointers and tags */

bool coati_walk_stop(struct walk *w, enum walk_end end)
{
	w->end = end;
	w->is_over = true;
	return false;
}

static __attribute__((noinline)) bool read_outside(struct walk *w, uint64_t addr, uint64_t *ret)
{
	const struct walk_input *in = w->in;

	if (in->read && in->read(in->ctx, addr, ret) >= 0)
		return true;
	if (in->stack_size && addr >= in->stack_addr && addr - in->stack_addr + 8 > in->stack_size)
		return coati_walk_stop(w, WALK_TRUNCATED);
	return coati_walk_stop(w, WALK_BAD);
}

static inline bool read_word(struct walk *w, uint64_t addr, uint64_t *ret)
{
	uint64_t off = addr - w->in->stack_addr;

	if (w->in->stack_size >= 8 && off <= w->in->stack_size - 8) {
		memcpy(ret, w->in->stack + off, 8);
		return true;
	}
	return read_outside(w, addr, ret);
}

__attribute__((noinline)) bool coati_walk_read(struct walk *w, uint64_t addr, uint64_t *ret)
{
	return read_word(w, addr, ret);
}

static inline bool get_reg(struct walk *w, struct walk_reg *r, uint64_t *ret)
{
	if (r->is_lost)
		return coati_walk_stop(w, WALK_UNSUPPORTED);
	if (r->at) {
		if (!read_word(w, r->at, &r->value))
			return false;
		r->at = 0;
	}
	*ret = r->value;
	return true;
}

__attribute__((noinline)) bool coati_walk_reg(struct walk *w, struct walk_reg *r, uint64_t *ret)
{
	return get_reg(w, r, ret);
}

/* rax rdx rcx rbx rsi rdi rbp rsp r8..r15 of the kernel's struct sigcontext, as words; on arm64
 * they are in order. */
static const uint8_t context_words[16] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7 };

__attribute__((cold)) bool coati_walk_any_reg(struct walk *w, uint32_t reg, uint64_t *ret)
{
	bool is_x86 = table_is_x86(w->in->machine);

	if (reg == (is_x86 ? 7u : 31u)) {
		*ret = w->sp;
		return true;
	}
	if (reg == (is_x86 ? 6u : 29u))
		return coati_walk_reg(w, &w->fp, ret);
	if (reg == (is_x86 ? 3u : 30u))
		return coati_walk_reg(w, &w->other, ret);
	if (!w->has_regs || reg >= (is_x86 ? 16u : 31u))
		return coati_walk_stop(w, WALK_UNSUPPORTED);
	if (w->context)
		return coati_walk_read(w, w->context + 8 * (is_x86 ? context_words[reg] : reg),
				       ret);
	if (!(w->in->known >> reg & 1))
		return coati_walk_stop(w, WALK_UNSUPPORTED);
	*ret = w->in->regs[reg];
	return true;
}

static __attribute__((noinline)) const struct walk_place *add_place(struct walk *w, uint64_t addr)
{
	uint32_t i = w->nr_places < WALK_PLACES ? w->nr_places : (w->last_place + 1) % WALK_PLACES;
	struct walk_place p = { 0 };

	if (w->in->find(w->in->ctx, addr, &p) < 0 || addr - p.start >= p.end - p.start)
		return NULL;
	if (p.table && p.table->machine != w->in->machine)
		p.table = NULL;
	w->places[i] = p;
	if (w->nr_places < WALK_PLACES)
		w->nr_places++;
	w->last_place = i;
	return &w->places[i];
}

static inline const struct walk_place *find_place(struct walk *w, uint64_t addr)
{
	const struct walk_place *p = &w->places[w->last_place];

	if (addr - p->start < p->end - p->start)
		return p;
	for (uint32_t i = 0; i < w->nr_places; i++) {
		p = &w->places[i];
		if (addr - p->start < p->end - p->start) {
			w->last_place = i;
			return p;
		}
	}
	return add_place(w, addr);
}

__attribute__((noinline)) const struct walk_place *coati_walk_place(struct walk *w, uint64_t addr)
{
	return find_place(w, addr);
}

static inline struct table_packed find_rule(struct walk *w, const struct walk_place *p,
					    uint64_t vaddr)
{
	struct table_packed rule;
	struct walk_slot *s;

	if (!w->in->cache || !p->serial)
		return table_find(p->table, vaddr);
	s = &w->in->cache
		     ->slots[((vaddr ^ vaddr >> 12) + p->serial * 0x9e3779b9u) % WALK_CACHE_LEN];
	if (s->vaddr == vaddr && s->serial == p->serial)
		return (struct table_packed){ s->rule, s->other };
	rule = table_find(p->table, vaddr);
	*s = (struct walk_slot){ vaddr, rule.rule, p->serial, rule.other };
	return rule;
}

/* The caller's stack pointer by a rule that little code has. */
static __attribute__((noinline, cold)) bool find_rare_cfa(struct walk *w,
							  const struct table_rule *r, uint64_t *ret)
{
	int64_t off = r->cfa_off, post = (int64_t)(int8_t)r->arg * 8;
	uint64_t base;

	switch (r->cfa) {
	case TABLE_CFA_REG:
		if (!coati_walk_any_reg(w, r->arg, &base))
			return false;
		*ret = base + (uint64_t)off;
		return true;
	case TABLE_CFA_AT_SP:
		if (!coati_walk_read(w, w->sp + (uint64_t)off, &base))
			return false;
		*ret = base + (uint64_t)post;
		return true;
	case TABLE_CFA_AT_FP:
		if (!coati_walk_reg(w, &w->fp, &base) ||
		    !coati_walk_read(w, base + (uint64_t)off, &base))
			return false;
		*ret = base + (uint64_t)post;
		return true;
	case TABLE_CFA_PLT:
		*ret = w->sp + (uint64_t)off + ((w->pc & 15) >= r->arg ? 8 : 0);
		return true;
	default:
		return coati_walk_stop(w, WALK_UNSUPPORTED);
	}
}

/* The caller's stack pointer. */
static inline bool find_cfa(struct walk *w, const struct table_rule *r, uint64_t *ret)
{
	uint64_t base = w->sp;

	if (r->cfa == TABLE_CFA_FP) {
		if (!get_reg(w, &w->fp, &base))
			return false;
	} else if (r->cfa != TABLE_CFA_SP && r->cfa != TABLE_CFA_RA_REG) {
		return find_rare_cfa(w, r, ret);
	}
	*ret = base + (uint64_t)(int64_t)r->cfa_off;
	return true;
}

/* Below the stack pointer is the leaf's red zone, which a copy of the stack may lack: then the
 * register was not changed yet, or is restored already, and keeps its value. */
static __attribute__((noinline, cold)) void read_red_zone(struct walk *w, struct walk_reg *r,
							  uint64_t at)
{
	uint64_t value;

	if (coati_walk_read(w, at, &value))
		*r = (struct walk_reg){ .value = value };
	w->is_over = false;
}

/* Where a register of the caller is, when this frame saved it at @at. */
static inline void move_reg(struct walk *w, struct walk_reg *r, uint8_t where, uint64_t at)
{
	if (where == TABLE_SAME)
		return;
	if (where == TABLE_LOST) {
		r->is_lost = true;
	} else if (at >= w->sp) {
		/* each by itself: copied as a whole, the next read of one waits for all */
		r->at = at;
		r->is_lost = false;
	} else {
		read_red_zone(w, r, at);
	}
}

static inline bool where_at(struct walk *w, uint8_t where, int32_t off, uint64_t cfa, uint64_t *ret)
{
	uint64_t base = 0;

	if (where == TABLE_AT_CFA)
		base = cfa;
	else if (where == TABLE_AT_SP)
		base = w->sp;
	else if (where == TABLE_AT_FP && !get_reg(w, &w->fp, &base))
		return false;
	*ret = base + (uint64_t)(int64_t)off;
	return true;
}

/* The return address: CFA - 8, the register a rule names, or what arm64's second part says. */
static inline bool find_ra(struct walk *w, const struct table_rule *r, uint64_t cfa, uint64_t *ret)
{
	uint64_t at;

	if (r->cfa == TABLE_CFA_RA_REG)
		return coati_walk_any_reg(w, r->arg, ret);
	if (table_is_x86(w->in->machine))
		return read_word(w, cfa - 8, ret);
	if (r->other == TABLE_SAME) {
		if (!get_reg(w, &w->other, ret))
			return false;
	} else if (!where_at(w, r->other, r->other_off, cfa, &at) || !read_word(w, at, ret)) {
		return false;
	}
	*ret &= ARM64_ADDRESS;
	return true;
}

/* Does the stack grow? A leaf whose return address is in a register may have none of its own. */
static inline bool is_grown(const struct walk *w, const struct table_rule *r, uint64_t cfa)
{
	bool by_register = r->cfa == TABLE_CFA_RA_REG ||
			   (!table_is_x86(w->in->machine) && r->other == TABLE_SAME);

	return cfa > w->sp || (cfa == w->sp && by_register && w->has_regs);
}

static bool apply(struct walk *w, struct table_packed packed)
{
	struct table_rule r = table_unpack(packed);
	uint64_t cfa, ra, fp_at, other_at;

	if (!find_cfa(w, &r, &cfa))
		return false;
	if (!is_grown(w, &r, cfa))
		return coati_walk_stop(w, WALK_BAD);
	if (!find_ra(w, &r, cfa, &ra) || !where_at(w, r.fp, r.fp_off, cfa, &fp_at))
		return false;
	if (table_is_x86(w->in->machine)) {
		if (!where_at(w, r.other, r.other_off, cfa, &other_at))
			return false;
		move_reg(w, &w->other, r.other, other_at);
	} else {
		w->other.is_lost = true;
	}
	move_reg(w, &w->fp, r.fp, fp_at);
	w->sp = cfa;
	w->pc = ra;
	w->is_exact = r.exact;
	w->has_regs = false;
	w->frame.how = WALK_TABLE;
	return true;
}

/* From the frame at hand to its caller's registers. */
static bool step(struct walk *w)
{
	uint64_t addr = w->pc - !w->is_exact;
	const struct walk_place *p = find_place(w, addr);
	struct table_packed rule;

	if (!p)
		return coati_walk_stop(w, WALK_UNMAPPED);
	if (!p->table)
		return coati_walk_pointer(w);
	rule = find_rule(w, p, addr - p->bias);
	switch (rule.rule & 15) {
	case TABLE_CFA_GAP:
		return coati_walk_guess(w);
	case TABLE_CFA_END:
		return coati_walk_stop(w, WALK_END);
	case TABLE_CFA_SIGNAL:
		return coati_walk_signal(w);
	default:
		return apply(w, rule);
	}
}

bool coati_walk_begin(struct walk *w, const struct walk_input *in)
{
	bool is_x86 = table_is_x86(in->machine);
	uint32_t pc = is_x86 ? 16 : 32, sp = is_x86 ? 7 : 31, fp = is_x86 ? 6 : 29;
	uint32_t other = is_x86 ? 3 : 30;

	if (!(in->known >> pc & 1) || !(in->known >> sp & 1) ||
	    (!is_x86 && in->machine != EM_AARCH64))
		return false;
	w->in = in;
	w->end = WALK_END;
	w->pc = in->regs[pc];
	w->sp = in->regs[sp];
	w->fp = (struct walk_reg){ .value = in->regs[fp], .is_lost = !(in->known >> fp & 1) };
	w->other =
		(struct walk_reg){ .value = in->regs[other], .is_lost = !(in->known >> other & 1) };
	w->is_exact = true;
	w->is_begun = w->is_over = false;
	w->has_regs = true;
	w->context = 0;
	w->nr_signals = 0;
	w->nr_places = w->last_place = 0;
	w->places[0] = (struct walk_place){ 0 };
	return true;
}

bool coati_walk_next(struct walk *w)
{
	const struct walk_place *p;

	if (w->is_over)
		return false;
	if (!w->is_begun)
		w->frame.how = WALK_REGISTERS;
	else if (!step(w))
		return false;
	else if (!w->pc)
		return coati_walk_stop(w, WALK_END);
	p = find_place(w, w->pc);
	/* a call that never returns may end its mapping */
	if (!p && w->is_begun && !w->is_exact)
		p = coati_walk_place(w, w->pc - 1);
	if (!p && w->is_begun)
		return coati_walk_stop(w, WALK_UNMAPPED);
	w->is_begun = true;
	w->frame.pc = w->pc;
	w->frame.sp = w->sp;
	w->frame.image = p ? p->image : UINT32_MAX;
	w->frame.vaddr = p ? w->pc - p->bias : w->pc;
	return true;
}
