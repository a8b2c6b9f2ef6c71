/* SPDX-License-Identifier: MIT */
/* Asking all threads for their stacks. */
#include "live/profiles/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"
#include "live/serve-pages.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define ANSWER_NS   NSEC_PER_SEC /* for a batch */
#define ALL_NS	    (5 * NSEC_PER_SEC)
#define TRIES	    10
#define LOOK_US	    100

struct batch {
	struct thread_seen *threads[THREADS_SLOTS]; /* by slot; NULL: none, or it has answered */
	uint32_t waiting;
};

static struct {
	_Atomic int32_t by; /* the process that looks now; a child may have it from its parent */
	int signal;	    /* 0: none yet */
	uint64_t tickets;
} looking;

/* ---- the signal ---- */

static bool is_ours(int sig)
{
	struct sigaction now;

	return sig && sigaction(sig, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
	       now.sa_sigaction == coati_threads_handler;
}

/* The last signal that is not in use. It stays reserved: its default action is to end the
 * program. */
static int take_signal(void)
{
	struct sigaction act = { .sa_sigaction = coati_threads_handler,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction old;

	if (is_ours(looking.signal))
		return 0;
	sigfillset(&act.sa_mask);
	for (int sig = SIGRTMAX; sig >= SIGRTMIN; sig--) {
		if (sigaction(sig, NULL, &old) < 0 || old.sa_flags & SA_SIGINFO ||
		    old.sa_handler != SIG_DFL || sigaction(sig, &act, NULL) < 0)
			continue;
		looking.signal = sig;
		return 0;
	}
	return -ENOSPC;
}

static int make_slots(void)
{
	void *memory;

	if (atomic_load_explicit(&coati_thread_slots, memory_order_relaxed))
		return 0;
	memory = mmap(NULL, THREADS_SLOTS * sizeof(struct thread_slot), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	/* pairs with: acquire in the handler */
	atomic_store_explicit(&coati_thread_slots, memory, memory_order_release);
	return 0;
}

static int send_to(uint32_t tid, uint64_t ticket)
{
	siginfo_t info = { .si_signo = looking.signal, .si_code = SI_QUEUE };

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)(THREADS_COOKIE << 48 | ticket);
	return syscall(SYS_rt_tgsigqueueinfo, (long)getpid(), (long)tid, (long)looking.signal,
		       &info) < 0
		       ? -errno
		       : 0;
}

/* ---- what /proc knows ---- */

/* Whether the thread has @sig blocked, from the lines of its status. */
static bool is_blocked(const char *status, int sig)
{
	const char *line = strstr(status, "\nSigBlk:\t");
	char digits[17] = "";
	uint64_t mask = 0;

	if (!line)
		return false;
	snprintf(digits, sizeof(digits), "%.16s", line + strlen("\nSigBlk:\t"));
	return coati_parse_hex(digits, &mask) == 0 && mask >> (sig - 1) & 1;
}

static const char *why_not(int task, const struct thread_seen *t)
{
	CLEANUP(coati_strbuf_fini) struct strbuf status = STRBUF_INIT(16384);
	char path[32];

	if (t->tid == (uint32_t)syscall(SYS_gettid))
		return "it is writing this page";
	if (t->state == 'Z' || t->state == 'X')
		return "it has ended";
	if (t->state == 'T' || t->state == 't')
		return "it is stopped";
	snprintf(path, sizeof(path), "%u/status", t->tid);
	if (coati_file_read(task, path, &status) < 0)
		return "it has ended";
	return is_blocked(status.text, looking.signal) ? "it blocks the signal that asks" : NULL;
}

/* False when it ended meanwhile. */
static bool read_thread(int task, struct thread_seen *t)
{
	CLEANUP(coati_strbuf_fini) struct strbuf stat = STRBUF_INIT(4096);
	const char *state;
	char path[32];

	snprintf(path, sizeof(path), "%u/stat", t->tid);
	if (coati_file_read(task, path, &stat) < 0 || !(state = strrchr(stat.text, ')')) ||
	    strlen(state) < 3)
		return false;
	t->state = state[2];
	t->cpu_ms = (coati_stat_field(stat.text, 14) + coati_stat_field(stat.text, 15)) * 1000 /
		    (uint64_t)sysconf(_SC_CLK_TCK);
	snprintf(path, sizeof(path), "%u/comm", t->tid);
	if (coati_file_read_line(task, path, t->name, sizeof(t->name)) < 0)
		t->name[0] = '\0';
	snprintf(path, sizeof(path), "%u/wchan", t->tid);
	if (coati_file_read_line(task, path, t->wchan, sizeof(t->wchan)) < 0 ||
	    !strcmp(t->wchan, "0"))
		t->wchan[0] = '\0';
	t->why = why_not(task, t);
	return true;
}

static int read_once(struct threads_seen *seen)
{
	CLEANUP(dir_closep) DIR *tasks = opendir("/proc/self/task");
	struct thread_seen **last = &seen->first, *t;
	struct dirent *entry;

	if (!tasks)
		return -errno;
	while ((entry = readdir(tasks)) && seen->nr < THREADS_MAX) {
		uint32_t tid;

		if (coati_parse_u32(entry->d_name, 1, INT32_MAX, &tid) < 0)
			continue;
		t = coati_arena_alloc(&seen->arena, sizeof(*t));
		if (!t)
			return -ENOMEM;
		t->tid = tid;
		if (!read_thread(dirfd(tasks), t))
			continue;
		if (!strchr("RZX", t->state))
			coati_threads_asleep(dirfd(tasks), seen, t);
		*last = t;
		last = &t->next;
		seen->nr++;
	}
	return 0;
}

static uint64_t count_threads(void)
{
	CLEANUP(coati_strbuf_fini) struct strbuf stat = STRBUF_INIT(4096);

	return coati_file_read(AT_FDCWD, "/proc/self/stat", &stat) < 0
		       ? 0
		       : coati_stat_field(stat.text, 20);
}

/* The kernel's list ends early when a thread exits that it is about to show: then once more. */
static int read_threads(struct threads_seen *seen)
{
	int r = 0;

	for (int tries = 0; tries < TRIES && r == 0; tries++) {
		coati_threads_free(seen);
		coati_arena_init(&seen->arena, ARENA_BYTES);
		r = read_once(seen);
		if (seen->nr >= count_threads())
			break;
	}
	return r;
}

/* ---- asking ---- */

static struct thread_slot *slot_at(uint32_t i)
{
	return &atomic_load_explicit(&coati_thread_slots, memory_order_relaxed)[i];
}

/* The next thread gets slot @i. */
static void ask(struct batch *b, uint32_t i, struct thread_seen *t)
{
	struct thread_slot *slot = slot_at(i);
	uint64_t ticket = ++looking.tickets * THREADS_SLOTS + i;
	int r;

	/* pairs with: acquire in the handler */
	atomic_store_explicit(&slot->state, ticket << 2 | SLOT_ASKED, memory_order_release);
	r = send_to(t->tid, ticket);
	if (r < 0) {
		atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_relaxed);
		t->why = r == -EAGAIN ? "too many signals are on their way" : "it has ended";
		return;
	}
	b->threads[i] = t;
	b->waiting++;
}

static bool is_free(uint32_t i)
{
	/* pairs with: release in the handler */
	switch (atomic_load_explicit(&slot_at(i)->state, memory_order_acquire) & 3) {
	case SLOT_FREE:
	case SLOT_WRITTEN:
		return true;
	default:
		return false; /* a thread is late, and in the middle of it */
	}
}

/* As many as there are slots for; the first that was not asked. */
static struct thread_seen *ask_some(struct batch *b, struct thread_seen *t)
{
	*b = (struct batch){ .waiting = 0 };
	for (uint32_t i = 0; i < THREADS_SLOTS && t; i++) {
		if (!is_free(i))
			continue;
		while (t && (t->why || t->frames))
			t = t->next;
		if (t) {
			ask(b, i, t);
			t = t->next;
		}
	}
	return t;
}

static void take(struct threads_seen *seen, struct thread_seen *t, const struct thread_slot *slot)
{
	size_t bytes = slot->nr_frames * sizeof(slot->frames[0]);
	uint64_t *frames = coati_arena_alloc(&seen->arena, bytes ? bytes : 1);

	if (!frames) {
		t->why = "no memory for its stack";
		return;
	}
	memcpy(frames, slot->frames, bytes);
	t->frames = frames;
	t->nr_frames = slot->nr_frames;
	t->cut = slot->cut ? "the rest could not be unwound" : NULL;
	t->labels = slot->labels;
}

static void look_at_batch(struct threads_seen *seen, struct batch *b)
{
	for (uint32_t i = 0; i < THREADS_SLOTS; i++) {
		struct thread_slot *slot = slot_at(i);

		/* pairs with: release in the handler */
		if (!b->threads[i] ||
		    (atomic_load_explicit(&slot->state, memory_order_acquire) & 3) != SLOT_WRITTEN)
			continue;
		take(seen, b->threads[i], slot);
		b->threads[i] = NULL;
		b->waiting--;
	}
}

/* Those that have not begun to answer will not. */
static void give_up(struct batch *b)
{
	for (uint32_t i = 0; i < THREADS_SLOTS; i++) {
		uint64_t state;

		if (!b->threads[i])
			continue;
		state = atomic_load_explicit(&slot_at(i)->state, memory_order_relaxed);
		if ((state & 3) == SLOT_ASKED)
			atomic_compare_exchange_strong_explicit(&slot_at(i)->state, &state,
								SLOT_FREE, memory_order_relaxed,
								memory_order_relaxed);
		b->threads[i]->why = "it did not answer the signal in time";
	}
}

static void wait_for_batch(struct threads_seen *seen, struct batch *b)
{
	uint64_t until = now_ns() + ANSWER_NS;

	for (look_at_batch(seen, b); b->waiting && now_ns() < until; look_at_batch(seen, b))
		usleep(LOOK_US);
	give_up(b);
}

static void ask_all(struct threads_seen *seen)
{
	uint64_t until = now_ns() + ALL_NS;
	struct thread_seen *t = seen->first, *next;
	struct batch b;

	while (t && now_ns() < until) {
		next = ask_some(&b, t);
		if (next == t)
			break; /* every slot belongs to a thread that is late */
		wait_for_batch(seen, &b);
		t = next;
	}
	for (; t; t = t->next)
		if (!t->why && !t->frames)
			t->why = "too many threads do not answer";
}

static int look(enum coati_sampler_stacks stacks, struct threads_seen *ret)
{
	bool by_tables;
	int r;

	*ret = (struct threads_seen){ .nr = 0 };
	coati_arena_init(&ret->arena, ARENA_BYTES);
	r = coati_sampler_objects_prepare("threads", stacks, 0, &by_tables, NULL);
	atomic_store_explicit(&coati_threads_by_tables, r == 0 && by_tables, memory_order_relaxed);
	if (r == 0)
		r = make_slots();
	if (r == 0)
		r = take_signal();
	if (r == 0)
		r = read_threads(ret);
	if (r == 0)
		ask_all(ret);
	else
		coati_threads_free(ret);
	return r;
}

int coati_threads_look(enum coati_sampler_stacks stacks, struct threads_seen *ret)
{
	int32_t by = atomic_load_explicit(&looking.by, memory_order_relaxed);
	int r;

	/* pairs with: release below */
	if (by == getpid() ||
	    !atomic_compare_exchange_strong_explicit(&looking.by, &by, (int32_t)getpid(),
						     memory_order_acquire, memory_order_relaxed))
		return -EBUSY;
	r = look(stacks, ret);
	atomic_store_explicit(&looking.by, 0, memory_order_release);
	return r;
}

void coati_threads_free(struct threads_seen *t)
{
	coati_arena_fini(&t->arena);
	*t = (struct threads_seen){ .nr = 0 };
}
