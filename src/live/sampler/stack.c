/* SPDX-License-Identifier: MIT */
/*
 * The stack of the code that a signal interrupted, by frame pointers or by tables. Memory is known
 * to be there or is asked for before it is read: whatever the registers hold, nothing is touched
 * that is not mapped.
 */
#include "live/sampler/stack.h"

#include <elf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096) /* the least that any kernel maps */
#define SAME_STACK (UINT64_C(64) << 10)
#define MOST_PAGES 16u	/* by which a known part of a stack grows at once */
#define RED_ZONE   128u /* below the stack pointer, which the kernel leaves alone */

struct sampler_objects *_Atomic coati_sampler_objects;
struct sampler_readers coati_sampler_readers[SAMPLER_STRIPES];
_Atomic uint32_t coati_sampler_forks;

/* ---- memory ---- */

/* The kernel reads the set before it looks at what is to be done with it, which nothing is. That is
 * an eighth of what reading by process_vm_readv(2) costs, and no filter of system calls forbids it.
 */
bool coati_sampler_probe(uint64_t addr)
{
	return syscall(SYS_rt_sigprocmask, -1L, addr, 0L, 8L) < 0 && errno == EINVAL;
}

/* The page of the interrupted stack pointer is there when this handler runs on the same stack. */
static inline struct stack_memory memory_at(uint64_t sp, bool can_probe)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	if (sp - here >= SAME_STACK)
		return (struct stack_memory){ .can_probe = can_probe };
	return (struct stack_memory){ sp - RED_ZONE, (sp | (PAGE_BYTES - 1)) + 1, can_probe };
}

/* Whether @size bytes can be read at @addr. */
static inline bool is_there(struct stack_memory *m, uint64_t addr, uint64_t size)
{
	uint64_t page;

	if (m->end - m->low >= size && addr - m->low <= m->end - m->low - size)
		return true;
	if (!m->can_probe || addr > UINT64_MAX - 2 * PAGE_BYTES)
		return false;
	if (addr < m->low || addr > m->end)
		m->low = m->end = addr & ~(PAGE_BYTES - 1);
	for (page = m->end; page < addr + size; page += PAGE_BYTES) {
		if (!coati_sampler_probe(page))
			return false;
		m->end = page + PAGE_BYTES;
	}
	return true;
}

/* Words of a stack are whatever they are: nothing for a sanitizer to judge. */
#define RAW __attribute__((no_sanitize("address", "thread")))

/* ---- by frame pointers ---- */

RAW static uint32_t follow(struct stack_memory *m, struct stack_start at, uint64_t *frames,
			   uint32_t max, bool *ret_cut)
{
	uint32_t n = 0;

	*ret_cut = false;
	while (at.fp >= at.sp && !(at.fp & 7) && at.fp < UINT64_MAX - 16) {
		const uint64_t *frame = (const uint64_t *)(uintptr_t)at.fp;

		if (n == max || !is_there(m, at.fp, 16)) {
			*ret_cut = true;
			break;
		}
		if (frame[1] < PAGE_BYTES)
			break; /* the outermost frame */
		frames[n++] = frame[1];
		at.sp = at.fp + 16;
		at.fp = frame[0];
	}
	return n;
}

uint32_t coati_sampler_walk_on(struct stack_start at, uint64_t *frames, uint32_t max,
			       bool can_probe, bool *ret_cut)
{
	struct stack_memory m = memory_at(at.sp, can_probe);

	return follow(&m, at, frames, max, ret_cut);
}

/* The stack may have grown below what is known, by a few pages; or it is another one. */
static void move_down(struct stack_memory *known, uint64_t fp)
{
	uint64_t page = fp & ~(PAGE_BYTES - 1);

	if (page >= known->low && page < known->end)
		return;
	for (uint64_t low = known->low; page < low && low - page <= MOST_PAGES * PAGE_BYTES;) {
		low -= PAGE_BYTES;
		if (!coati_sampler_probe(low))
			break;
		known->low = low;
		if (low == page)
			return;
	}
	known->low = known->end = page;
}

uint32_t coati_sampler_walk_known(struct stack_memory *known, uint64_t fp, uint64_t *frames,
				  uint32_t max, bool *ret_cut)
{
	move_down(known, fp);
	return follow(known, (struct stack_start){ fp, fp }, frames, max, ret_cut);
}

uint64_t coati_sampler_sp(const void *context)
{
	const ucontext_t *c = context;

#if defined(__x86_64__)
	return (uint64_t)c->uc_mcontext.gregs[REG_RSP];
#else
	return c->uc_mcontext.sp;
#endif
}

uint32_t coati_sampler_walk(const void *context, uint64_t *frames, uint32_t max, bool can_probe,
			    bool *ret_cut)
{
	const ucontext_t *c = context;
	struct stack_start at;

#if defined(__x86_64__)
	frames[0] = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	at.sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
	at.fp = (uint64_t)c->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
	frames[0] = c->uc_mcontext.pc;
	at.sp = c->uc_mcontext.sp;
	at.fp = c->uc_mcontext.regs[29];
#else
#error "no registers known for this CPU"
#endif
	return 1 + coati_sampler_walk_on(at, frames + 1, max - 1, can_probe, ret_cut);
}

/* ---- by tables ---- */

#if defined(__x86_64__)
#define MACHINE	  EM_X86_64
#define REGS	  17
#define REG_PC	  16
#define REG_SP	  7
#define REG_FP	  6
#define REG_OTHER 3

static void take_registers(const ucontext_t *c, uint64_t *ret)
{
	/* by DWARF's numbers */
	static const uint8_t order[REGS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
					     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (uint32_t i = 0; i < REGS; i++)
		ret[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
}
#else
#define MACHINE	  EM_AARCH64
#define REGS	  33
#define REG_PC	  32
#define REG_SP	  31
#define REG_FP	  29
#define REG_OTHER 30

static void take_registers(const ucontext_t *c, uint64_t *ret)
{
	for (uint32_t i = 0; i < 31; i++)
		ret[i] = c->uc_mcontext.regs[i];
	ret[31] = c->uc_mcontext.sp;
	ret[32] = c->uc_mcontext.pc;
}
#endif

struct looking {
	const struct sampler_objects *objects;
	struct stack_memory memory;
};

/* Code of no object (made at run time, or loaded since) is walked by frame pointer, a page of it at
 * a time. */
static int find_place(void *ctx, uint64_t addr, struct walk_place *ret)
{
	const struct looking *l = ctx;
	const struct sampler_object *o = sampler_object_find(l->objects, addr);

	if (o) {
		*ret = (struct walk_place){ .start = o->start,
					    .end = o->end,
					    .bias = o->bias,
					    .table = o->table,
					    .serial = o->serial };
		return 0;
	}
	if (addr < PAGE_BYTES || addr > UINT64_MAX - PAGE_BYTES)
		return -1;
	ret->start = addr & ~(PAGE_BYTES - 1);
	ret->end = ret->start + PAGE_BYTES;
	return 0;
}

RAW static int read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct looking *l = ctx;

	if (addr & 7 || !is_there(&l->memory, addr, 8))
		return -1;
	*ret = *(const uint64_t *)(uintptr_t)addr;
	return 0;
}

/* By the kernel: code may be unloaded at any moment. */
static int read_code(void *ctx, const struct walk_place *place, uint64_t addr,
		     uint8_t ret[WALK_CODE_SIZE])
{
	const struct looking *l = ctx;
	struct iovec to = { ret, WALK_CODE_SIZE },
		     from = { (void *)(uintptr_t)(addr - WALK_CODE_SIZE), WALK_CODE_SIZE };

	(void)place;
	if (!l->memory.can_probe || addr < PAGE_BYTES)
		return -1;
	return syscall(SYS_process_vm_readv, (long)getpid(), &to, 1UL, &from, 1UL, 0UL) ==
			       WALK_CODE_SIZE
		       ? 0
		       : -1;
}

/* The rule of code at @addr; a gap when it is not known. */
static inline struct table_packed find_rule(const struct sampler_objects *objects,
					    struct walk_cache *cache, uint64_t addr)
{
	struct walk_slot *s = cache ? &cache->slots[(addr ^ addr >> 12) % WALK_CACHE_LEN] : NULL;
	const struct sampler_object *o;
	struct table_packed rule;

	if (s && s->vaddr == addr && s->serial == objects->serial)
		return (struct table_packed){ s->rule, s->other };
	o = sampler_object_find(objects, addr);
	if (!o || !o->table)
		return (struct table_packed){ 0, 0 };
	rule = table_find(o->table, addr - o->bias);
	if (s)
		*s = (struct walk_slot){ addr, rule.rule, objects->serial, rule.other };
	return rule;
}

/* What a frame of common code has. */
struct common {
	uint64_t pc, sp, fp, lr;
	bool is_leaf, is_over;
};

/* The return address: before the CFA, or what arm64's second part says. */
RAW static inline bool common_ra(struct looking *l, const struct common *f,
				 struct table_packed rule, uint64_t cfa, uint64_t *ret)
{
	uint64_t at = cfa - 8;

	if (MACHINE == EM_AARCH64 && (rule.other & 7) == TABLE_SAME) {
		*ret = f->lr;
		return f->is_leaf && cfa >= f->sp;
	}
	if (MACHINE == EM_AARCH64 && (rule.other & 7) != TABLE_AT_CFA)
		return false;
	if (MACHINE == EM_AARCH64)
		at = cfa + (uint64_t)(int64_t)(rule.other >> 4);
	if (at & 7 || cfa <= f->sp || !is_there(&l->memory, at, 8))
		return false;
	*ret = *(const uint64_t *)(uintptr_t)at;
	return true;
}

/* From a frame to its caller by one of the rules that nearly all code has; false: by none of
 * them. */
RAW static inline bool common_step(struct looking *l, struct walk_cache *cache, struct common *f)
{
	struct table_packed rule = find_rule(l->objects, cache, f->pc - !f->is_leaf);
	uint64_t kind = rule.rule & 15, where = rule.rule >> 4 & 15, cfa, fp_at, ra;

	if (kind == TABLE_CFA_END) {
		f->is_over = true;
		return true;
	}
	if ((kind != TABLE_CFA_SP && kind != TABLE_CFA_FP) || where > TABLE_AT_CFA ||
	    rule.other & 8)
		return false;
	cfa = (kind == TABLE_CFA_SP ? f->sp : f->fp) + (uint64_t)(int64_t)table_cfa_off(rule.rule);
	if (!common_ra(l, f, rule, cfa, &ra))
		return false;
	if (where == TABLE_AT_CFA) {
		fp_at = cfa + (uint64_t)(int64_t)table_fp_off(rule.rule);
		if (fp_at & 7 || !is_there(&l->memory, fp_at, 8))
			return false;
		f->fp = *(const uint64_t *)(uintptr_t)fp_at;
	}
	f->pc = MACHINE == EM_AARCH64 ? ra & ((UINT64_C(1) << 48) - 1) : ra;
	f->sp = cfa;
	f->is_leaf = false;
	f->is_over = !f->pc;
	return true;
}

/* A stack of common code from its leaf to its end, or to as many frames as there may be; 0: some of
 * it is uncommon. Several times as fast as the whole walk, which knows all rules. */
static uint32_t walk_common(struct looking *looking, const struct sampler_scratch *scratch,
			    const struct sampler_limits *l, bool *ret_cut)
{
	const uint64_t *regs = scratch->regs;
	struct common f = { .pc = regs[REG_PC],
			    .sp = regs[REG_SP],
			    .fp = regs[REG_FP],
			    .lr = regs[MACHINE == EM_X86_64 ? REG_PC : REG_OTHER],
			    .is_leaf = true };
	uint32_t n = 0;

	while (n < l->max && !f.is_over) {
		if (f.sp > l->above)
			l->frames[n++] = f.pc;
		if (!common_step(looking, scratch->cache, &f))
			return 0;
	}
	*ret_cut = !f.is_over;
	return n;
}

/* From the registers in @scratch, of which those in @known are there. */
static uint32_t walk_from(const struct sampler_objects *objects, struct sampler_scratch *scratch,
			  const struct sampler_limits *l, uint64_t known, bool *ret_cut)
{
	struct walk *w = &scratch->walk;
	struct looking looking = { .objects = objects };
	struct walk_input in = { .machine = MACHINE,
				 .find = find_place,
				 .read = read_word,
				 .code = read_code,
				 .ctx = &looking,
				 .regs = scratch->regs,
				 .known = known,
				 .cache = scratch->cache };
	uint32_t n = 0;

	looking.memory = memory_at(scratch->regs[REG_SP], l->can_probe);
	n = scratch->is_full ? 0 : walk_common(&looking, scratch, l, ret_cut);
	if (n)
		return n;
	coati_walk_begin(w, &in);
	/* readers take callers for return addresses, and the instruction before them: not so where
	 * a signal came in between */
	while (n < l->max && coati_walk_next(w)) {
		if (w->frame.sp <= l->above)
			continue;
		l->frames[n] = w->frame.pc + ((n > 0 || l->above) && w->is_exact);
		n++;
	}
	*ret_cut = !w->is_over || w->end != WALK_END;
	return n;
}

uint32_t coati_sampler_walk_tables(const void *context, const struct sampler_objects *objects,
				   struct sampler_scratch *scratch, const struct sampler_limits *l,
				   bool *ret_cut)
{
	take_registers(context, scratch->regs);
	return walk_from(objects, scratch, l, (UINT64_C(1) << REGS) - 1, ret_cut);
}

/* All at one instruction: the rule of that holds for them. */
static inline void own_registers(uint64_t *regs)
{
#if defined(__x86_64__)
	__asm__ volatile("leaq 0(%%rip), %%rax\n\t"
			 "movq %%rax, %0\n\t"
			 "movq %%rsp, %1\n\t"
			 "movq %%rbp, %2\n\t"
			 "movq %%rbx, %3"
			 : "=m"(regs[REG_PC]), "=m"(regs[REG_SP]), "=m"(regs[REG_FP]),
			   "=m"(regs[REG_OTHER])
			 :
			 : "rax");
#else
	__asm__ volatile("adr x9, .\n\t"
			 "str x9, %0\n\t"
			 "mov x9, sp\n\t"
			 "str x9, %1\n\t"
			 "str x29, %2\n\t"
			 "str x30, %3"
			 : "=m"(regs[REG_PC]), "=m"(regs[REG_SP]), "=m"(regs[REG_FP]),
			   "=m"(regs[REG_OTHER])
			 :
			 : "x9");
#endif
}

__attribute__((noinline)) uint32_t coati_sampler_walk_here(const void *frame,
							   const struct sampler_objects *objects,
							   const struct sampler_limits *l,
							   bool *ret_cut)
{
	struct sampler_limits above = *l;
	struct sampler_scratch scratch; /* as the walk needs it */

	scratch.cache = NULL;
	scratch.is_full = false;
	above.above = (uint64_t)(uintptr_t)frame;
	own_registers(scratch.regs);
	return walk_from(objects, &scratch, &above,
			 UINT64_C(1) << REG_PC | UINT64_C(1) << REG_SP | UINT64_C(1) << REG_FP |
				 UINT64_C(1) << REG_OTHER,
			 ret_cut);
}
