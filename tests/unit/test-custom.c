/* SPDX-License-Identifier: MIT */
/* Profiles of a program's own things: every value is counted once, by the stack that added it. */
#include "lib/test.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/custom.h>
#include <coati/live.h>

#include "base/alloc.h"
#include "live/page.h"
#include "unit/serve-client.h"

static struct coati_custom *made(const char *name, uint32_t max_values)
{
	struct coati_custom_opts opts = { .size = sizeof(opts), .max_values = max_values };
	struct coati_custom *p = NULL;
	struct coati_error err = { 0 };

	if (coati_custom_new(name, &opts, &p, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return p;
}

static const char *text_of(struct coati_custom *p, uint32_t flags, size_t *ret_size)
{
	static char text[1 << 20];
	int fd = memfd_create("custom", MFD_CLOEXEC);
	struct coati_error err = { 0 };
	ssize_t n;

	CHECK_OK(fd);
	if (coati_custom_write(p, fd, flags, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = 0;
	if (ret_size)
		*ret_size = (size_t)n;
	close(fd);
	return text;
}

/* The sum of the counts of stacks that have a frame of @name. */
static uint64_t count_of(const char *text, const char *name)
{
	const char *at = strchr(text, '\n'), *end;
	uint64_t sum = 0, one;

	for (; at && sscanf(at + 1, "%" SCNu64 " @", &one) == 1; at = end) {
		for (end = strchr(at + 1, '\n'); end && end[1] == '#';)
			end = strchr(end + 1, '\n');
		if (!end)
			break;
		if (memmem(at, (size_t)(end - at), name, strlen(name)))
			sum += one;
	}
	return sum;
}

static void add_all(struct coati_custom *p, const char *things, int nr)
{
	for (int i = 0; i < nr; i++)
		CHECK_OK(coati_custom_add(p, things + i, 0));
	__asm__ volatile("" ::: "memory");
}

/* Called through these, so that the compiler makes no copy of one for what it is called with. The
 * assembly keeps them two. */
typedef void (*open_fn)(struct coati_custom *p, const char *things, int nr);
static __attribute__((noinline)) void open_door_(struct coati_custom *p, const char *t, int nr)
{
	add_all(p, t, nr);
	__asm__ volatile("# door" ::: "memory");
}

static __attribute__((noinline)) void open_window_(struct coati_custom *p, const char *t, int nr)
{
	add_all(p, t, nr);
	__asm__ volatile("# window" ::: "memory");
}

static open_fn volatile open_door = open_door_, open_window = open_window_;

TEST(custom_profile_counts_what_exists_by_the_stack_that_added_it)
{
	struct coati_custom *p = made("house/openings", 0);
	char doors[5], windows[3];
	const char *text;
	size_t size;

	open_window(p, windows, 3);
	open_door(p, doors, 5);
	CHECK_U64(coati_custom_count(p), ==, 8);
	CHECK_OK(coati_custom_remove(p, &doors[4]));
	CHECK_INT(coati_custom_remove(p, &doors[4]), ==, -ENOENT);
	CHECK_INT(coati_custom_remove(p, NULL), ==, -ENOENT);
	CHECK_INT(coati_custom_add(p, &doors[0], 0), ==, -EEXIST);
	CHECK_INT(coati_custom_add(p, NULL, 0), ==, -EINVAL);
	CHECK_U64(coati_custom_count(p), ==, 7);
	text = text_of(p, COATI_CUSTOM_TEXT, NULL);
	CHECK_HAS(text, "house/openings profile: total 7\n4 @ 0x"); /* the largest first */
	CHECK_U64(count_of(text, "open_door_+0x"), ==, 4);
	CHECK_U64(count_of(text, "open_window_+0x"), ==, 3);
	text = text_of(p, COATI_CUSTOM_NAMES, &size);
	CHECK(memmem(text, size, "house/openings", 14));
	CHECK(memmem(text, size, "open_window_", 12));
	for (int i = 0; i < 4; i++)
		CHECK_OK(coati_custom_remove(p, &doors[i]));
	CHECK_U64(count_of(text_of(p, COATI_CUSTOM_TEXT, NULL), "open_door_+0x"), ==, 0);
	CHECK_INT(coati_custom_write(p, -1, 4, NULL), ==, -EINVAL);
}

static __attribute__((noinline)) void add_for_caller(struct coati_custom *p, const void *value)
{
	CHECK_OK(coati_custom_add(p, value, 1));
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void caller_of_helper(struct coati_custom *p, const void *value)
{
	COATI_LABEL("tenant", "acme");
	add_for_caller(p, value);
	__asm__ volatile("" ::: "memory");
}

TEST(custom_profile_skips_frames_and_has_labels)
{
	struct coati_custom *p = made("skipped", 0);
	const char *text;

	caller_of_helper(p, p);
	text = text_of(p, COATI_CUSTOM_TEXT, NULL);
	CHECK_U64(count_of(text, "caller_of_helper+0x"), ==, 1);
	CHECK_U64(count_of(text, "add_for_caller+0x"), ==, 0);
	CHECK_HAS(text, "#\tlabels: {\"tenant\": \"acme\"}\n");
}

/* Values come and go by chance; a plain array knows which of them are there. */
TEST(custom_profile_agrees_with_a_plain_array_over_200000_changes)
{
	enum { NR = 5000 };
	struct coati_custom *p = made("random", 0);
	static bool there[NR];
	static char things[NR];
	uint64_t count = 0, state = 1;

	for (int i = 0; i < 200000; i++) {
		uint32_t at;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		at = (uint32_t)(state >> 33) % NR;
		if (state >> 63) {
			CHECK_INT(coati_custom_add(p, &things[at], 0), ==, there[at] ? -EEXIST : 0);
			count += !there[at];
			there[at] = true;
		} else {
			CHECK_INT(coati_custom_remove(p, &things[at]), ==, there[at] ? 0 : -ENOENT);
			count -= there[at];
			there[at] = false;
		}
	}
	CHECK_U64(coati_custom_count(p), ==, count);
	CHECK_U64(count_of(text_of(p, COATI_CUSTOM_TEXT, NULL), "+0x"), ==, count);
}

TEST(custom_profile_over_its_limit_refuses_and_says_how_many)
{
	struct coati_custom *p = made("few", 2);
	char things[4];

	CHECK_OK(coati_custom_add(p, &things[0], 0));
	CHECK_OK(coati_custom_add(p, &things[1], 0));
	CHECK_INT(coati_custom_add(p, &things[2], 0), ==, -ENOSPC);
	CHECK_INT(coati_custom_add(p, &things[3], 0), ==, -ENOSPC);
	CHECK_HAS(text_of(p, COATI_CUSTOM_TEXT, NULL), "# 2 values were refused: more than 2\n");
	CHECK_OK(coati_custom_remove(p, &things[0]));
	CHECK_OK(coati_custom_add(p, &things[2], 0));
}

TEST(custom_profile_names_are_checked)
{
	static const char *const bad[] = { "", "a b", "<b>", "\"", "a?b", NULL };
	char name[COATI_CUSTOM_NAME_BYTES + 2] = { 0 };
	struct coati_custom_opts opts = { .size = sizeof(opts), .max_values = 16777217 };
	struct coati_custom *p;
	int nr = 0, r;

	for (int i = 0; bad[i]; i++)
		CHECK_INT(coati_custom_new(bad[i], NULL, &p, NULL), ==, -EINVAL);
	CHECK_INT(coati_custom_new(NULL, NULL, &p, NULL), ==, -EINVAL);
	CHECK_INT(coati_custom_new("fine", &opts, &p, NULL), ==, -EINVAL);
	memset(name, 'x', COATI_CUSTOM_NAME_BYTES + 1);
	CHECK_INT(coati_custom_new(name, NULL, &p, NULL), ==, -EINVAL);
	name[COATI_CUSTOM_NAME_BYTES] = 0;
	CHECK_OK(coati_custom_new(name, NULL, &p, NULL));
	CHECK_INT(coati_custom_new(name, NULL, &p, NULL), ==, -EEXIST);
	CHECK_INT(coati_custom_new("heap", NULL, &p, NULL), ==, -EEXIST);
	CHECK_INT(coati_custom_new("goroutine", NULL, &p, NULL), ==, -EEXIST);
	do {
		snprintf(name, sizeof(name), "n%d", nr++);
		r = coati_custom_new(name, NULL, &p, NULL);
	} while (r == 0 && nr < 100);
	CHECK_INT(r, ==, -ENOSPC);
}

TEST(custom_profile_without_memory_fails_and_goes_on)
{
	struct coati_custom *p = NULL;
	char things[200];
	int added = 0;

	for (uint64_t n = 0; !p; n++) {
		coati_alloc_fail_after(n);
		if (coati_custom_new("poor", NULL, &p, NULL) < 0)
			CHECK(!p);
		coati_alloc_fail_after(UINT64_MAX);
	}
	coati_alloc_fail_after(0);
	CHECK_INT(coati_custom_add(p, things, 0), ==, -ENOMEM);
	coati_alloc_fail_after(1);
	for (int i = 0; i < 200; i++)
		added += coati_custom_add(p, things + i, 0) == 0;
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_INT(added, ==, 32); /* half of the first table */
	CHECK_U64(coati_custom_count(p), ==, 32);
}

TEST(custom_profile_goes_on_in_the_child_of_a_fork)
{
	struct coati_custom *p = made("inherited", 0);
	char things[2];
	int status;
	pid_t pid;

	CHECK_OK(coati_custom_add(p, &things[0], 0));
	pid = fork();
	CHECK_OK(pid);
	if (!pid)
		_exit(coati_custom_add(p, &things[1], 0) == 0 &&
				      coati_custom_remove(p, &things[0]) == 0 &&
				      coati_custom_count(p) == 1
			      ? 0
			      : 1);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
	CHECK_U64(coati_custom_count(p), ==, 1);
}

/* Profiles that could not be made leave nothing that a fork would wait for. */
TEST(custom_profiles_that_find_no_page_do_not_disturb_forks)
{
	static struct live_page pages[64];
	static char names[64][8];
	struct coati_custom *p;
	int status;
	pid_t pid;

	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "p%d", i);
		pages[i].name = names[i];
		coati_page_provide(&pages[i]);
	}
	for (int i = 0; i < 3; i++)
		CHECK_INT(coati_custom_new("late", NULL, &p, NULL), ==, -ENOSPC);
	pid = fork();
	CHECK_OK(pid);
	if (!pid)
		_exit(0);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
}

TEST(custom_profile_is_a_page_of_the_server)
{
	struct coati_custom *p = made("house/openings", 0);
	struct coati_server *server = started("0", NULL);
	char doors[5];

	open_door(p, doors, 5);
	CHECK_HAS(asked(server, PAGE("")),
		  "<tr><td>5</td><td><a href=\"/debug/pprof/house/openings?debug=1\">");
	CHECK_HAS(asked(server, PAGE("house/openings?debug=1")),
		  "\nhouse/openings profile: total 5\n5 @ 0x");
	CHECK_HAS(asked(server, PAGE("house/openings")), "filename=\"custom.pb.gz\"");
	CHECK_INT(status_of(asked(server, PAGE("house/openings?seconds=1"))), ==, 400);
	coati_server_stop(server);
}

/* ---- threadcreate ---- */

static void *waits(void *sem)
{
	while (sem_wait(sem) < 0)
		;
	return sem;
}

static void *leaves(void *arg)
{
	pthread_exit(arg);
}

static __attribute__((noinline)) pthread_t start_one(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	CHECK_INT(coati_pthread_create(&t, NULL, fn, arg), ==, 0);
	__asm__ volatile("" ::: "memory");
	return t;
}

TEST(threadcreate_has_the_stacks_that_started_running_threads)
{
	struct coati_server *server = started("0", NULL);
	struct coati_custom *p, *again;
	pthread_t threads[7];
	void *ret;
	sem_t sem;

	CHECK_OK(sem_init(&sem, 0, 0));
	CHECK_HAS(asked(server, PAGE("threadcreate")), "coati_threadcreate_start()");
	pthread_t before = start_one(waits, &sem); /* not seen */
	CHECK_OK(coati_threadcreate_start(&p, NULL));
	CHECK_OK(coati_threadcreate_start(&again, NULL));
	CHECK(p == again);
	for (int i = 0; i < 6; i++)
		threads[i] = start_one(waits, &sem);
	{
		COATI_LABEL("tenant", "acme"); /* goes with the thread by the same call */
		threads[6] = start_one(leaves, &sem);
	}
	pthread_join(threads[6], &ret); /* pthread_exit() ends it as a return does */
	CHECK(ret == &sem);
	CHECK_U64(coati_custom_count(p), ==, 6);
	CHECK_U64(count_of(text_of(p, COATI_CUSTOM_TEXT, NULL), "start_one+0x"), ==, 6);
	CHECK_HAS(asked(server, PAGE("threadcreate?debug=1")), "\nthreadcreate profile: total 6\n");
	for (int i = 0; i < 7; i++)
		sem_post(&sem);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	pthread_join(before, NULL);
	CHECK_U64(coati_custom_count(p), ==, 0);
	coati_server_stop(server);
}
