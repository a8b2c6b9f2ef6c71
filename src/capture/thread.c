/* SPDX-License-Identifier: MIT */
/* see thread.h */
#include "capture/thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define PATH_BYTES 512
#define TEXT_BYTES 2048
#define PF_EXITING 0x4
#define FLAGS_WORD 6 /* words behind the state, in stat */

static const char *proc_of(const char *procfs)
{
	return procfs ? procfs : "/proc";
}

/* The beginning of a file of a thread; false: there is none. */
static bool read_text(const char *procfs, int32_t tid, const char *name, char text[TEXT_BYTES])
{
	char path[PATH_BYTES];
	CLEANUP(fd_closep) int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/%s", proc_of(procfs), tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* A directory has a link for each of its own. */
uint64_t coati_thread_count(const char *procfs, int32_t pid)
{
	char path[PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d/task", proc_of(procfs), pid);
	return stat(path, &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

int32_t coati_thread_process_in(char *status)
{
	char *at = strstr(status, "\nTgid:\t");
	uint32_t pid = 0;

	if (!at)
		return 0;
	at += strlen("\nTgid:\t");
	at[strcspn(at, "\n")] = '\0';
	return coati_parse_u32(at, 1, INT32_MAX, &pid) < 0 ? 0 : (int32_t)pid;
}

int32_t coati_thread_process(const char *procfs, int32_t tid)
{
	char text[TEXT_BYTES];

	return read_text(procfs, tid, "status", text) ? coati_thread_process_in(text) : 0;
}

bool coati_thread_is_ending(const char *procfs, int32_t tid)
{
	char text[TEXT_BYTES], *at;
	uint64_t flags;

	/* the name in front of the words may have anything in it */
	at = read_text(procfs, tid, "stat", text) ? strrchr(text, ')') : NULL;
	for (int i = 0; at && i <= FLAGS_WORD; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return true;
	at++;
	at[strcspn(at, " ")] = '\0';
	return coati_parse_u64(at, 0, UINT32_MAX, &flags) < 0 || flags & PF_EXITING;
}

/* "<ns on CPUs> <ns waiting for one> <times>" */
bool coati_thread_slices(const char *procfs, int32_t tid, uint64_t *ret)
{
	char text[TEXT_BYTES], *at;

	if (!read_text(procfs, tid, "schedstat", text))
		return false;
	text[strcspn(text, "\n")] = '\0';
	at = strrchr(text, ' ');
	return at && coati_parse_u64(at + 1, 0, UINT64_MAX, ret) == 0;
}

int coati_thread_each(const char *procfs, int32_t pid, int (*fn)(void *ctx, int32_t tid), void *ctx)
{
	CLEANUP(dir_closep) DIR *dir = NULL;
	char path[PATH_BYTES];
	int r = 0;

	snprintf(path, sizeof(path), "%s/%d/task", proc_of(procfs), pid);
	dir = opendir(path);
	for (struct dirent *e; dir && r == 0 && (e = readdir(dir));) {
		uint32_t tid;

		if (coati_parse_u32(e->d_name, 1, INT32_MAX, &tid) == 0)
			r = fn(ctx, (int32_t)tid);
	}
	return r;
}
