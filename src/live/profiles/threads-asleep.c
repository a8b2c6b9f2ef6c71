/* SPDX-License-Identifier: MIT */
/*
 * The stack of a thread that sleeps in the kernel, without a signal, which would end system calls
 * that the kernel does not restart. The kernel shows the stack pointer and the instruction pointer
 * of such a thread; the walk goes as far as rules lead that need no other register, or registers
 * that a frame on the way has saved.
 *
 * The thread may wake up at any time. Its memory is read by the kernel, so that nothing is touched
 * that is not there, and what was read counts only when the thread has not run meanwhile: it sleeps
 * in the same call as before, and was not scheduled in between.
 */
#include <elf.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "live/profiles/threads.h"

#define TRIES	   5
#define PAGE_BYTES 4096u
#define WORDS	   9u /* number, six arguments, stack pointer, instruction pointer */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define REG_SP	7
#define REG_PC	16
#else
#define MACHINE EM_AARCH64
#define REG_SP	31
#define REG_PC	32
#endif

/* Where a thread sleeps, and how often it was scheduled until then. */
struct glance {
	char call[256], switches[128];
	uint64_t sp, pc;
	bool restarts; /* the kernel restarts the call after a signal handler, unseen */
};

/* One page of the stack, read when it is needed. */
struct asleep {
	const struct sampler_objects *objects;
	uint64_t page; /* 0: none */
	uint64_t words[PAGE_BYTES / 8];
};

/* ---- what /proc says ---- */

/* A wait for a futex without a timeout: pthread_mutex_lock(), pthread_join(), sem_wait() and the
 * like. Others fail with EINTR, or do so when a timeout is set that is not seen here. */
static bool is_restarted(const uint64_t *words, uint32_t nr)
{
	uint64_t op = words[2] & ~(uint64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

	return nr == WORDS && words[0] == SYS_futex &&
	       (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && !words[4];
}

/* "NUMBER ARGUMENT... SP PC"; "-1 SP PC" outside of a call; "running" has neither. */
static bool parse_call(struct glance *g)
{
	uint64_t words[WORDS] = { 0 };
	char text[sizeof(g->call)], *at = text, *end;
	uint32_t nr = 0;

	memcpy(text, g->call, sizeof(text));
	for (; at && nr < WORDS; at = end) {
		end = strchr(at, ' ');
		if (end)
			*end++ = '\0';
		if (!strcmp(at, "-1"))
			words[nr++] = UINT64_MAX;
		else if (coati_parse_u64(at, 0, UINT64_MAX, &words[nr++]) < 0)
			return false;
	}
	if (at || nr < 3)
		return false;
	g->sp = words[nr - 2];
	g->pc = words[nr - 1];
	g->restarts = is_restarted(words, nr);
	return true;
}

/* False: it runs, or has ended. */
static bool glance_at(int task, uint32_t tid, struct glance *g)
{
	CLEANUP(coati_strbuf_fini) struct strbuf status = STRBUF_INIT(16384);
	const char *switches;
	char path[32];

	memset(g, 0, sizeof(*g));
	snprintf(path, sizeof(path), "%u/syscall", tid);
	if (coati_file_read_line(task, path, g->call, sizeof(g->call)) < 0 || !parse_call(g))
		return false;
	snprintf(path, sizeof(path), "%u/status", tid);
	if (coati_file_read(task, path, &status) < 0 ||
	    !(switches = strstr(status.text, "voluntary_ctxt_switches")))
		return false;
	snprintf(g->switches, sizeof(g->switches), "%s", switches);
	return true;
}

static bool is_same(const struct glance *a, const struct glance *b)
{
	return !strcmp(a->call, b->call) && !strcmp(a->switches, b->switches);
}

/* ---- the walk ---- */

/* Code of no object has no table. */
static int find_place(void *ctx, uint64_t addr, struct walk_place *ret)
{
	const struct asleep *a = ctx;
	const struct sampler_object *o = sampler_object_find(a->objects, addr);

	if (!o)
		return -1;
	*ret = (struct walk_place){ .start = o->start,
				    .end = o->end,
				    .bias = o->bias,
				    .table = o->table,
				    .serial = o->serial };
	return 0;
}

bool coati_threads_copy(const void *from, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };

	return syscall(SYS_process_vm_readv, (long)getpid(), &local, 1UL, &remote, 1UL, 0UL) ==
	       (long)size;
}

static int read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	uint64_t page = addr & ~(uint64_t)(PAGE_BYTES - 1);
	struct asleep *a = ctx;

	if (addr & 7 || !page)
		return -1;
	if (page != a->page) {
		a->page = 0;
		if (!coati_threads_copy((const void *)(uintptr_t)page, a->words, PAGE_BYTES))
			return -1;
		a->page = page;
	}
	*ret = a->words[(addr - page) / 8];
	return 0;
}

static const char *why_cut(const struct walk *w)
{
	if (!w->is_over)
		return "it is deeper than this page shows";
	switch (w->end) {
	case WALK_END:
		return NULL;
	case WALK_BAD:
	case WALK_TRUNCATED:
		return "its memory could not be read";
	default:
		return "the next frame needs a register that a sleeping thread does not show";
	}
}

/* Frames by tables; their number. */
static uint32_t walk(struct asleep *a, const struct glance *g, uint64_t *frames,
		     const char **ret_cut)
{
	uint64_t regs[WALK_REGS] = { [REG_SP] = g->sp, [REG_PC] = g->pc };
	const struct walk_input in = { .machine = MACHINE,
				       .find = find_place,
				       .read = read_word,
				       .ctx = a,
				       .regs = regs,
				       .known = UINT64_C(1) << REG_SP | UINT64_C(1) << REG_PC };
	struct walk w;
	uint32_t n = 0;

	coati_walk_begin(&w, &in);
	/* as in coati_sampler_walk_tables() */
	for (; n < THREADS_DEPTH && coati_walk_next(&w); n++)
		frames[n] = w.frame.pc + (n > 0 && w.is_exact);
	*ret_cut = why_cut(&w);
	return n;
}

static uint32_t walk_once(const struct glance *g, uint64_t *frames, const char **ret_cut)
{
	struct sampler_reading reading = sampler_objects_enter();
	struct asleep a = { .objects = reading.objects };
	uint32_t n;

	if (reading.objects &&
	    atomic_load_explicit(&coati_threads_by_tables, memory_order_relaxed)) {
		n = walk(&a, g, frames, ret_cut);
	} else {
		frames[0] = g->pc;
		n = 1;
		*ret_cut = "the frame pointer of a sleeping thread is not shown";
	}
	sampler_objects_leave(&reading);
	return n;
}

/* ---- all of it ---- */

static bool keep(struct threads_seen *seen, struct thread_seen *t, const uint64_t *frames,
		 uint32_t nr)
{
	uint64_t *copy = coati_arena_alloc(&seen->arena, nr * sizeof(*copy));

	if (!copy)
		return false;
	memcpy(copy, frames, nr * sizeof(*copy));
	t->frames = copy;
	t->nr_frames = nr;
	t->why = NULL;
	return true;
}

void coati_threads_asleep(int task, struct threads_seen *seen, struct thread_seen *t)
{
	struct glance before, after;
	uint64_t frames[THREADS_DEPTH];
	bool can_ask = !t->why;
	const char *cut;
	uint32_t nr;

	for (int tries = 0; tries < TRIES; tries++) {
		if (!glance_at(task, t->tid, &before))
			return;
		nr = walk_once(&before, frames, &cut);
		/* the signal gets all of it, and disturbs nothing */
		if (cut && before.restarts && can_ask)
			return;
		coati_thread_labels(t->tid, &t->labels);
		if (!glance_at(task, t->tid, &after) || !is_same(&before, &after))
			continue;
		t->cut = cut;
		if (!keep(seen, t, frames, nr))
			t->why = "no memory for its stack";
		return;
	}
	t->labels.size = 0;
	if (can_ask)
		t->why = "it ran whenever its stack was read";
}
