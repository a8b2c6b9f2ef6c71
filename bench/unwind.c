/* SPDX-License-Identifier: MIT */
/*
 * One captured sample (registers and a copy of the stack of this program, some 40 callers deep)
 * unwound again and again: by coati's tables, and by libdw over the same registers and bytes.
 * Prints pairs, ns a sample, for bench/run; first a check that both find the same frames.
 *
 *	bench-unwind PAIRS
 */
#include <elfutils/libdwfl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <coati/coati.h>

#include "bench.h"
#include "unwind/unwinder.h"

#define DEPTH	    32
#define FRAMES_MAX  128
#define COPY_MAX    65536
#define OBJECTS_MAX 32
#define ROUNDS	    200

struct object {
	uint64_t start, end, bias;
	uint32_t image;
};

static struct load {
	struct coati_images *images;
	struct coati_unwinder *u;
	struct object objects[OBJECTS_MAX];
	int nr;
	uint64_t regs[24], dwarf[17], mask;
	uint8_t stack[COPY_MAX];
	uint64_t stack_addr, stack_size;
	struct coati_unwind_frame frames[FRAMES_MAX];
	int nr_frames;
	Dwfl *dwfl;
	uint64_t pcs[FRAMES_MAX];
	int nr_pcs;
} load;

/* ---- the sample ---- */

#if defined(__x86_64__)
__attribute__((noinline)) static void capture(void)
{
	/* perf's numbers, and libdw's */
	static const int perf[24] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
				      REG_RBP, REG_RSP, REG_RIP, -1,	  -1,	   -1,
				      -1,      -1,	-1,	 -1,	  REG_R8,  REG_R9,
				      REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	static const int dwarf[17] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };
	uint64_t top = (uint64_t)getauxval(AT_EXECFN);
	ucontext_t uc;
	int n = 0;

	getcontext(&uc);
	for (int i = 0; i < 24; i++) {
		if (perf[i] < 0)
			continue;
		load.regs[n++] = (uint64_t)uc.uc_mcontext.gregs[perf[i]];
		load.mask |= UINT64_C(1) << i;
	}
	for (int i = 0; i < 17; i++)
		load.dwarf[i] = (uint64_t)uc.uc_mcontext.gregs[dwarf[i]];
	load.stack_addr = (uint64_t)uc.uc_mcontext.gregs[REG_RSP];
	load.stack_size = top - load.stack_addr < COPY_MAX ? top - load.stack_addr : COPY_MAX;
	memcpy(load.stack, (const void *)(uintptr_t)load.stack_addr, load.stack_size);
}
#else
static void capture(void)
{
	fprintf(stderr, "written for x86-64\n");
	exit(77);
}
#endif

static volatile int sink;
static int descend(int n);

/* Sixteen callers of different frames. */
#define CALLER(i)                                              \
	__attribute__((noinline)) static int caller_##i(int n) \
	{                                                      \
		char room[16 + (i)*24];                        \
		memset(room, n, sizeof(room));                 \
		sink += descend(n - 1) + room[n % 16];         \
		return sink;                                   \
	}
CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)

__attribute__((noinline)) static int descend(int n)
{
	static int (*const callers[])(int) = { caller_0, caller_1, caller_2, caller_3,
					       caller_4, caller_5, caller_6, caller_7 };

	if (n <= 0)
		capture();
	else
		sink += callers[n % 8](n);
	return sink + 1;
}

/* ---- ours ---- */

static int find(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	const struct load *l = ctx;

	for (int i = 0; i < l->nr; i++) {
		const struct object *o = &l->objects[i];

		if (addr < o->start || addr >= o->end)
			continue;
		*ret = (struct coati_unwind_place){
			.image = o->image, .start = o->start, .end = o->end, .bias = o->bias
		};
		return 0;
	}
	return -1;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = info->dlpi_name };
	struct object *o = &load.objects[load.nr];
	static char exe[512];

	(void)size;
	(void)ctx;
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	if (!*ref.path)
		ref.path = exe;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		o->start = info->dlpi_addr + p->p_vaddr;
		o->end = o->start + p->p_memsz;
	}
	o->bias = info->dlpi_addr;
	if (ref.path[0] != '/' || load.nr + 1 == OBJECTS_MAX ||
	    coati_images_get(load.images, &ref, &o->image, NULL) < 0)
		return 0;
	load.nr++;
	return 0;
}

static void ours(void *ctx)
{
	struct load *l = ctx;
	struct coati_unwind_input in = { .size = sizeof(in),
					 .machine = COATI_MACHINE_X86_64,
					 .find = find,
					 .ctx = l,
					 .regs = l->regs,
					 .reg_mask = l->mask,
					 .stack = l->stack,
					 .stack_size = l->stack_size,
					 .stack_addr = l->stack_addr };
	enum coati_unwind_end end;

	l->nr_frames = coati_unwind(l->u, &in, l->frames, FRAMES_MAX, &end);
	if (end != COATI_UNWIND_END) {
		fprintf(stderr, "our walk ends: %s\n", coati_unwind_end_name(end));
		exit(1);
	}
}

/* ---- libdw ---- */

static pid_t next_thread(Dwfl *dwfl, void *ctx, void **arg)
{
	(void)dwfl;
	(void)ctx;
	if (*arg)
		return 0;
	*arg = &load;
	return getpid();
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *ctx, void **arg)
{
	(void)dwfl;
	(void)tid;
	(void)ctx;
	*arg = &load;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *ctx)
{
	(void)dwfl;
	(void)ctx;
	if (addr < load.stack_addr || addr - load.stack_addr > load.stack_size - 8)
		return false;
	memcpy(ret, load.stack + (addr - load.stack_addr), 8);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *ctx)
{
	(void)ctx;
	return dwfl_thread_state_registers(thread, 0, 17, load.dwarf);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int take_frame(Dwfl_Frame *frame, void *ctx)
{
	struct load *l = ctx;
	Dwarf_Addr pc;
	bool is_exact;

	if (!dwfl_frame_pc(frame, &pc, &is_exact) || l->nr_pcs == FRAMES_MAX)
		return DWARF_CB_ABORT;
	l->pcs[l->nr_pcs++] = pc;
	return DWARF_CB_OK;
}

static void peer(void *ctx)
{
	struct load *l = ctx;

	l->nr_pcs = 0;
	dwfl_getthread_frames(l->dwfl, getpid(), take_frame, l);
}

static int open_peer(void)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo };

	load.dwfl = dwfl_begin(&callbacks);
	if (!load.dwfl || dwfl_linux_proc_report(load.dwfl, getpid()) != 0 ||
	    dwfl_report_end(load.dwfl, NULL, NULL) != 0)
		return -1;
	return dwfl_attach_state(load.dwfl, NULL, getpid(), &thread_callbacks, &load) ? 0 : -1;
}

static int check(void)
{
	ours(&load);
	peer(&load);
	if (load.nr_frames != load.nr_pcs || load.nr_frames < DEPTH)
		return -1;
	for (int i = 0; i < load.nr_frames; i++)
		if (load.frames[i].pc != load.pcs[i])
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int pairs = 0;
	struct coati_unwinder_opts opts = { .size = sizeof(opts),
					    .flags = COATI_UNWINDER_NO_CACHE };

	for (const char *p = argc == 2 ? argv[1] : ""; *p >= '0' && *p <= '9'; p++)
		pairs = pairs * 10 + (unsigned int)(*p - '0');
	if (!pairs) {
		fprintf(stderr, "usage: bench-unwind PAIRS\n");
		return 2;
	}
	descend(DEPTH);
	if (coati_images_new(NULL, &load.images, NULL) < 0 ||
	    coati_unwinder_new(load.images, &opts, &load.u, NULL) < 0)
		return 1;
	dl_iterate_phdr(add_object, NULL);
	if (open_peer() < 0) {
		fprintf(stderr, "libdw cannot look at this process\n");
		return 77;
	}
	if (check() < 0) {
		fprintf(stderr, "the two do not agree: %d and %d frames\n", load.nr_frames,
			load.nr_pcs);
		return 1;
	}
	fprintf(stderr, "%d frames\n", load.nr_frames);
	bench_pairs(pairs, ROUNDS, ours, peer, &load);
	dwfl_end(load.dwfl);
	coati_unwinder_free(&load.u);
	coati_images_free(&load.images);
	return 0;
}
