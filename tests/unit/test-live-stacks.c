/* SPDX-License-Identifier: MIT */
/* Stacks of the heap, lock and thread profiles through code without frame pointers, against what
 * the functions on them wrote down. */
#include <dlfcn.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/heap.h>
#include <coati/locks.h>

#include "lib/sanitizer.h"
#include "lib/test.h"
#include "live/profiles/threads.h"
#include "unit/sampler-frames.h"

#define DEPTH 13

/* A text profile out of memory. */
static const char *text_of(int fd)
{
	static char text[1 << 20];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	CHECK(n > 0);
	text[n] = 0;
	close(fd);
	return text;
}

static const char *heap_text(void)
{
	int fd = memfd_create("heap", MFD_CLOEXEC);

	CHECK_OK(coati_heap_write(fd, COATI_HEAP_TEXT, NULL));
	return text_of(fd);
}

static const char *locks_text(enum coati_locks_profile which)
{
	int fd = memfd_create("locks", MFD_CLOEXEC);

	CHECK_OK(coati_locks_write(which, fd, COATI_LOCKS_TEXT, NULL));
	return text_of(fd);
}

/* The calls that were written down, innermost first, as a profile has them. */
static bool has_calls(const char *text, const struct frames *f)
{
	char words[FRAMES_MAX * 20] = "";
	size_t len = 0;

	CHECK_U64(f->len, >, DEPTH);
	for (uint32_t i = 0; i < f->len; i++)
		len += (size_t)snprintf(words + len, sizeof(words) - len, " 0x%" PRIx64,
					f->callers[f->len - 1 - i]);
	return strstr(text, words);
}

static void start_heap(enum coati_sampler_stacks stacks)
{
	struct coati_heap_opts o = { .size = sizeof(o), .rate_bytes = 1, .stacks = stacks };

	CHECK_OK(coati_heap_start(&o, NULL));
}

static void start_locks(enum coati_sampler_stacks stacks)
{
	struct coati_locks_opts o = {
		.size = sizeof(o), .mutex_fraction = 1, .block_rate_ns = 1, .stacks = stacks
	};

	CHECK_OK(coati_locks_start(&o, NULL));
}

static void *volatile kept;

static void allocate(void *ctx)
{
	kept = coati_heap_malloc(*(size_t *)ctx);
}

/* ---- heap ---- */

TEST(live_stacks_of_the_heap_go_through_code_without_frame_pointers)
{
	size_t size = 1234;
	struct frames f = { .leaf = allocate, .ctx = &size };

	skip_where_the_loader_is_not_asked();
	start_heap(COATI_SAMPLER_STACKS_AUTO);
	coati_frames_down(&f, DEPTH);
	CHECK(has_calls(heap_text(), &f));
}

TEST(live_stacks_by_frame_pointers_alone_are_not_whole)
{
	size_t size = 1234;
	struct frames f = { .leaf = allocate, .ctx = &size };

	start_heap(COATI_SAMPLER_STACKS_POINTERS);
	coati_frames_down(&f, DEPTH);
	CHECK(!has_calls(heap_text(), &f));
}

/* qsort() calls back, out of a library that has no frame pointers. */
static int compare(const void *a, const void *b)
{
	size_t size = 4321;

	if (!kept)
		allocate(&size);
	return *(const int *)a - *(const int *)b;
}

static void sort(void *ctx)
{
	int numbers[] = { 3, 1, 2 };

	(void)ctx;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
}

TEST(live_stacks_of_the_heap_go_through_the_c_library)
{
	struct frames f = { .leaf = sort };

	skip_where_the_loader_is_not_asked();
	start_heap(COATI_SAMPLER_STACKS_TABLES);
	kept = NULL;
	coati_frames_down(&f, DEPTH);
	CHECK(has_calls(heap_text(), &f));
}

TEST(live_stacks_go_through_what_is_loaded_after_the_start)
{
	size_t size = 1234;
	struct frames f = { .leaf = allocate, .ctx = &size };
	void (*down)(struct frames *, uint32_t);
	void *module;

	skip_where_the_loader_is_not_asked();
	start_heap(COATI_SAMPLER_STACKS_AUTO);
	module = dlopen(COATI_SAMPLER_MODULE, RTLD_NOW);
	if (!module)
		test_fail_at(__FILE__, __LINE__, "%s", dlerror());
	*(void **)&down = dlsym(module, "coati_frames_down");
	CHECK(down);
	CHECK_OK(coati_stacks_refresh());
	down(&f, DEPTH);
	CHECK(has_calls(heap_text(), &f));
}

TEST(live_stacks_in_the_child_of_a_fork_are_whole)
{
	size_t size = 1234;
	struct frames f = { .leaf = allocate, .ctx = &size };
	int status;
	pid_t pid;

	skip_where_the_loader_is_not_asked();
	start_heap(COATI_SAMPLER_STACKS_AUTO);
	pid = fork();
	if (!pid) {
		coati_frames_down(&f, DEPTH);
		_exit(has_calls(heap_text(), &f) ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
}

/* ---- who walks while tables come and go ---- */

static _Atomic bool is_ending;

static void allocate_and_free(void *ctx)
{
	coati_heap_free(coati_heap_malloc(*(size_t *)ctx));
}

static void *allocate_always(void *ctx)
{
	size_t size = 64;

	while (!atomic_load(&is_ending)) {
		struct frames f = { .leaf = allocate_and_free, .ctx = &size };

		coati_frames_down(&f, 5);
	}
	return ctx;
}

TEST(live_stacks_are_walked_while_objects_come_and_go_and_the_process_forks)
{
	pthread_t threads[3];

	start_heap(COATI_SAMPLER_STACKS_AUTO);
	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, allocate_always, NULL), ==, 0);
	for (int i = 0; i < 50; i++) {
		void *module = dlopen(COATI_SAMPLER_MODULE, RTLD_NOW);
		int status;
		pid_t pid;

		CHECK(module);
		CHECK_OK(coati_stacks_refresh());
		pid = fork();
		if (!pid) { /* nobody that is counted is here */
			alarm(60);
			_exit(coati_stacks_refresh() < 0);
		}
		CHECK_INT(waitpid(pid, &status, 0), ==, pid);
		CHECK_INT(status, ==, 0);
		dlclose(module);
		CHECK_OK(coati_stacks_refresh());
	}
	atomic_store(&is_ending, true);
	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_join(threads[i], NULL), ==, 0);
	for (uint32_t i = 0; i < SAMPLER_STRIPES; i++)
		CHECK_U64(atomic_load(&coati_sampler_readers[i].nr), ==, 0);
}

/* ---- locks ---- */

static void wait_a_little(void *ctx)
{
	struct coati_wait w;

	coati_wait_begin(&w, NULL);
	poll(NULL, 0, 1);
	coati_wait_end(&w);
	(void)ctx;
}

TEST(live_stacks_of_who_waits_go_through_code_without_frame_pointers)
{
	struct frames f = { .leaf = wait_a_little };

	skip_where_the_loader_is_not_asked();
	start_locks(COATI_SAMPLER_STACKS_AUTO);
	coati_frames_down(&f, DEPTH);
	CHECK(has_calls(locks_text(COATI_LOCKS_BLOCK), &f));
	start_locks(COATI_SAMPLER_STACKS_POINTERS);
	f.len = 0;
	coati_frames_down(&f, DEPTH);
	CHECK(!has_calls(locks_text(COATI_LOCKS_BLOCK), &f));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock_it(void *ctx)
{
	coati_mutex_lock(&mutex);
	coati_mutex_unlock(&mutex);
	return ctx;
}

/* The thread is seen to wait before the lock is given back. */
static void let_wait(void *ctx)
{
	pthread_t thread;

	coati_mutex_lock(&mutex);
	CHECK_INT(pthread_create(&thread, NULL, lock_it, NULL), ==, 0);
	while (!mutex.__data.__lock || mutex.__data.__lock == 1)
		sched_yield();
	coati_mutex_unlock(&mutex);
	CHECK_INT(pthread_join(thread, NULL), ==, 0);
	(void)ctx;
}

TEST(live_stacks_of_who_lets_wait_go_through_code_without_frame_pointers)
{
	struct frames f = { .leaf = let_wait };

#ifdef UNDER_TSAN
	test_skip("TSan's mutex does not show who waits");
#endif
	start_locks(COATI_SAMPLER_STACKS_AUTO);
	coati_frames_down(&f, DEPTH);
	CHECK(has_calls(locks_text(COATI_LOCKS_MUTEX), &f));
}

/* ---- threads ---- */

struct looking {
	enum coati_sampler_stacks stacks;
	const struct frames *f;
	uint32_t tid;
	bool is_whole;
	pthread_t thread;
	sem_t begin;
};

static bool is_in(const struct thread_seen *t, const struct frames *f)
{
	for (uint32_t at = 0; at + f->len <= t->nr_frames; at++) {
		uint32_t i = 0;

		while (i < f->len && t->frames[at + i] == f->callers[f->len - 1 - i])
			i++;
		if (i == f->len)
			return true;
	}
	return false;
}

static void *look_at_threads(void *ctx)
{
	struct looking *l = ctx;
	struct threads_seen seen;

	while (sem_wait(&l->begin))
		;
	CHECK_OK(coati_threads_look(l->stacks, &seen));
	for (const struct thread_seen *t = seen.first; t; t = t->next)
		if (t->tid == l->tid)
			l->is_whole = is_in(t, l->f);
	coati_threads_free(&seen);
	return NULL;
}

static void be_looked_at(void *ctx)
{
	struct looking *l = ctx;

	sem_post(&l->begin);
	CHECK_INT(pthread_join(l->thread, NULL), ==, 0);
}

/* The thread is there before: where clone() returns there is no unwind data. */
static bool is_whole_by(enum coati_sampler_stacks stacks)
{
	struct looking l = { .stacks = stacks, .tid = (uint32_t)gettid() };
	struct frames f = { .leaf = be_looked_at, .ctx = &l };

	l.f = &f;
	CHECK_OK(sem_init(&l.begin, 0, 0));
	CHECK_INT(pthread_create(&l.thread, NULL, look_at_threads, &l), ==, 0);
	coati_frames_down(&f, DEPTH);
	return l.is_whole;
}

TEST(live_stacks_of_threads_go_through_code_without_frame_pointers)
{
#ifdef UNDER_TSAN
	test_skip("TSan delivers signals late, with other registers");
#endif
	if (test_emulated())
		test_skip("the emulator delivers signals with registers of its own");
	coati_sampler_objects_begin(); /* as a server does in a process that was forked */
	CHECK(is_whole_by(COATI_SAMPLER_STACKS_AUTO));
	CHECK(!is_whole_by(COATI_SAMPLER_STACKS_POINTERS));
}
