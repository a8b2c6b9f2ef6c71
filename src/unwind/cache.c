/* SPDX-License-Identifier: MIT */
/*
 * Tables on disk, one file each, named by build id. Only a directory of this user that no other
 * user can write to is used; a file counts when it is a regular file of this user, of a sane size,
 * and a valid table: another user's, a link or a damaged one is as good as none. Files appear whole
 * (written aside, then renamed), 0600. All of them together have a ceiling; the oldest go first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/opening.h"
#include "unwind/unwinder.h"

#define TABLE_FILE_MAX (UINT64_C(256) << 20)
#define NAME_SIZE      (2 * COATI_BUILD_ID_MAX + 8)
#define FORGOTTEN_S    3600

static char *join(const char *a, const char *b)
{
	size_t size = strlen(a) + strlen(b) + 2;
	char *s = coati_alloc(size);

	if (s)
		snprintf(s, size, "%s/%s", a, b);
	return s;
}

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* A directory of this user, made when it is missing. */
static bool make_dir(const char *path)
{
	CLEANUP(fd_closep) int fd = -1;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && is_ours(fd);
}

/* The directory that the environment names must belong to this user too, be it through a link: root
 * with a user's environment (sudo -E) would leave directories there that the user cannot use, and
 * the owner could replace them. */
static char *below_our_dir(const char *path)
{
	CLEANUP(fd_closep) int fd = -1;

	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && is_ours(fd) ? join(path, "coati") : NULL;
}

static char *base_dir(void)
{
	const char *home = getenv("XDG_CACHE_HOME");
	CLEANUP(freep) char *dot = NULL;

	if (home && home[0] == '/')
		return below_our_dir(home);
	home = getenv("HOME");
	if (!home || home[0] != '/')
		return NULL;
	dot = join(home, ".cache");
	return dot ? below_our_dir(dot) : NULL;
}

char *coati_unwind_cache_dir(const char *dir)
{
	CLEANUP(freep) char *base = dir ? coati_strdup(dir) : base_dir();
	CLEANUP(freep) char *path = NULL;

	if (!base || !make_dir(base))
		return NULL;
	path = join(base, "unwind");
	if (!path || !make_dir(path))
		return NULL;
	return TAKE_PTR(path);
}

static void name_of(const uint8_t *build_id, uint32_t size, char ret[NAME_SIZE])
{
	for (uint32_t i = 0; i < size; i++)
		snprintf(ret + 2 * i, 3, "%02x", build_id[i]);
	snprintf(ret + 2 * size, 5, ".tbl");
}

static int open_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !is_ours(fd))
		fd_closep(&fd);
	return fd;
}

static int check_table(const void *bytes, size_t size, const uint8_t *build_id, uint32_t id_size)
{
	struct table t;
	int r = coati_table_open(bytes, size, &t);

	if (r < 0)
		return r;
	if (t.head->build_id_size != id_size || memcmp(t.head->build_id, build_id, id_size) != 0)
		return -EBADMSG;
	return 0;
}

/* The process that opens files for this one checks the directory, too. */
static int open_table(const char *dir, const char *name)
{
	struct opening o = {
		.kind = OPEN_TABLE, .links = OPEN_NO_LAST_LINK, .root = dir, .path = name
	};
	CLEANUP(fd_closep) int dirfd = -1;

	if (!coati_opening_hooks()) {
		dirfd = open_dir(dir);
		if (dirfd < 0)
			return -ENOENT;
		o.folder_fd = dirfd;
	}
	return coati_open_file(&o, NULL);
}

int coati_unwind_cache_read(const char *dir, const uint8_t *build_id, uint32_t build_id_size,
			    void **ret_bytes, size_t *ret_size)
{
	CLEANUP(fd_closep) int fd = -1;
	CLEANUP(freep) void *bytes = NULL;
	char name[NAME_SIZE];
	struct stat st;
	int r;

	if (!build_id_size || build_id_size > COATI_BUILD_ID_MAX)
		return -ENOENT;
	name_of(build_id, build_id_size, name);
	fd = open_table(dir, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -ENOENT;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size <= 0 ||
	    (uint64_t)st.st_size > TABLE_FILE_MAX)
		return -EPERM;
	bytes = coati_alloc((size_t)st.st_size);
	if (!bytes)
		return -ENOMEM;
	r = coati_pread_all(fd, bytes, (size_t)st.st_size, 0);
	if (r >= 0)
		r = check_table(bytes, (size_t)st.st_size, build_id, build_id_size);
	if (r < 0)
		return r;
	*ret_size = (size_t)st.st_size;
	*ret_bytes = TAKE_PTR(bytes);
	return 0;
}

/* A file that was put aside and never renamed: its writer died. Writing one does not take an
 * hour. */
static bool is_forgotten(const char *name, const struct stat *st)
{
	return name[0] == '.' && strstr(name, ".tbl.") && st->st_mtime < time(NULL) - FORGOTTEN_S;
}

/* The oldest file of the directory, and the size of all. What was forgotten there is removed. */
static uint64_t find_oldest(int dirfd, char ret_name[NAME_SIZE])
{
	int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	CLEANUP(dir_closep) DIR *d = copy < 0 ? NULL : fdopendir(copy);
	uint64_t total = 0;
	time_t oldest = 0;
	struct dirent *e;
	struct stat st;

	ret_name[0] = 0;
	if (!d)
		return 0;
	rewinddir(d);
	while ((e = readdir(d))) {
		if (fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (is_forgotten(e->d_name, &st))
			unlinkat(dirfd, e->d_name, 0);
		if (strlen(e->d_name) >= NAME_SIZE || e->d_name[0] == '.')
			continue;
		total += (uint64_t)st.st_size;
		if (!ret_name[0] || st.st_mtime < oldest) {
			oldest = st.st_mtime;
			snprintf(ret_name, NAME_SIZE, "%s", e->d_name);
		}
	}
	return total;
}

static void make_room(int dirfd, uint64_t size, uint64_t max)
{
	char name[NAME_SIZE];

	for (int i = 0; i < 1024; i++) {
		if (find_oldest(dirfd, name) + size <= max || !name[0] ||
		    unlinkat(dirfd, name, 0) < 0)
			return;
	}
}

void coati_unwind_cache_write(const char *dir, const void *bytes, size_t size, uint64_t max_bytes)
{
	const struct table_head *h = bytes;
	/* a reader that is confined could leave a wrong table for those that are not */
	CLEANUP(fd_closep) int dirfd = coati_opening_hooks() ? -1 : open_dir(dir);
	CLEANUP(fd_closep) int fd = -1;
	char name[NAME_SIZE], aside[NAME_SIZE + 32];

	if (dirfd < 0 || !h->build_id_size || h->build_id_size > COATI_BUILD_ID_MAX ||
	    size > TABLE_FILE_MAX || size > max_bytes)
		return;
	make_room(dirfd, size, max_bytes);
	name_of(h->build_id, h->build_id_size, name);
	snprintf(aside, sizeof(aside), ".%s.%d", name, (int)gettid());
	unlinkat(dirfd, aside, 0);
	fd = openat(dirfd, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (coati_write_all(fd, bytes, size) < 0 || renameat(dirfd, aside, dirfd, name) < 0)
		unlinkat(dirfd, aside, 0);
}
