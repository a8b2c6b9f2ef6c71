/* SPDX-License-Identifier: MIT */
/* see folder.h */
#include "live/tracer/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"

#define SHM	     "/dev/shm"
#define KEEP_FILES   64u
#define KEEP_BYTES   (UINT64_C(256) << 20)
#define ENTRIES_MAX  65536u /* of a directory that are looked at */
#define LEFT_OVER_NS (UINT64_C(60) * NSEC_PER_SEC)
#define BLOCK	     512u

/* ---- limits ---- */

static int from_environment(const char *name, uint64_t usual, bool is_time, uint64_t *ret,
			    struct coati_error *err)
{
	const char *text = secure_getenv(name);
	int r;

	*ret = usual;
	if (!text || !*text)
		return 0;
	r = is_time ? coati_parse_duration(text, 0, UINT64_MAX - 1, ret)
		    : coati_parse_size(text, 0, UINT64_MAX - 1, ret);
	if (r < 0)
		return coati_fail(err, -EINVAL, "%s=%.40s: it must be %s", name, text,
				  is_time ? "a time such as 12h" : "a number such as 64 or 256M");
	return 0;
}

int coati_tracer_keep(const struct coati_recorder_opts *o, struct tracer_keep *ret,
		      struct coati_error *err)
{
	int r = from_environment("COATI_KEEP_FILES", KEEP_FILES, false, &ret->files, err);

	r = r < 0 ? r : from_environment("COATI_KEEP_BYTES", KEEP_BYTES, false, &ret->bytes, err);
	r = r < 0 ? r : from_environment("COATI_KEEP_AGE", UINT64_MAX, true, &ret->age_ns, err);
	ret->files = o->keep_files ? o->keep_files : ret->files;
	ret->bytes = o->keep_bytes ? o->keep_bytes : ret->bytes;
	ret->age_ns = o->keep_ns ? o->keep_ns : ret->age_ns;
	return r;
}

/* ---- directories ---- */

/* A directory that belongs to this user alone, made when it is not there. */
static int open_own(const char *path, struct coati_error *err)
{
	struct stat st;
	CLEANUP(fd_closep) int fd = -1;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return coati_fail(err, -errno, "cannot create the directory %s: %m", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return coati_fail(err, -errno, "cannot open the directory %s: %m", path);
	if (fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "cannot check the directory %s: %m", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return coati_fail(
			err, -EACCES,
			"the directory %s must belong to user %u and have mode 0700: remove it, or "
			"name another one",
			path, (unsigned int)geteuid());
	return TAKE_FD(fd);
}

static bool try(struct tracer_folder *f, enum coati_recorder_place place, const char *path)
{
	if ((size_t)snprintf(f->path, sizeof(f->path), "%s", path) >= sizeof(f->path))
		return false;
	f->fd = open_own(f->path, NULL);
	f->place = place;
	return f->fd >= 0;
}

/* The directory of the login, which belongs to the user; it may be one of another user, after
 * su. */
static bool try_runtime(struct tracer_folder *f)
{
	const char *base = secure_getenv("XDG_RUNTIME_DIR");
	char path[sizeof(f->path)];
	struct stat st;

	if (!base || base[0] != '/' || lstat(base, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() ||
	    (size_t)snprintf(path, sizeof(path), "%s/coati", base) >= sizeof(path))
		return false;
	return try(f, COATI_PLACE_RUNTIME, path);
}

/* One with an unpredictable name, made by an earlier process of this user, or now. Where other
 * users have made so many names that ours cannot be found, no further one is made: no process would
 * ever remove what is in it. */
static bool try_random(struct tracer_folder *f)
{
	CLEANUP(dir_closep) DIR *d = opendir(SHM);
	char start[32], path[sizeof(f->path)];
	uint32_t seen = 0, number[2];
	const struct dirent *e;
	int n = snprintf(start, sizeof(start), "coati-%u-", (unsigned int)geteuid());

	while (d && n > 0 && (e = readdir(d))) {
		struct stat st;

		if (seen++ == ENTRIES_MAX)
			return false;
		if (strncmp(e->d_name, start, (size_t)n) != 0 ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		if ((size_t)snprintf(path, sizeof(path), SHM "/%s", e->d_name) < sizeof(path) &&
		    try(f, COATI_PLACE_RANDOM, path))
			return true;
	}
	if (!d || getrandom(number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		return false;
	snprintf(path, sizeof(path), SHM "/%s%08x%08x", start, number[0], number[1]);
	return try(f, COATI_PLACE_RANDOM, path);
}

int coati_tracer_folder_open(const char *directory, struct tracer_folder *ret,
			     struct coati_error *err)
{
	char usual[64];

	*ret = (struct tracer_folder){ .fd = -1, .place = COATI_PLACE_MEMORY };
	if (directory && !*directory)
		return 0;
	if (directory) {
		if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s", directory) >=
		    sizeof(ret->path))
			return coati_fail(err, -E2BIG,
					  "the name of the directory is longer than %zu bytes",
					  sizeof(ret->path) - 1);
		ret->place = COATI_PLACE_NAMED;
		ret->fd = open_own(ret->path, err);
		return ret->fd < 0 ? ret->fd : 0;
	}
	snprintf(usual, sizeof(usual), SHM "/coati-%u", (unsigned int)geteuid());
	if (!try(ret, COATI_PLACE_USUAL, usual) && !try_runtime(ret) && !try_random(ret))
		*ret = (struct tracer_folder){ .fd = -1, .place = COATI_PLACE_MEMORY };
	return 0;
}

/* ---- files of the dead ---- */

struct dead {
	uint64_t modified_ns, bytes;
	char name[64];
};

struct dead_files {
	ARRAY(struct dead) all;
	uint64_t bytes;
};

/* Whether its writer has died: no process has it locked. One without bytes may be about to be
 * locked. */
static bool is_dead(int dir, const char *name, struct stat *st, uint64_t now)
{
	CLEANUP(fd_closep)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	uint64_t modified;

	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
	    coati_file_is_locked(fd))
		return false;
	modified = (uint64_t)st->st_ctim.tv_sec * NSEC_PER_SEC;
	return st->st_size || now > modified + LEFT_OVER_NS;
}

static bool is_recorder(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && len < sizeof(((struct dead *)0)->name) &&
	       (!strcmp(name + len - 5, ".live") || !strcmp(name + len - 4, ".new"));
}

static void find_dead(DIR *d, struct dead_files *to)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	const struct dirent *e;
	uint32_t seen = 0;
	struct stat st;

	while (seen++ < ENTRIES_MAX && (e = readdir(d))) {
		struct dead *one;

		if (!is_recorder(e->d_name) || !is_dead(dirfd(d), e->d_name, &st, now))
			continue;
		one = ARRAY_ADD(&to->all);
		if (!one)
			return;
		one->modified_ns =
			(uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
		one->bytes = (uint64_t)st.st_blocks * BLOCK;
		memcpy(one->name, e->d_name, strlen(e->d_name) + 1);
		to->bytes += one->bytes;
	}
}

static int by_age(const void *a, const void *b)
{
	const struct dead *x = a, *y = b;

	return (x->modified_ns > y->modified_ns) - (x->modified_ns < y->modified_ns);
}

/* At most half of the file system, which is small in many containers. */
static uint64_t room_in(int dir, uint64_t bytes)
{
	struct statvfs fs;
	uint64_t half;

	if (fstatvfs(dir, &fs) < 0 || !fs.f_blocks)
		return bytes;
	half = (uint64_t)fs.f_blocks * fs.f_frsize / 2;
	return bytes < half ? bytes : half;
}

static bool is_too_old(const struct dead *f, uint64_t age_ns)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	return now > f->modified_ns && now - f->modified_ns > age_ns;
}

void coati_tracer_folder_clean(const struct tracer_folder *f, const struct tracer_keep *keep,
			       uint64_t bytes, struct tracer_removed *ret)
{
	struct dead_files dead = { 0 };
	uint64_t room = room_in(f->fd, keep->bytes);
	CLEANUP(dir_closep) DIR *d = NULL;
	int fd = f->fd < 0 ? -1 : openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct tracer_removed){ 0 };
	/* who records from outside has locked its directory, and reads what died there */
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || !(d = fdopendir(fd))) {
		if (fd >= 0)
			close(fd);
		return;
	}
	dead.all.max = ENTRIES_MAX;
	find_dead(d, &dead);
	if (dead.all.len)
		qsort(dead.all.v, dead.all.len, sizeof(*dead.all.v), by_age);
	for (size_t i = 0; i < dead.all.len; i++) {
		const struct dead *one = &dead.all.v[i];

		if (dead.all.len - i < keep->files && dead.bytes + bytes <= room &&
		    !is_too_old(one, keep->age_ns))
			break;
		dead.bytes -= one->bytes;
		if (unlinkat(f->fd, one->name, 0) < 0)
			continue;
		ret->files++;
		ret->bytes += one->bytes;
	}
	ARRAY_FINI(&dead.all);
}

/* ---- the file ---- */

static void name_new(const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s.new", name);
}

int coati_tracer_file_make(const struct tracer_folder *f, const char *name, struct coati_error *err)
{
	char new[64];
	int fd, r;

	name_new(name, new, sizeof(new));
	/* those of this process are left from a recorder that could not be stopped in order */
	unlinkat(f->fd, name, 0);
	unlinkat(f->fd, new, 0);
	fd = openat(f->fd, new, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return coati_fail(err, -errno, "cannot make %s/%s: %m", f->path, new);
	r = coati_file_lock(fd);
	if (r == 0)
		return fd;
	close(fd);
	unlinkat(f->fd, new, 0);
	return coati_fail(err, r, "cannot lock %s/%s: %m", f->path, new);
}

int coati_tracer_file_name(const struct tracer_folder *f, const char *name, struct coati_error *err)
{
	char new[64];

	name_new(name, new, sizeof(new));
	if (renameat(f->fd, new, f->fd, name) < 0)
		return coati_fail(err, -errno, "cannot give %s/%s its name: %m", f->path, name);
	return 0;
}

void coati_tracer_file_drop(const struct tracer_folder *f, const char *name)
{
	char new[64];

	name_new(name, new, sizeof(new));
	unlinkat(f->fd, new, 0);
}
