/* SPDX-License-Identifier: MIT */
/*
 * The walk over this very process: registers taken here, tables of the files that are loaded, stack
 * read where it lies. What glibc's backtrace() says of the same place is the judge; stacks made by
 * hand show how walks end.
 */
#include "lib/test.h"

#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "unit/judge.h"
#include "unwind/table/build.h"
#include "unwind/table/walk.h"

#define OBJECTS_MAX 32
#define FRAMES_MAX  64

struct object {
	uint64_t start, end, bias;
	struct elf elf;
	struct table table;
	void *bytes;
};

static struct object objects[OBJECTS_MAX];
static int nr_objects;

#if defined(__x86_64__)
#define MACHINE EM_X86_64
static void take_regs(const ucontext_t *uc, uint64_t regs[WALK_REGS])
{
	static const int from[17] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				      REG_RBP, REG_RSP, REG_R8,	 REG_R9,  REG_R10, REG_R11,
				      REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (int i = 0; i < 17; i++)
		regs[i] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
}
#else
#define MACHINE EM_AARCH64
static void take_regs(const ucontext_t *uc, uint64_t regs[WALK_REGS])
{
	for (int i = 0; i < 31; i++)
		regs[i] = uc->uc_mcontext.regs[i];
	regs[31] = uc->uc_mcontext.sp;
	regs[32] = uc->uc_mcontext.pc;
}
#endif

static int open_vdso(struct elf *ret)
{
	const Elf64_Ehdr *h = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	return h ? coati_elf_from_bytes(h, h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr), ret)
		 : -ENOENT;
}

static int load_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	/* under an emulator /proc/self/exe is the emulator */
	const char *own = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name
			   : test_emulated()		       ? own
							       : "/proc/self/exe";
	struct object *o = &objects[nr_objects];
	struct table_input in;
	size_t table_size;

	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			o->start = info->dlpi_addr + p->p_vaddr;
			o->end = o->start + p->p_memsz;
		}
	}
	o->bias = info->dlpi_addr;
	if (nr_objects + 1 == OBJECTS_MAX ||
	    (path[0] == '/' ? coati_elf_open(path, &o->elf, NULL) : open_vdso(&o->elf)) < 0)
		return 0;
	CHECK_OK(coati_table_input(&o->elf, &in, NULL));
	CHECK_OK(coati_table_build(&in, &o->bytes, &table_size));
	CHECK_OK(coati_table_open(o->bytes, table_size, &o->table));
	nr_objects++;
	return 0;
}

static int find(void *ctx, uint64_t addr, struct walk_place *ret)
{
	(void)ctx;
	for (int i = 0; i < nr_objects; i++) {
		const struct object *o = &objects[i];

		if (addr >= o->start && addr < o->end) {
			*ret = (struct walk_place){ .start = o->start,
						    .end = o->end,
						    .bias = o->bias,
						    .table = &o->table,
						    .image = (uint32_t)i };
			return 0;
		}
	}
	return -ENOENT;
}

static int read_self(void *ctx, uint64_t addr, uint64_t *ret)
{
	(void)ctx;
	if (addr < 0x10000 || addr >> 48)
		return -EFAULT;
	memcpy(ret, (const void *)(uintptr_t)addr, 8);
	return 0;
}

static int code_self(void *ctx, const struct walk_place *place, uint64_t addr,
		     uint8_t ret[WALK_CODE_SIZE])
{
	(void)place;
	(void)ctx;
	memcpy(ret, (const void *)(uintptr_t)(addr - WALK_CODE_SIZE), WALK_CODE_SIZE);
	return 0;
}

struct walked {
	struct walk_frame frames[FRAMES_MAX];
	int nr;
	enum walk_end end;
	void *truth[FRAMES_MAX];
	int nr_truth;
};

static void unload(void)
{
	for (int i = 0; i < nr_objects; i++) {
		coati_free(objects[i].bytes);
		coati_elf_close(&objects[i].elf);
	}
	nr_objects = 0;
}

static void walk_from(const ucontext_t *uc, struct walked *ret)
{
	uint64_t regs[WALK_REGS] = { 0 };
	struct walk_input in = { .machine = MACHINE,
				 .find = find,
				 .read = read_self,
				 .code = code_self,
				 .regs = regs,
				 .known = UINT64_MAX };
	struct walk w;

	take_regs(uc, regs);
	ret->nr = 0;
	CHECK(coati_walk_begin(&w, &in));
	while (ret->nr < FRAMES_MAX && coati_walk_next(&w))
		ret->frames[ret->nr++] = w.frame;
	ret->end = w.end;
}

static struct walked here;

__attribute__((noinline)) static void take_stack(void)
{
	ucontext_t uc;

	here.nr_truth = judge(here.truth, FRAMES_MAX);
	getcontext(&uc);
	walk_from(&uc, &here);
}

/* All callers from the second on; where the two stand inside the innermost function differs. */
static void check_truth(void)
{
	CHECK_INT(here.end, ==, WALK_END);
	CHECK_INT(here.nr, >, 4);
	CHECK_INT(here.nr, ==, here.nr_truth);
	for (int i = 1; i < here.nr; i++)
		if (here.frames[i].pc != (uint64_t)(uintptr_t)here.truth[i])
			test_fail_at(__FILE__, __LINE__, "frame %d is %llx, not %p", i,
				     (unsigned long long)here.frames[i].pc, here.truth[i]);
}

TEST(walk_finds_the_callers_that_backtrace_finds)
{
	dl_iterate_phdr(load_object, NULL);
	take_stack();
	check_truth();
	CHECK_INT(here.frames[0].how, ==, WALK_REGISTERS);
	CHECK_INT(here.frames[1].how, ==, WALK_TABLE);
	unload();
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (!here.nr)
		take_stack();
	return 0;
}

TEST(walk_passes_through_libc_and_back)
{
	int numbers[8] = { 3, 1, 2 };

	dl_iterate_phdr(load_object, NULL);
	here.nr = 0;
	qsort(numbers, 8, sizeof(int), compare);
	check_truth();
	unload();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Walloca" /* it is what is tested */
/* Frames of a size that is known at run time only, and aligned more than the stack is. */
__attribute__((noinline)) static int deep(int n, volatile int *sum)
{
	char aligned[64] __attribute__((aligned(64)));
	char *room = __builtin_alloca((size_t)(n + 1) * 24);

	memset(room, n, (size_t)(n + 1) * 24);
	memset(aligned, n, sizeof(aligned));
	if (n)
		*sum += deep(n - 1, sum) + aligned[n] + room[n];
	else
		take_stack();
	return *sum + room[0];
}
#pragma GCC diagnostic pop

TEST(walk_follows_realigned_frames_and_frames_of_any_size)
{
	volatile int sum = 0;

	dl_iterate_phdr(load_object, NULL);
	deep(20, &sum);
	check_truth();
	CHECK_INT(here.nr, >, 21);
	unload();
}

static void *thread(void *arg)
{
	take_stack();
	return arg;
}

TEST(walk_of_a_thread_ends_where_it_was_started)
{
	pthread_t t;

	dl_iterate_phdr(load_object, NULL);
	CHECK_INT(pthread_create(&t, NULL, thread, NULL), ==, 0);
	CHECK_INT(pthread_join(t, NULL), ==, 0);
	CHECK_INT(here.end, ==, WALK_END);
	CHECK_INT(here.nr, ==, here.nr_truth);
	unload();
}

static struct walked interrupted;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	take_stack();
	walk_from(context, &interrupted);
}

static void raise_on(int flags)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };
	int at = -1;

	if (test_emulated())
		test_skip("the emulator's own code returns from handlers");
	/* its first call loads a library, which no handler may do */
	(void)backtrace((void *[1]){ NULL }, 1);
	dl_iterate_phdr(load_object, NULL);
	CHECK_INT(sigaction(SIGUSR1, &sa, NULL), ==, 0);
	raise(SIGUSR1);
	CHECK_INT(here.end, ==, WALK_END);
	CHECK_INT(interrupted.end, ==, WALK_END);
	for (int i = 0; i < here.nr && at < 0; i++)
		if (here.frames[i].how == WALK_SIGNAL)
			at = i;
	CHECK_INT(at, >, 1);
	/* below the signal frame the two walks are the same */
	CHECK_INT(here.nr - at, ==, interrupted.nr);
	for (int i = 0; i < interrupted.nr; i++) {
		CHECK_U64(here.frames[at + i].pc, ==, interrupted.frames[i].pc);
		CHECK_U64(here.frames[at + i].sp, ==, interrupted.frames[i].sp);
	}
	unload();
}

TEST(walk_crosses_a_signal_frame)
{
	raise_on(0);
}

TEST(walk_crosses_to_the_stack_that_a_signal_left)
{
	stack_t alt = { .ss_size = 65536, .ss_sp = malloc(65536) };

	CHECK_INT(sigaltstack(&alt, NULL), ==, 0);
	raise_on(SA_ONSTACK);
	alt.ss_flags = SS_DISABLE;
	CHECK_INT(sigaltstack(&alt, NULL), ==, 0);
	free(alt.ss_sp);
}
