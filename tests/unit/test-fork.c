/* SPDX-License-Identifier: MIT */
/* What the other tests rely on: the child of a process with threads may allocate and start
 * threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sanitizer.h"
#include "lib/test.h"

#define BLOCKS 500

static atomic_bool going;

/* More blocks than a thread keeps for itself: the allocator's locks are taken again and again. */
static void allocate_some(void)
{
	void *volatile blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(16 + (size_t)i % 64 * 16);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static void *allocate_on(void *arg)
{
	while (atomic_load(&going))
		allocate_some();
	return arg;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static void start_one(void)
{
	pthread_t thread;

	CHECK_OK(-pthread_create(&thread, NULL, end_at_once, NULL));
	CHECK_OK(-pthread_join(thread, NULL));
}

static void fork_once(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		allocate_some();
		start_one();
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
}

TEST(fork_child_allocates_and_starts_threads_whatever_other_threads_did)
{
	pthread_t threads[2];

#ifdef UNDER_TSAN
	test_skip("TSan lets no child of a process with threads start one");
#endif
	atomic_store(&going, true);
	for (int i = 0; i < 2; i++)
		CHECK_OK(-pthread_create(&threads[i], NULL, allocate_on, NULL));
	for (unsigned int i = 0; i < test_rounds(20); i++)
		fork_once();
	atomic_store(&going, false);
	for (int i = 0; i < 2; i++)
		CHECK_OK(-pthread_join(threads[i], NULL));
}
