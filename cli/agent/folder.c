/* SPDX-License-Identifier: MIT */
/* see folder.h */
#include "cli/agent/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/agent/segments.h"

#define ZSTD_LEVEL 3
#define SMALLEST   4096 /* bytes of a recording that has samples */

int coati_folder_open(struct folder *f, struct coati_error *err)
{
	struct stat st;

	f->dir = -1;
	if (!f->path)
		return 0;
	if (mkdir(f->path, 0700) < 0 && errno != EEXIST)
		return coati_fail(err, -errno, "cannot create the directory %s: %m", f->path);
	f->dir = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->dir < 0 || fstat(f->dir, &st) < 0)
		return coati_fail(err, -errno, "cannot open the directory %s: %m", f->path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return coati_fail(
			err, -EPERM,
			"the directory %s belongs to another user; choose one of your own",
			f->path);
	/* with a sticky bit as well: their files would count as ours, and take our names */
	if (st.st_mode & S_IWOTH)
		return coati_fail(
			err, -EPERM,
			"every user may write to the directory %s; choose one of your own",
			f->path);
	if (faccessat(f->dir, ".", W_OK, AT_EACCESS) < 0)
		return coati_fail(err, -errno, "cannot write to the directory %s: %m", f->path);
	return 0;
}

void coati_folder_close(struct folder *f)
{
	fd_closep(&f->dir);
}

/* ---- a segment ---- */

static void print_time(uint64_t wall_ns, char *ret, size_t size)
{
	time_t seconds = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;

	ret[0] = '\0';
	if (gmtime_r(&seconds, &tm))
		strftime(ret, size, "%Y%m%dT%H%M%SZ", &tm);
}

/* By the time of day, so that names sort; the number keeps two of one second apart. */
static void make_name(struct folder *f, uint64_t wall_ns)
{
	char text[32];

	print_time(wall_ns, text, sizeof(text));
	snprintf(f->name, sizeof(f->name), FOLDER_PREFIX "%s-%04u" FOLDER_SUFFIX, text,
		 f->number++ % 10000);
}

/* Letters and digits of @what alone: a shell or a terminal could stumble over the rest. */
static void clean_name(const char *what, char *ret, size_t size)
{
	size_t len = 0;

	for (const char *p = what; *p && len + 1 < size; p++)
		if (isalnum((unsigned char)*p) || (len && ret[len - 1] != '-'))
			ret[len++] = isalnum((unsigned char)*p) ? *p : '-';
	ret[len] = '\0';
}

void coati_folder_kept_name(const struct folder *f, uint64_t time_ns, const char *what, char *ret,
			    size_t size)
{
	char when[32], clean[28];

	print_time(clock_ns(CLOCK_REALTIME) - (now_ns() - time_ns), when, sizeof(when));
	clean_name(what, clean, sizeof(clean));
	snprintf(ret, size, "%.3900s/" FOLDER_PREFIX "%s-%s" FOLDER_SUFFIX, f->path, when, clean);
}

static int open_writer(struct folder *f, int fd, struct coati_writer **ret, struct coati_error *err)
{
	struct coati_writer_opts o = { .size = sizeof(o),
				       .zstd_level = f->is_plain ? 0 : ZSTD_LEVEL };
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), r;

	if (own < 0)
		return coati_fail(err, -errno, "a segment: %m");
	r = coati_writer_open_fd(own, &o, ret, err);
	if (r != -EOPNOTSUPP || f->is_plain)
		return r;
	f->is_plain = true;
	return open_writer(f, fd, ret, err);
}

static int open_file(struct folder *f, uint64_t wall_ns)
{
	int fd = -EEXIST;

	for (int i = 0; fd == -EEXIST && i < 10000; i++) {
		make_name(f, wall_ns);
		fd = openat(f->dir, f->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

static void say_full(struct folder *f, int code)
{
	errno = -code;
	f->full++;
	snprintf(f->trouble, sizeof(f->trouble),
		 "cannot write to %s: %m; samples are not stored until it can be written", f->path);
}

static int reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int coati_folder_next(struct folder *f, uint64_t wall_ns, struct coati_writer **ret_writer,
		      int *ret_fd, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = f->dir < 0 || f->is_full ? -1 : open_file(f, wall_ns);

	if (f->dir >= 0 && !f->is_full && fd < 0)
		say_full(f, fd);
	f->is_full = false;
	if (fd < 0) {
		f->name[0] = '\0';
		fd = memfd_create("coati-agent", MFD_CLOEXEC);
	}
	if (fd < 0)
		return coati_fail(err, -errno, "cannot make a recording in memory: %m");
	*ret_fd = reopen(fd);
	if (*ret_fd < 0)
		return coati_fail(err, -errno, "a segment: %m");
	return open_writer(f, fd, ret_writer, err);
}

/* Remove a file that was never started: it has no readable contents. */
static void drop_empty(struct folder *f)
{
	struct stat st;

	if (f->name[0] && fstatat(f->dir, f->name, &st, 0) == 0 && st.st_size < SMALLEST)
		unlinkat(f->dir, f->name, 0);
}

void coati_folder_ended(struct folder *f, int r)
{
	struct stat st = { 0 };

	if (f->dir < 0)
		return;
	if (r == -ENOSPC || r == -EDQUOT || r == -EFBIG || r == -EIO) {
		say_full(f, r);
		f->is_full = true;
		drop_empty(f);
		coati_folder_trim(f, true);
	} else if (f->name[0]) {
		f->trouble[0] = '\0';
		if (fstatat(f->dir, f->name, &st, 0) == 0)
			f->stats.bytes += (uint64_t)st.st_size;
		coati_folder_trim(f, false);
	} else {
		/* it was made in memory: the oldest go, so that the next finds room */
		coati_folder_trim(f, true);
	}
	f->stats.errors = f->full;
}

/* ---- retention ---- */

void coati_folder_trim(struct folder *f, bool room)
{
	struct segments s = { 0 };
	uint64_t bytes = 0, now = clock_ns(CLOCK_REALTIME);
	bool one = room;

	if (f->dir < 0 || coati_segments_list(&s, f->dir) < 0)
		return;
	for (size_t i = 0; i < s.v.len; i++)
		bytes += s.v.v[i].bytes;
	for (size_t i = 0; i + 1 < s.v.len; i++) {
		const struct segment *old = &s.v.v[i];
		bool is_old =
			f->keep_age_ns && now > old->end_ns && now - old->end_ns > f->keep_age_ns;

		if (!one && !is_old && (!f->keep_bytes || bytes <= f->keep_bytes))
			break;
		if (unlinkat(f->dir, old->name, 0) == 0)
			f->removed++;
		bytes -= old->bytes;
		one = false;
	}
	coati_segments_fini(&s);
}
