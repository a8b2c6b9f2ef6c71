/* SPDX-License-Identifier: MIT */
/* Unwinds its own stack from its registers on x86-64, and the memory of the stack: unwind */
#define _GNU_SOURCE	   1
#define COATI_EXPERIMENTAL 1
#include <coati/coati.h>

#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

static int find(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	struct coati_place at;
	int r = coati_processes_find(ctx, (int32_t)getpid(), addr, UINT64_MAX, &at);

	*ret = (struct coati_unwind_place){ at.image, 0, at.start, at.end, addr - at.vaddr };
	return r;
}

static int show(struct coati_images *images, struct coati_processes *processes, const void *top)
{
	struct coati_unwind_input in = { .size = sizeof(in), .find = find, .ctx = processes };
	enum coati_unwind_end end = COATI_UNWIND_BAD;
	struct coati_unwind_frame f[32];
	struct coati_unwinder *u = NULL;
	uint64_t regs[3];
	ucontext_t now;

	if (coati_unwinder_new(images, NULL, &u, NULL) < 0 || getcontext(&now) < 0)
		return -1;
	regs[0] = (uint64_t)now.uc_mcontext.gregs[REG_RBP];
	regs[1] = in.stack_addr = (uint64_t)now.uc_mcontext.gregs[REG_RSP];
	regs[2] = (uint64_t)now.uc_mcontext.gregs[REG_RIP];
	in.machine = COATI_MACHINE_X86_64;
	in.regs = regs;
	in.reg_mask = 1 << 6 | 1 << 7 | 1 << 8; /* as in samples of perf events */
	in.stack = (const uint8_t *)in.stack_addr;
	in.stack_size = (uint64_t)top - in.stack_addr;
	for (int i = 0, nr = coati_unwind(u, &in, f, 32, &end); i < nr; i++) {
		struct coati_address a = { .image = f[i].image, .vaddr = f[i].vaddr - (i > 0) };
		if (coati_images_resolve(images, &a, 1, 0, NULL) == 0)
			printf("%s\n", a.names[0].function);
	}
	coati_unwinder_free(&u);
	return end == COATI_UNWIND_END ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct coati_processes_opts opts = { .size = sizeof(opts), .flags = COATI_PROCESSES_LIVE };
	struct coati_processes *processes = NULL;
	struct coati_images *images = NULL;
	int r = coati_images_new(NULL, &images, NULL);

	if (r == 0 && (r = coati_processes_new(images, &opts, &processes, NULL)) == 0)
		r = show(images, processes, argv + argc); /* they lie behind the stack */
	coati_processes_free(&processes);
	coati_images_free(&images);
	return r < 0;
}
