/* SPDX-License-Identifier: MIT */
/*
 * The sampler's signal handler. In: the registers that a signal interrupted. Out: one record in a profile buffer. The stack is followed by frame pointers
 * upwards only, and a page that is not known to be there is asked for before it is read: whatever rbp holds, nothing is touched that is not mapped.
 */
#include "live/sampler/sampler.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef TRAP_PERF
#define TRAP_PERF 6 /* Linux 5.13 */
#endif
#define PAGE_BYTES   UINT64_C(4096) /* the least that any kernel maps */
#define SAME_STACK   (UINT64_C(64) << 10)
#define PERF_DATA_AT 24 /* of si_perf_data in siginfo_t, 64 bit */

struct sampler_shared coati_sampler_shared;

/* What is known of this thread since the run with that number: its own number, and which event samples it. One that was opened for a thread and inherited by it, too,
 * is heard once. */
static __thread struct {
	uint32_t run, tid, event;
	bool has_event;
} me __attribute__((tls_model("initial-exec")));

/* ---- the stack ---- */

bool coati_sampler_probe(uint64_t addr)
{
	uint64_t word;
	struct iovec to = { &word, sizeof(word) }, from = { (void *)(uintptr_t)addr, sizeof(word) };

	/* fails where a load would fault, guard pages included */
	return syscall(SYS_process_vm_readv, (long)getpid(), &to, 1UL, &from, 1UL, 0UL) ==
	       sizeof(word);
}

static void registers(const ucontext_t *c, uint64_t *pc, uint64_t *sp, uint64_t *fp)
{
#if defined(__x86_64__)
	*pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	*sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
	*fp = (uint64_t)c->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
	*pc = c->uc_mcontext.pc;
	*sp = c->uc_mcontext.sp;
	*fp = c->uc_mcontext.regs[29];
#else
#error "no registers known for this CPU"
#endif
}

/* The page of the interrupted stack pointer is there when this handler runs on the same stack. */
static uint64_t known_end(uint64_t sp)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);

	return sp - here < SAME_STACK ? (sp | (PAGE_BYTES - 1)) + 1 : 0;
}

/* Words of a stack are whatever they are: nothing for a sanitizer to judge. */
__attribute__((no_sanitize("address", "thread"))) uint32_t coati_sampler_walk_on(
	uint64_t sp, uint64_t fp, uint64_t *frames, uint32_t max, bool can_probe, bool *ret_cut)
{
	uint64_t end = known_end(sp);
	uint32_t n = 0;

	*ret_cut = false;
	while (fp >= sp && !(fp & 7) && fp < UINT64_MAX - 16) {
		const uint64_t *frame = (const uint64_t *)(uintptr_t)fp;

		if (n == max) {
			*ret_cut = true;
			break;
		}
		if (fp + 16 > end) {
			/* both words, as they may lie in two pages */
			if (!can_probe || !coati_sampler_probe(fp) ||
			    !coati_sampler_probe(fp + 8)) {
				*ret_cut = true;
				break;
			}
			end = ((fp + 8) | (PAGE_BYTES - 1)) + 1;
		}
		if (frame[1] < PAGE_BYTES)
			break; /* the outermost frame */
		frames[n++] = frame[1];
		sp = fp + 16;
		fp = frame[0];
	}
	return n;
}

uint32_t coati_sampler_walk(const void *context, uint64_t *frames, uint32_t max, bool can_probe,
			    bool *ret_cut)
{
	uint64_t sp, fp;

	registers(context, &frames[0], &sp, &fp);
	return 1 + coati_sampler_walk_on(sp, fp, frames + 1, max - 1, can_probe, ret_cut);
}

/* ---- the sample ---- */

static struct sampler_slot *take_slot(uint32_t tid)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++) {
		struct sampler_slot *s = &coati_sampler_shared.slots[(tid + i) % SAMPLER_SLOTS];

		/* pairs with: release in give_slot(); the writer's side is ours as the last one left it */
		if (!atomic_exchange_explicit(&s->taken, 1, memory_order_acquire))
			return s;
	}
	return NULL;
}

static void give_slot(struct sampler_slot *s)
{
	/* pairs with: acquire in take_slot() */
	atomic_store_explicit(&s->taken, 0, memory_order_release);
}

/* The labels of this thread as words at @to; their number. */
static uint32_t put_labels(struct coati_labels *labels, uint64_t *to)
{
	size_t bytes;

	coati_labels_snapshot(labels);
	if (!labels->size)
		return 0;
	bytes = offsetof(struct coati_labels, bytes) + labels->size;
	to[(bytes - 1) / 8] = 0; /* equal sets are equal to the last byte */
	memcpy(to, labels, bytes);
	return (uint32_t)(bytes + 7) / 8;
}

static void fill_slot(struct sampler_slot *slot, uint32_t tid, const void *context,
		      uint64_t weight_ns)
{
	const struct sampler_shared *g = &coati_sampler_shared;
	uint64_t header[SAMPLER_HEADER];
	struct coati_profbuf_record record = { .header = header,
					       .nr_header = SAMPLER_HEADER,
					       .stack = slot->words };
	struct timespec now;
	uint32_t frames;
	bool cut;

	frames = coati_sampler_walk(context, slot->words, g->max_depth, g->can_probe, &cut);
	record.nr_stack = frames + put_labels(&slot->labels, slot->words + frames);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* says when some were lost, to the tick */
	record.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	header[0] = tid;
	header[1] = (cut ? SAMPLER_CUT : 0) | weight_ns << 1;
	header[2] = frames;
	coati_profbuf_write(&slot->writer, &record);
}

static void sample(const void *context, uint64_t weight_ns)
{
	struct sampler_slot *slot = take_slot(me.tid);

	if (!slot) {
		atomic_fetch_add_explicit(&coati_sampler_shared.no_slot, 1, memory_order_relaxed);
		return;
	}
	/* once more: a slot that is being made ready has no writer yet */
	if (atomic_load_explicit(&coati_sampler_shared.on, memory_order_acquire))
		fill_slot(slot, me.tid, context, weight_ns);
	give_slot(slot);
}

/* ---- whose signal ---- */

/* The child of a fork has the parent's memory of itself until it starts a run of its own, and no signal of ours before. */
static void know_thread(void)
{
	uint32_t run = atomic_load_explicit(&coati_sampler_shared.run, memory_order_relaxed);

	if (me.run == run)
		return;
	me.tid = (uint32_t)syscall(SYS_gettid);
	me.has_event = false;
	me.run = run;
}

/* Nanoseconds that it stands for; 0 when it is not ours. */
static uint64_t weight_of(int sig, const siginfo_t *info)
{
	const struct sampler_shared *g = &coati_sampler_shared;
	uint64_t data;

	if (sig == SIGPROF)
		return info->si_code == SI_TIMER && info->si_value.sival_ptr == g
			       ? g->period_ns *
					 (1 +
					  (uint64_t)(info->si_overrun > 0 ? info->si_overrun : 0))
			       : 0;
	__builtin_memcpy(&data, (const char *)info + PERF_DATA_AT, sizeof(data));
	if (sig != SIGTRAP || info->si_code != TRAP_PERF ||
	    data >> SAMPLER_MARK_SHIFT != SAMPLER_MARK)
		return 0;
	return data & ((UINT64_C(1) << SAMPLER_PERIOD_BITS) - 1);
}

/* Whether this thread listens to that event. */
static bool is_heard(int sig, const siginfo_t *info)
{
	uint64_t data;
	uint32_t event;

	know_thread();
	if (sig != SIGTRAP)
		return true;
	__builtin_memcpy(&data, (const char *)info + PERF_DATA_AT, sizeof(data));
	event = data >> SAMPLER_PERIOD_BITS & ((1u << SAMPLER_NUMBER_BITS) - 1);
	if (!me.has_event) {
		me.has_event = true;
		me.event = event;
	}
	return me.event == event;
}

/* A signal of somebody else's, as if we were not there. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *old = &coati_sampler_shared.old;
	struct sigaction usual = { .sa_handler = SIG_DFL };

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, info, context);
	} else if (old->sa_handler == SIG_DFL) {
		sigaction(sig, &usual, NULL);
		syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), (long)sig);
	} else if (old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
	}
}

void coati_sampler_handler(int sig, siginfo_t *info, void *context)
{
	int keep = errno;
	uint64_t weight_ns = weight_of(sig, info);

	if (!weight_ns)
		pass_on(sig, info, context);
	else if (atomic_load_explicit(&coati_sampler_shared.on, memory_order_acquire) &&
		 is_heard(sig, info))
		sample(context, weight_ns);
	errno = keep;
}
