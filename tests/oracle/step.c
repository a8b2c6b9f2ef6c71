/* SPDX-License-Identifier: MIT */
/*
 * The single-step oracle: a program is run instruction by instruction under ptrace, calls and
 * returns are written down, and at every instruction the unwind tables must tell the same callers.
 * The list of calls does not use unwind data, so it cannot make the same mistake. Only x86-64:
 * there the processor can be stepped and a call is seen by what it does to the stack.
 *
 *	oracle-step [-n INSTRUCTIONS] [-s SKIP] [-m] [-d CACHE] -- COMMAND...
 *
 * -s begins after so many instructions; -m starts at the program's own entry, behind the loader; -d
 * keeps the tables in a folder and uses those that are there (oracle-corrupt spoils them, and then
 * this must fail). Prints one line: steps, walks that reached the end, walks that stopped early
 * with the reason, wrong frames. Exit status 1 when a frame was wrong.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/image.h>
#include <coati/unwind.h>

#include "base/parse.h"
#include "oracle.h"

#define SHADOW_MAX 65536
#define FRAMES_MAX 4096
#define SHOWN_MAX  5

/* A return address that a call has put on the stack. It is gone when the stack pointer passes its
 * place. */
struct call {
	uint64_t slot, value;
};

struct oracle {
	struct oracle_process process;
	struct coati_unwinder *unwinder;
	struct call shadow[SHADOW_MAX];
	size_t nr_shadow;
	struct coati_unwind_frame frames[FRAMES_MAX];
	uint64_t steps, wrong, short_walks;
	uint64_t ends[COATI_UNWIND_END_COUNT];
	uint64_t guesses;
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- the list of calls ---- */

static void forget_below(struct oracle *o, uint64_t sp)
{
	while (o->nr_shadow && o->shadow[o->nr_shadow - 1].slot < sp)
		o->nr_shadow--;
}

static void remember(struct oracle *o, uint64_t slot, uint64_t value)
{
	if (o->nr_shadow == SHADOW_MAX) {
		fputs("oracle-step: the program calls too deep\n", stderr);
		exit(2);
	}
	o->shadow[o->nr_shadow++] = (struct call){ slot, value };
}

/* Is the instruction a call, whatever its prefixes? */
static bool is_call(const uint8_t *code, size_t size)
{
	size_t at = 0;

	while (at < size &&
	       (code[at] == 0xf2 || code[at] == 0xf3 || code[at] == 0x2e || code[at] == 0x3e ||
		code[at] == 0x66 || code[at] == 0x67 || (code[at] & 0xf0) == 0x40))
		at++;
	if (at + 1 >= size)
		return false;
	return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2);
}

/* What the last instruction did, seen from its code and the registers before and after. */
static void follow(struct oracle *o, bool was_call, const struct user_regs_struct *before,
		   const struct user_regs_struct *after)
{
	uint64_t value;

	forget_below(o, after->rsp);
	if (was_call && after->rsp == before->rsp - 8 &&
	    oracle_read(&o->process, after->rsp, &value, sizeof(value)))
		remember(o, after->rsp, value);
}

/* Did the kernel start a handler? It has then moved the stack past the red zone and a frame, and
 * gives the signal's number. */
static bool is_handler(const struct user_regs_struct *before, const struct user_regs_struct *after,
		       int sig)
{
	return after->rdi == (uint64_t)sig && before->rsp - after->rsp > 128 &&
	       before->rsp - after->rsp < 65536;
}

/* A signal: the kernel has put a frame on the stack, whose return address is the restorer's; behind
 * it lies what was interrupted. */
static void follow_signal(struct oracle *o, const struct user_regs_struct *before,
			  const struct user_regs_struct *after)
{
	uint64_t value;

	if (after->rip == before->rip ||
	    !oracle_read(&o->process, after->rsp, &value, sizeof(value)))
		return;
	remember(o, after->rsp + 8, before->rip);
	remember(o, after->rsp, value);
}

/* ---- the comparison ---- */

static void show_wrong(struct oracle *o, int nr, size_t at, const struct user_regs_struct *regs)
{
	if (o->wrong > SHOWN_MAX)
		return;
	printf("# wrong: step %" PRIu64 " pc 0x%" PRIx64 " sp 0x%" PRIx64 " frame %zu of %d\n",
	       o->steps, (uint64_t)regs->rip, (uint64_t)regs->rsp, at, nr);
	for (size_t i = 0; i <= at + 1 && i < (size_t)nr; i++) {
		uint64_t want = i == 0		    ? regs->rip
				: i <= o->nr_shadow ? o->shadow[o->nr_shadow - i].value
						    : 0;

		printf("#   frame %zu: 0x%" PRIx64 " (how %u), called from 0x%" PRIx64 "\n", i,
		       o->frames[i].pc, o->frames[i].how, want);
	}
}

static void compare(struct oracle *o, const struct user_regs_struct *regs)
{
	struct oracle_frames found = { .v = o->frames, .max = FRAMES_MAX };
	int nr = oracle_walk(&o->process, o->unwinder, regs, &found);

	if (nr < 1) {
		o->short_walks++;
		return;
	}
	o->ends[found.end]++;
	for (int i = 0; i < nr; i++) {
		uint64_t want = i == 0 ? regs->rip
				: (size_t)i <= o->nr_shadow
					? o->shadow[o->nr_shadow - (size_t)i].value
					: 0;

		o->guesses += o->frames[i].how == COATI_FRAME_GUESS;
		if (o->frames[i].pc == want)
			continue;
		o->wrong++;
		show_wrong(o, nr, (size_t)i, regs);
		return;
	}
	if (found.end == COATI_UNWIND_END && (size_t)nr != o->nr_shadow + 1) {
		o->wrong++;
		show_wrong(o, nr, (size_t)nr - 1, regs);
	}
}

/* ---- the run ---- */

static void get_regs(const struct oracle *o, struct user_regs_struct *ret)
{
	if (ptrace(PTRACE_GETREGS, o->process.pid, NULL, ret) < 0)
		die("PTRACE_GETREGS");
}

static bool step(struct oracle *o, int sig)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, o->process.pid, NULL, (void *)(uintptr_t)sig) < 0 ||
	    waitpid(o->process.pid, &status, __WALL) < 0)
		return false;
	o->process.status = status;
	return WIFSTOPPED(status);
}

static uint64_t entry_of(pid_t pid)
{
	char name[64];
	Elf64_auxv_t v;
	uint64_t entry = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/auxv", (int)pid);
	f = fopen(name, "re");
	while (f && fread(&v, sizeof(v), 1, f) == 1 && v.a_type != AT_NULL)
		if (v.a_type == AT_ENTRY)
			entry = v.a_un.a_val;
	if (f)
		fclose(f);
	return entry;
}

/* Let the loader do its work: it jumps to the entry with an empty stack of calls. */
static void go_to_entry(struct oracle *o)
{
	uint64_t entry = entry_of(o->process.pid);
	struct user_regs_struct regs;
	int status;
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, o->process.pid, (void *)(uintptr_t)entry, NULL);
	if (errno || !entry)
		die("reading the entry");
	ptrace(PTRACE_POKETEXT, o->process.pid, (void *)(uintptr_t)entry,
	       (void *)(uintptr_t)((word & ~0xffL) | 0xcc));
	if (ptrace(PTRACE_CONT, o->process.pid, NULL, NULL) < 0 ||
	    waitpid(o->process.pid, &status, __WALL) < 0 || !WIFSTOPPED(status))
		die("running up to the entry");
	ptrace(PTRACE_POKETEXT, o->process.pid, (void *)(uintptr_t)entry, (void *)(uintptr_t)word);
	get_regs(o, &regs);
	regs.rip = entry;
	ptrace(PTRACE_SETREGS, o->process.pid, NULL, &regs);
}

static void run(struct oracle *o, uint64_t skip, uint64_t limit)
{
	struct user_regs_struct before, after;
	uint8_t code[16];
	int sig = 0;

	get_regs(o, &before);
	while (o->steps < skip + limit) {
		bool was_call;
		int had = sig;

		memset(code, 0, sizeof(code));
		oracle_read(&o->process, before.rip, code, sizeof(code));
		was_call = is_call(code, sizeof(code));
		/* after a system call the mappings may be others */
		if (code[0] == 0x0f && code[1] == 0x05)
			o->process.stale = true;
		if (!step(o, sig))
			return;
		o->steps++;
		sig = WSTOPSIG(o->process.status) == SIGTRAP ? 0 : WSTOPSIG(o->process.status);
		get_regs(o, &after);
		if (sig == 0 && had && is_handler(&before, &after, had))
			follow_signal(o, &before, &after);
		else
			follow(o, was_call, &before, &after);
		if (o->steps > skip && sig == 0)
			compare(o, &after);
		before = after;
	}
}

static uint64_t number(const char *text)
{
	uint64_t n;

	if (!text || coati_parse_u64(text, 0, UINT64_MAX, &n) < 0) {
		fputs("usage: oracle-step [-n INSTRUCTIONS] [-s SKIP] [-m] [-d CACHE] -- "
		      "COMMAND...\n",
		      stderr);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static struct oracle o;
	uint64_t limit = 100000, skip = 0;
	const char *cache = NULL;
	bool from_main = false;
	int opt;

	while ((opt = getopt(argc, argv, "+n:s:d:m")) != -1) {
		if (opt == 'n')
			limit = number(optarg);
		else if (opt == 's')
			skip = number(optarg);
		else if (opt == 'd')
			cache = optarg;
		else if (opt == 'm')
			from_main = true;
		else
			number(NULL);
	}
	if (optind >= argc)
		number(NULL);
	oracle_start(&o.process, argv + optind, cache);
	o.unwinder = oracle_unwinder(&o.process);
	if (from_main)
		go_to_entry(&o);
	run(&o, skip, limit);
	printf("steps %" PRIu64 " complete %" PRIu64 " gap %" PRIu64 " unmapped %" PRIu64
	       " truncated %" PRIu64 " limit %" PRIu64 " bad %" PRIu64 " none %" PRIu64
	       " guesses %" PRIu64 " wrong %" PRIu64 "\n",
	       o.steps > skip ? o.steps - skip : 0, o.ends[COATI_UNWIND_END],
	       o.ends[COATI_UNWIND_GAP], o.ends[COATI_UNWIND_UNMAPPED],
	       o.ends[COATI_UNWIND_TRUNCATED], o.ends[COATI_UNWIND_LIMIT], o.ends[COATI_UNWIND_BAD],
	       o.short_walks, o.guesses, o.wrong);
	coati_unwinder_free(&o.unwinder);
	oracle_end(&o.process);
	return o.wrong ? 1 : 0;
}
