/* SPDX-License-Identifier: MIT */
/*
 * A program whose main() ends by pthread_exit() ends with its last thread; but ours do not end.
 * When its main thread leaves, one more thread of the library, with the descriptors of the program,
 * looks from time to time whether any other than ours is left, and does what the last one would
 * have done: exit(0).
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "live/auto/auto.h"

#define LOOK_US 20000

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

/* Threads that ours start have their name. A leader that is gone is still in the list, without
 * memory of its own. */
static bool is_of_program(const char *tid)
{
	char path[64], line[64];

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
	/* gone meanwhile */
	if (coati_file_read_line(AT_FDCWD, path, line, sizeof(line)) < 0)
		return false;
	if (!strcmp(line, AUTO_THREAD))
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%.20s/statm", tid);
	return coati_file_read_line(AT_FDCWD, path, line, sizeof(line)) == 0 &&
	       strcmp(line, "0 0 0 0 0 0 0") != 0;
}

/* Unknown is yes. */
static bool is_anyone_left(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	bool found = false;
	uint32_t tid;

	if (!dir)
		return true;
	while (!found && (entry = readdir(dir)))
		found = coati_parse_u32(entry->d_name, 1, INT32_MAX, &tid) == 0 &&
			is_of_program(entry->d_name);
	closedir(dir);
	return found;
}

static void *wait_for_the_last(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), AUTO_THREAD);
	while (is_anyone_left())
		usleep(LOOK_US);
	exit(0);
}

static void main_leaves(void *arg)
{
	pthread_t thread;

	(void)arg;
	if (atomic_load_explicit(&coati_auto_words.ended, memory_order_relaxed) ||
	    coati_auto_thread_start(&thread, wait_for_the_last) != 0)
		return;
	pthread_detach(thread);
}

static void make_key(void)
{
	has_key = pthread_key_create(&key, main_leaves) == 0;
}

void coati_auto_guard_main(void)
{
	pthread_once(&once, make_key);
	if (has_key && syscall(SYS_gettid) == getpid())
		pthread_setspecific(key, &key);
}
